"""BlockReader: chunks as blocks, from any place to any other, around damage, in threads."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import numpy as np
import pytest

from fluidio.errors import RecordIOError
from fluidio.recordio import BlockReader, Writer, load, tasks
from fluidio.recordio.decode.buffers import Pool
from tests.recordio.samples import block_numbers, numbered

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"


def test_a_reader_can_be_resumed_at_every_place(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 35)
    with BlockReader(path) as reader:
        places = [reader.tell()]
        for _ in reader:
            places.append(reader.tell())
        assert reader.position == places[-1]
    for done, place in zip((0, 10, 20, 30, 35), places, strict=True):
        with BlockReader(path, start=place) as reader:
            assert block_numbers(reader) == list(range(done, 35))
    for record in range(10):
        with BlockReader(path, start=(places[1][0], record)) as reader:
            assert block_numbers(reader) == list(range(10 + record, 35))
            reader.seek(places[2])
            assert block_numbers(reader) == list(range(20, 35))


def test_a_reader_can_stop_at_every_place(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 35)
    for task in tasks(path, 7):
        with BlockReader(path, start=task.first, stop=task.last) as reader:
            assert block_numbers(reader) == list(range(task.start, task.stop))


@pytest.mark.parametrize("size", [1, 3, 7, 10, 12, 100])
@pytest.mark.parametrize("dense", [True, False])
def test_a_reader_gives_as_few_records_as_asked_for(tmp_path: Path, size: int, dense: bool) -> None:
    path = tmp_path / "a"
    if dense:
        with Writer(path, "none", 10) as writer:
            writer.write_block([np.arange(35, dtype=np.float32)[:, None]])
    else:
        numbered(path, 35)
    with BlockReader(path) as reader:
        places, sizes, found = [reader.tell()], [], []
        while (block := reader.read(size)) is not None:
            places.append(reader.tell())
            sizes.append(len(block))
            found += [int(v) for v in block.columns[0].data[:, 0]]
    assert found == list(range(35))
    assert sizes == [min(size, chunk - at) for chunk in (10, 10, 10, 5) for at in range(0, chunk, size)]
    for place, done in zip(places, np.cumsum([0, *sizes]).tolist()):
        with BlockReader(path, start=place) as reader:
            assert block_numbers(reader) == list(range(done, 35))
    for task in tasks(path, 13):
        with BlockReader(task) as reader:
            found = []
            while (block := reader.read(size)) is not None:
                found += [int(v) for v in block.columns[0].data[:, 0]]
            assert found == list(range(task.start, task.stop))


def test_good_records_come_before_the_error_and_behind_it() -> None:
    good = (DATA / "mnist_none.recordio").read_bytes()
    bad = bytearray(good)
    bad[64120 + 500] ^= 1
    reader = BlockReader(io.BytesIO(bytes(bad)))
    blocks = []
    with pytest.raises(RecordIOError, match="chunk 1 at byte 64120"):
        for block in reader:
            blocks.append(block)
    assert [len(block) for block in blocks] == [20]
    with pytest.raises(RecordIOError):
        reader.read()
    reader = BlockReader(io.BytesIO(bytes(bad)), on_error="skip")
    assert [len(block) for block in reader] == [20, 10]
    assert [error.chunk for error in reader.damage] == [1]


def test_the_chunk_number_is_right_after_a_resume() -> None:
    bad = bytearray((DATA / "mnist_none.recordio").read_bytes())
    bad[-1] ^= 1
    for start in (0, 64120, 128240):
        with pytest.raises(RecordIOError, match="chunk 2 at byte 128240"):
            list(BlockReader(io.BytesIO(bytes(bad)), start=(start, 0)))


def test_a_bad_record_in_a_good_chunk_is_skipped_alone(tmp_path: Path) -> None:
    good = [np.full((1, 2), i, np.float32) for i in range(6)]
    with Writer(tmp_path / "a") as writer:
        for number, array in enumerate(good):
            writer.write_tensors([(array, ())])
            if number in (1, 4):
                writer.write(b"not a tensor")
    with BlockReader(tmp_path / "a", on_error="skip") as reader:
        assert block_numbers(reader) == [0, 1, 2, 3, 4, 5]
        assert ["record 2" in str(e) or "record 6" in str(e) for e in reader.damage] == [True, True]
        assert reader.tell() == ((tmp_path / "a").stat().st_size, 0)
    with BlockReader(tmp_path / "a") as reader:
        found = []
        with pytest.raises(RecordIOError, match="record 2"):
            for block in reader:
                found.append(len(block))
        assert found == [2]


def test_other_dialects_are_named_when_they_hold_no_tensors() -> None:
    with pytest.raises(RecordIOError, match=r"Go RecordIO.*creator\.recordio"):
        list(BlockReader(DATA / "v2lines-00000"))


def test_readers_in_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    paths = [numbered(tmp_path / str(i), 200, 1000 * i, compressor="snappy") for i in range(4)]
    found: dict[int, list[int]] = {}

    def read(i: int) -> None:
        with BlockReader(paths[i]) as reader:
            found[i] = block_numbers(reader)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: list(range(1000 * i, 1000 * i + 200)) for i in range(4)}


def test_delivered_blocks_stay_as_they_are(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 100)
    with BlockReader(path) as reader:
        kept = [(block, block.columns[0].data.copy()) for block in reader]
    assert all(np.array_equal(block.columns[0].data, copy) for block, copy in kept)


def test_layouts_may_change_inside_a_file(tmp_path: Path) -> None:
    shapes = [(1, 2), (1, 2), (1, 3), (2, 3), (1, 2)]
    with Writer(tmp_path / "a") as writer:
        for shape in shapes:
            writer.write_tensors([(np.zeros(shape, np.float32), ())])
    with BlockReader(tmp_path / "a") as reader:
        assert [len(block) for block in reader] == [2, 2, 1]
    with pytest.raises(ValueError, match=r"slot 0 is float32 \(rows, 2\)"):
        load(tmp_path / "a")


def test_readers_that_take_turns_can_share_their_memory(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "ab"]
    for first, path in enumerate(paths):
        with Writer(path, max_num_records=4) as writer:
            writer.write_block([np.arange(first, first + 20, 2).reshape(-1, 1)])
    memory = Pool()
    with BlockReader(paths[0], buffers=memory) as even, BlockReader(paths[1], buffers=memory) as odd:
        found = [block.columns[0].data.ravel().tolist() for pair in zip(even, odd) for block in pair]
    assert found == [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15], [16, 18], [17, 19]]
