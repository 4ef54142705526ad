"""Turn lines of raw data into the text of slots: `count value value ... count value ...` for each sample."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]

Sample = Sequence[tuple[str, Sequence[Any]]]


class DataGenerator:
    """Base class: override `generate_sample(line)` (and `generate_batch(samples)`), then run.

    `generate_sample` returns a function that yields samples: lists of (slot name, values).
    """

    def __init__(self) -> None:
        self.batch_size_ = 32
        self._proto_info: list[tuple[str, str]] | None = None

    def set_batch(self, batch_size: int) -> None:
        """Set how many samples `generate_batch` gets at a time."""
        self.batch_size_ = batch_size

    def generate_sample(self, line: str | None) -> Callable[[], Iterable[Any]]:
        raise NotImplementedError(
            "define generate_sample(line): it returns a function that yields [(name, [value, ...]), ...]"
        )

    def generate_batch(self, samples: list[Any]) -> Callable[[], Iterable[Any]]:
        """Return a function that yields the samples of a batch, unchanged unless overridden."""

        def plain() -> Iterator[Any]:
            yield from samples

        return plain

    def run_from_memory(self) -> None:
        """Print the samples of `generate_sample(None)`."""
        self._run([None], sys.stdout)

    def run_from_stdin(self) -> None:
        """Print the samples of `generate_sample` for each line of standard input."""
        self._run(sys.stdin, sys.stdout)

    def _run(self, lines: Iterable[str | None], out: TextIO) -> None:
        batch: list[Any] = []
        for line in lines:
            for sample in self.generate_sample(line)():
                if sample is None:
                    continue
                batch.append(sample)
                if len(batch) == self.batch_size_:
                    self._write(batch, out)
                    batch = []
        if batch:
            self._write(batch, out)

    def _write(self, batch: list[Any], out: TextIO) -> None:
        for sample in self.generate_batch(batch)():
            out.write(self._gen_str(sample))

    def _gen_str(self, line: object) -> str:
        raise NotImplementedError(
            "DataGenerator cannot write samples itself: derive from MultiSlotDataGenerator or "
            "MultiSlotStringDataGenerator"
        )


def _listed(line: object) -> Sample:
    if not isinstance(line, (list, tuple)):
        raise ValueError(
            "a sample must be a list or tuple of slots, for example [('words', [1926, 8, 17]), ('label', [1])]"
        )
    return line


def _checked(line: object) -> Sample:
    sample = _listed(line)
    for name, values in sample:
        if not isinstance(name, str):
            raise ValueError(f"a slot's name must be a str, got {type(name).__name__}")
        if not isinstance(values, (list, tuple)):
            raise ValueError(f"slot {name}: the values must be a list or tuple, got {type(values).__name__}")
        if not values:
            raise ValueError(f"slot {name}: the values must not be empty: pad them")
    return sample


class MultiSlotStringDataGenerator(DataGenerator):
    """Slots of strings, written as they are; a slot that is one str is written character by character."""

    def _gen_str(self, line: object) -> str:
        words = [f"{len(values)} {' '.join(values)}" for _, values in _listed(line)]
        return " ".join(words) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """Slots of numbers; a slot of ints that gets a float is one of floats from then on."""

    def _gen_str(self, line: object) -> str:
        sample = _checked(line)
        if self._proto_info is None:
            self._proto_info = [(name, "uint64") for name, _ in sample]
        if len(sample) != len(self._proto_info):
            raise ValueError(f"this sample has {len(sample)} slots, earlier samples have {len(self._proto_info)}")
        words = []
        for index, (name, values) in enumerate(sample):
            if name != self._proto_info[index][0]:
                raise ValueError(
                    f"slot {index} of this sample is called {name}, in earlier samples {self._proto_info[index][0]}"
                )
            if not all(isinstance(value, (int, float)) for value in values):
                raise ValueError(f"slot {name}: the values must be int or float")
            if any(isinstance(value, float) for value in values):
                self._proto_info[index] = (name, "float")
            words.append(f"{len(values)} {' '.join(map(str, values))}")
        return " ".join(words) + "\n"
