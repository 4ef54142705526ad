"""The text of slots: `count value value ...` for each slot of a sample, one sample a line, through a shell command."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import ReaderError
from fluidio.program import Variable
from fluidio.tensor import LoDTensor

__all__ = ["Sample", "batch_feed", "drop_zeros", "parse_line", "samples_of"]

Sample = list[Any]


def samples_of(path: str, command: str, variables: Sequence[Variable], heads: int = 0) -> Iterator[Sample]:
    """Yield the samples of a file after its text has gone through a shell command.

    Args:
        heads: how many words, each behind its count of 1, precede the slots: an id, a content, a log key. A sample then
            ends with the list of them.
    """
    with open(path, "rb") as source:
        if command.strip() in ("", "cat"):
            yield from _parse(source, path, variables, heads)
            return
        with subprocess.Popen(command, shell=True, stdin=source, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            done = False
            try:
                yield from _parse(process.stdout, path, variables, heads)
                done = True
            finally:
                if not done:
                    process.kill()  # the consumer has stopped: do not wait for the rest
        if process.returncode:
            raise ReaderError(f"{path}: the pipe command {command!r} ended with status {process.returncode}")


def _parse(lines: Any, path: str, variables: Sequence[Variable], heads: int) -> Iterator[Sample]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield parse_line(line, variables, heads)
            except ValueError as error:
                raise ReaderError(f"{path}: line {number}: {error}; the line is {line[:60]!r}") from None


def parse_line(line: bytes, variables: Sequence[Variable], heads: int = 0) -> Sample:
    """Return one array for each variable, and behind them the words before the slots, if there are any."""
    words = line.split()
    position = 2 * heads
    if len(words) < position or any(words[at] != b"1" for at in range(0, position, 2)):
        raise ValueError(f"it does not begin with {heads} columns of `1 WORD`: an id, a content or a log key")
    sample: Sample = []
    for variable in variables:
        if position >= len(words):
            raise ValueError(f"it ends before slot {variable.name}")
        count = int(words[position])
        values = words[position + 1 : position + 1 + count]
        if count < 1 or len(values) != count:
            raise ValueError(f"slot {variable.name} announces {count} values, but {len(words) - position - 1} are left")
        sample.append(_numbers(values, variable))
        position += 1 + count
    if position != len(words):
        raise ValueError(f"{len(words) - position} words are left after the last slot")
    if heads:
        sample.append(words[1 : 2 * heads : 2])
    return sample


def _numbers(values: list[bytes], variable: Variable) -> Any:
    if variable.dtype in (VarType.FP32, VarType.FP64):
        return np.array([float(v) for v in values], to_numpy(variable.dtype))
    numbers = [int(v) for v in values]
    if any(not -(1 << 63) <= n < 1 << 64 for n in numbers):
        raise ValueError(f"slot {variable.name} holds a number of more than 64 bits")
    # Ids are unsigned 64-bit numbers in the text and signed ones in a tensor.
    return np.array([n - (1 << 64) if n >= 1 << 63 else n for n in numbers], np.int64)


def drop_zeros(samples: Sequence[Sample], variables: Sequence[Variable]) -> int:
    """Drop zeros from slots with a LoD level, keeping one if there is nothing else; return how many were dropped.

    Fluid: MultiSlotInMemoryDataFeed treats 0, and numbers within 1e-6 of it, as missing features.
    """
    dropped = 0
    for column, variable in enumerate(variables):
        if not variable.lod_level:
            continue
        for sample in samples:
            values = sample[column]
            present = np.abs(values.astype(np.float64)) >= 1e-6 if values.dtype.kind == "f" else values != 0
            if not present.all():
                kept = values[present]
                sample[column] = kept if kept.size else np.zeros(1, values.dtype)
                dropped += values.size - sample[column].size
    return dropped


def batch_feed(samples: Sequence[Sample], variables: Sequence[Variable]) -> dict[str, Any]:
    """Return the feed of a batch: sequences for variables with a LoD level, rows of equal length otherwise."""
    feed: dict[str, Any] = {}
    for column, variable in enumerate(variables):
        parts = [sample[column] for sample in samples]
        if variable.lod_level:
            tensor = LoDTensor()
            tensor.set(np.concatenate(parts)[:, None])
            tensor.set_recursive_sequence_lengths([[part.size for part in parts]])
            feed[variable.name] = tensor
        else:
            sizes = {part.size for part in parts}
            if len(sizes) > 1:
                raise ReaderError(
                    f"slot {variable.name} has no LoD level, so its rows must be of equal length; found {sorted(sizes)}"
                )
            inner = variable.shape[1:]
            rows = np.stack(parts)
            feed[variable.name] = rows if -1 in inner else rows.reshape(len(parts), *inner)
    return feed
