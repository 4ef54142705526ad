"""Fluid's writer API: one record for each item of the reader, nothing lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import recordio_writer
from fluidio.era import use_era
from fluidio.errors import EnforceNotMet
from fluidio.recordio import File, load
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio_writer import RecordIOWriter
from fluidio.tensor import LoDTensor
from fluidio.tensor.lod import from_lengths


class Feeder:
    """Feeds batches of (vector, label, words)."""

    feed_names = ("x", "y", "words")

    def feed(self, batch: list[tuple[list[float], int, list[int]]]) -> dict[str, LoDTensor]:
        words = [sample[2] for sample in batch]
        return {
            "words": LoDTensor.wrap(
                np.array([[w] for ws in words for w in ws], np.int64).reshape(-1, 1),
                from_lengths([[len(ws) for ws in words]]),
            ),
            "x": LoDTensor.wrap(np.array([sample[0] for sample in batch], np.float32)),
            "y": LoDTensor.wrap(np.array([[sample[1]] for sample in batch], np.int64)),
        }


def reader(count: int, size: int = 1) -> Any:
    def read() -> Iterator[list[Any]]:
        for start in range(0, count, size):
            yield [([i, i / 2], i, list(range(i % 3))) for i in range(start, min(start + size, count))]

    return read


def test_one_file_holds_every_batch(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    assert recordio_writer.convert_reader_to_recordio_file(str(path), reader(7), Feeder()) == 7
    x, y, words = load(path)
    assert x.data.tolist() == [[i, i / 2] for i in range(7)]
    assert y.data.tolist() == [[i] for i in range(7)]
    assert words.lod[0].tolist() == [0, 0, 1, 3, 3, 4, 6, 6]
    with ChunkReader(path) as chunks:
        assert [(c.table.count, c.header.compressor) for c in chunks] == [(7, 1)]


def test_records_of_several_rows_and_another_order(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    count = recordio_writer.convert_reader_to_recordio_file(
        path, reader(7, 3), Feeder(), RecordIOWriter.Compressor.NoCompress, 2, ["y", "x"]
    )
    assert count == 3
    y, x = load(path)
    assert y.record_offsets is not None
    assert y.record_offsets.tolist() == [0, 3, 6, 7]
    assert x.data.shape == (7, 2)
    with ChunkReader(path) as chunks:
        assert [(c.table.count, c.header.compressor) for c in chunks] == [(2, 0), (1, 0)]


@pytest.mark.parametrize(("total", "sizes"), [(10, [4, 4, 2]), (8, [4, 4]), (4, [4]), (3, [3]), (0, [])])
def test_several_files_hold_every_batch(tmp_path: Path, total: int, sizes: list[int]) -> None:
    name = str(tmp_path / "mnist.recordio")
    convert = recordio_writer.convert_reader_to_recordio_files
    assert convert(name, 4, reader(total), Feeder()) == total
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"mnist-{i:05d}.recordio" for i in range(len(sizes))]
    assert [File(file).count() for file in files] == sizes
    if total:
        assert load(files)[1].data[:, 0].tolist() == list(range(total))


def test_the_guides_name_of_the_first_argument_works(tmp_path: Path) -> None:
    count = recordio_writer.convert_reader_to_recordio_files(
        filename_suffix=tmp_path / "a.recordio", batch_per_file=2, reader_creator=reader(3), feeder=Feeder()
    )
    assert count == 3
    with pytest.raises(AssertionError, match=r"\.recordio"):
        recordio_writer.convert_reader_to_recordio_files(tmp_path / "a.txt", 2, reader(3), Feeder())


@pytest.mark.parametrize(("total", "sizes"), [(1000, [101] + [100] * 8), (100, []), (101, [101])])
def test_the_strict_era_loses_the_tail_as_the_original_did(tmp_path: Path, total: int, sizes: list[int]) -> None:
    with use_era("1.5", strict=True):
        count = recordio_writer.convert_reader_to_recordio_files(
            str(tmp_path / "a.recordio"), 100, reader(total), Feeder()
        )
    assert count == sum(sizes)
    assert [File(file).count() for file in sorted(tmp_path.iterdir())] == sizes


def test_appended_tensors_are_copied_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    array = np.zeros((1, 2), np.float32)
    with recordio_writer.create_recordio_writer(path) as writer:
        for number in range(3):
            array[:] = number
            writer.append_tensor(LoDTensor.wrap(array))
            writer.append_tensor(array)
            writer.complete_append_tensor()
    a, b = load(path)
    assert a.data.tolist() == b.data.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_a_record_that_was_not_completed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    writer = RecordIOWriter(path)
    writer.append_tensor(np.zeros((1, 1)))
    writer.complete_append_tensor()
    writer.append_tensor(np.zeros((1, 1)))
    with pytest.raises(EnforceNotMet, match="without complete_append_tensor"):
        writer.close()
    writer.close()
    assert File(path).count() == 1
    with pytest.raises(EnforceNotMet, match="empty tensor"):
        RecordIOWriter(path).append_tensor(LoDTensor())


def test_an_exception_in_the_reader_keeps_what_was_written(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield from reader(3)()
        raise KeyError("broken")

    path = tmp_path / "a.recordio"
    with pytest.raises(KeyError, match="broken"):
        recordio_writer.convert_reader_to_recordio_file(path, broken, Feeder())
    assert File(path).count() == 3


@pytest.mark.parametrize("kind", ["RecordIOWriter", "Writer"])
def test_a_writer_that_nobody_closed_is_closed_when_it_goes(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.recordio"
    script = (
        "import numpy as np\n"
        "from fluidio.recordio import Writer\n"
        "from fluidio.recordio_writer import RecordIOWriter\n"
        f"writer = {kind}({str(path)!r}, 1, 10)\n"
        "for number in range(25):\n"
        "    if isinstance(writer, Writer):\n"
        "        writer.write(b'x')\n"
        "    else:\n"
        "        writer.append_tensor(np.zeros((1, 1)))\n"
        "        writer.complete_append_tensor()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert File(path).count() == 25


def test_the_compressors_have_fluids_names() -> None:
    assert [kind.name for kind in RecordIOWriter.Compressor] == ["NoCompress", "Snappy"]
