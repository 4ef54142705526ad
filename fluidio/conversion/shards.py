"""`convert`: pickle the samples of a reader and distribute them over a number of RecordIO shards."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from fluidio import pickles
from fluidio.conversion import storage
from fluidio.conversion.new_set import making
from fluidio.conversion.open_files import room_for_files
from fluidio.recordio import Writer
from fluidio.recordio.files.shard_sets import shard_name

__all__ = ["check_sample", "convert", "shard_name"]

Reader = Callable[[], Iterable[Any]]

_MEMORY = 256 << 20  # for the open chunks of all shards together
_PLAIN = {int, float, str, bytes, bool, type(None), complex, np.ndarray}
_CONTAINERS = (list, tuple, dict, set, frozenset)


def convert(
    output_path: str,
    reader: Reader,
    num_shards: int,
    name_prefix: str,
    max_lines_to_shuffle: int = 0,
    *,
    seed: int = 0,
    compressor: str = "snappy",
) -> list[str]:
    """Write the samples of a reader into RecordIO shards `name_prefix-00000-of-00099`, ...

    Sample number i goes to shard i % num_shards, so shards differ by at most one sample and reading one sample of
    each in turn gives the original order. A sample is a value or a tuple of values: int, float, str, bytes, lists of
    these, NumPy arrays. Other types are pickled too, with one note: reading them needs `allow_pickle=True`. On disk
    each sample is one pickle of protocol 2 in the Go dialect, which readers of 2017 understand.

    Args:
        output_path: a directory, created if absent, or an fsspec URL.
        reader: called once; each item of what it returns is a sample.
        num_shards: how many files.
        name_prefix: the prefix of the file names.
        max_lines_to_shuffle: permute windows of this many samples first; 0 keeps their order. Fluid: the default in
            2017 was 1000, with an unseeded order.
        seed: for the permutation.

    Returns:
        The paths of the shards.

    The set appears when it is completely written, replacing an earlier one.

    Example:
        >>> convert("out", lambda: iter(range(10)), 2, "numbers")                   # doctest: +SKIP
        ['out/numbers-00000-of-00001', 'out/numbers-00001-of-00001']
    """
    if num_shards < 1 or num_shards > 100_000:
        raise ValueError(f"num_shards must lie in 1 ... 100000, got {num_shards}")
    samples: Iterable[Any] = reader()
    if max_lines_to_shuffle > 1:
        samples = _shuffled(samples, max_lines_to_shuffle, random.Random(seed))
    with making(storage.join(output_path, name_prefix), num_shards) as new:
        counts = _write(samples, new.staged, compressor)
        for index in range(num_shards):
            new.placed(index)
        new.finish(counts, None)
    return new.targets


def _shuffled(samples: Iterable[object], window: int, rng: random.Random) -> Iterator[Any]:
    held: list[Any] = []
    for sample in samples:
        held.append(sample)
        if len(held) == window:
            rng.shuffle(held)
            yield from held
            held = []
    rng.shuffle(held)
    yield from held


def _write(samples: Iterable[object], paths: list[str], compressor: str) -> list[int]:
    """Distribute samples and return how many each file got."""
    most = room_for_files(len(paths))
    if most < len(paths):
        raise OSError(
            f"{len(paths)} shards need as many open files, but this process may open only {most}: use fewer shards"
        )
    room = max(64 << 10, min(4 << 20, _MEMORY // len(paths)))
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(Writer(path, compressor, min(10_000, room // 64), dialect="go", max_chunk_bytes=room))
            for path in paths
        ]
        writes = [writer.write for writer in writers]
        noted: set[type] = set()
        count, total = 0, len(writes)
        try:
            for count, sample in enumerate(samples):
                check_sample(sample, noted)
                writes[count % total](pickles.dumps(sample))
        except (TypeError, AttributeError, ValueError) as error:
            error.add_note(f"in or after sample {count} of the reader; no shard was written")
            raise
    return [writer.num_records for writer in writers]


def check_sample(sample: Any, noted: set[type]) -> None:
    """Warn once for each type whose pickle can be read only with consent."""
    kind = type(sample)
    if kind in _PLAIN:
        strange = {kind} if kind is np.ndarray and sample.dtype.hasobject else set()
    elif kind in _CONTAINERS:
        items = (*sample.keys(), *sample.values()) if kind is dict else sample
        strange = set(map(type, items)) - _PLAIN
        if strange or np.ndarray in map(type, items):
            for item in items:
                if type(item) not in _PLAIN or type(item) is np.ndarray:
                    check_sample(item, noted)
        return
    elif isinstance(sample, np.generic) and not sample.dtype.hasobject:
        return
    else:
        strange = {kind}
    for other in strange - noted:
        noted.add(other)
        text = "arrays of objects" if other is np.ndarray else f"values of type {other.__module__}.{other.__qualname__}"
        warnings.warn(f"{text} are pickled as they are, so reading them needs allow_pickle=True", stacklevel=4)
