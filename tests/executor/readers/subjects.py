"""Small programs over every kind of reader, driven alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.recordio import Writer

SLOTS: dict[str, Any] = {"shapes": [(-1, 4), (-1, 1)], "lod_levels": [0, 0], "dtypes": ["float32", "int64"]}


def write_file(path: Path, numbers: Sequence[int], chunk: int = 5) -> str:
    """Write one record for each number: its square in a float row, the number itself."""
    with Writer(path, max_num_records=chunk) as writer:
        for number in numbers:
            row = np.full((1, 4), number * number, "float32")
            writer.write_tensors([(row, ()), (np.array([[number]], "int64"), ())])
    return str(path)


def write_files(folder: Path, sizes: Sequence[int] = (12, 7, 18), chunk: int = 5) -> list[str]:
    """Write files of consecutive numbers."""
    paths, first = [], 0
    for index, size in enumerate(sizes):
        paths.append(write_file(folder / f"part-{index}.recordio", range(first, first + size), chunk))
        first += size
    return paths


def held(name: str) -> Any:
    """Return the global scope's variable of that name."""
    return fluid.global_scope().find_var(name)


class Subject:
    """A program that reads; `step()` returns the numbers of one item, None at the end of the epoch."""

    def __init__(self, build: Callable[[], Any], read: bool = True) -> None:
        self.main, self.startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(self.main, self.startup), fluid.unique_name.guard():
            self.reader = build()
            if read:
                self.row, self.number = fluid.layers.read_file(self.reader)
            else:
                self.number = self.main.global_block().var("number")
        self.exe = fluid.Executor(fluid.CPUPlace())
        if self.startup.global_block().ops:
            self.exe.run(self.startup)

    def step(self) -> list[int] | None:
        try:
            (numbers,) = self.exe.run(self.main, fetch_list=[self.number])
        except fluid.core.EOFException:
            return None
        return [int(number) for number in numbers.ravel()]

    def epoch(self) -> list[int]:
        """Read to the end."""
        return [number for item in iter(self.step, None) for number in item]


def batches(numbers: Sequence[int]) -> Callable[[], Iterator[Any]]:
    """Return a generator function that yields one batch for each number."""

    def generate() -> Iterator[Any]:
        for number in numbers:
            yield np.full((1, 4), number, "float32"), np.array([[number]], "int64")

    return generate


def py_reader(name: str | None = None, capacity: int = 3, use_double_buffer: bool = True) -> Any:
    return fluid.layers.py_reader(
        capacity, SLOTS["shapes"], SLOTS["dtypes"], SLOTS["lod_levels"], name, use_double_buffer
    )


def loader(capacity: int = 3, use_double_buffer: bool = True) -> Any:
    row = fluid.data("row", [None, 4])
    number = fluid.data("number", [None, 1], "int64")
    return fluid.io.DataLoader.from_generator([row, number], capacity, use_double_buffer, iterable=False)


def feed(subject: Subject, generate: Any) -> Any:
    """Give a reader its batches, by the name its API has for it."""
    setter = getattr(subject.reader, "decorate_batch_generator", None) or subject.reader.set_batch_generator
    setter(generate)
    return subject.reader
