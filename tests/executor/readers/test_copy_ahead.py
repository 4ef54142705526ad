"""Batches over open_files are copied ahead by its threads, and are none the worse for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.executor.readers import Batch, OpenFiles
from fluidio.layers.io import multi_pass
from fluidio.recordio import Writer
from tests.executor.readers.subjects import SLOTS, Subject, write_file, write_files


def opened(paths: list[str], size: int) -> Iterator[Batch]:
    source = OpenFiles("files", paths, 2, side_by_side=True)
    yield Batch("batch", source, size, False)
    source.shutdown()


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_batches_that_somebody_holds_stay_as_they_are(tmp_path: Path, size: int) -> None:
    paths = write_files(tmp_path, (400, 400), chunk=50)
    for batch in opened(paths, size):
        held = [item[0][0] for item in iter(batch.read_next, None)]
        kept = [array.copy() for array in held]
        batch.reset()
        assert sum(1 for _ in iter(batch.read_next, None)) == len(held) == -(-800 // size)
        assert all((array == copy).all() for array, copy in zip(held, kept))
        assert np.concatenate(kept)[:50, 0].tolist() == [number * number for number in range(50)]


def test_batches_before_damage_come_before_the_error(tmp_path: Path) -> None:
    path = write_file(tmp_path / "damaged.recordio", range(30), chunk=10)
    data = bytearray(Path(path).read_bytes())
    data[-20] ^= 1
    Path(path).write_bytes(data)
    subject = Subject(lambda: layers.batch(layers.open_files([path], **SLOTS), 3))
    for _ in range(2):
        assert [subject.step() for _ in range(6)] == [[n, n + 1, n + 2] for n in range(0, 18, 3)]
        with pytest.raises(fluid.core.EnforceNotMet, match="damaged.recordio"):
            subject.step()
        subject.reader.reset()


def test_records_that_do_not_fit_together_are_told_in_their_place(tmp_path: Path) -> None:
    path = tmp_path / "two.recordio"
    with Writer(path, max_num_records=100) as writer:
        for number in range(30):
            row = np.zeros((1, 4 if number < 13 else 5), "float32")
            writer.write_tensors([(row, ()), (np.array([[number]], "int64"), ())])
    for batch in opened([str(path)], 3):
        assert [batch.read_next() is not None for _ in range(4)] == [True] * 4
        with pytest.raises(fluid.core.EnforceNotMet, match=r"batch reader batch: records cannot be stacked"):
            batch.read_next()


@pytest.mark.parametrize("size", [4, 7])
def test_passes_follow_one_another_with_batches_across_the_seams(tmp_path: Path, size: int) -> None:
    paths = write_files(tmp_path, (12, 7, 18))
    subject = Subject(
        lambda: layers.double_buffer(
            layers.batch(multi_pass(layers.open_files(paths, is_test=True, **SLOTS), 3), size, drop_last=False)
        )
    )
    assert subject.epoch() == [*range(37)] * 3
