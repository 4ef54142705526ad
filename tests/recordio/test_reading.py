"""Blocks, batches, ranges and samples: what programs and plain scripts read."""

from __future__ import annotations

import io
import itertools
import pickle
import threading
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio import recordio
from fluidio.errors import RecordIOError, UnsafePickleError
from fluidio.recordio import BlockReader, Column, File, RecordBlock, Task, Writer, iter_batches, load, partition, tasks
from fluidio.recordio.batches import rebatch
from fluidio.recordio.chunks import ChunkReader

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"


def numbered(path: Any, count: int, start: int = 0, chunk: int = 10, compressor: str = "none") -> Any:
    """Write records (float32 (1, 2), int64 sequence) whose values tell their number."""
    numbers = np.arange(start, start + count)
    lengths = numbers % 4
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = Column(np.repeat(numbers, lengths)[:, None], offsets, (offsets,))
    with Writer(path, compressor, chunk) as writer:
        writer.write_block([Column(np.stack([numbers, -numbers], 1).astype(np.float32)), words])
    return path


def numbers_of(batches: Any) -> list[int]:
    return [int(value) for batch in batches for value in batch[0][:, 0]]


def block_numbers(reader: BlockReader) -> list[int]:
    return [int(value) for block in reader for value in block.columns[0].data[:, 0]]


# -- BlockReader -------------------------------------------------------------------------------------------------------


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


# -- load and iter_batches ---------------------------------------------------------------------------------------------


def test_load_gives_columns(tmp_path: Path) -> None:
    for i in range(3):
        numbered(tmp_path / f"a-{i}", 25, 25 * i)
    for threads in (0, 2):
        dense, words = load(str(tmp_path / "a-*"), threads=threads)
        assert dense.data[:, 0].tolist() == list(range(75))
        assert np.diff(words.lod[0]).tolist() == [i % 4 for i in range(75)]
    assert load([]) == ()
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "b-*"))


def test_ranges_need_a_path() -> None:
    with pytest.raises(TypeError, match="needs a path"):
        list(iter_batches(io.BytesIO(), 4, threads=2))


def test_load_takes_dense_records_of_any_height_and_damage(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Writer(path, "none", 4) as writer:
        writer.write_block([np.arange(20, dtype=np.float32).reshape(10, 2)])
        writer.write_tensors([(np.full((3, 2), 99, np.float32), ())])
        writer.write_block([np.arange(20, 30, dtype=np.float32).reshape(5, 2)])
    (column,) = load(path)
    assert column.num_records == 16
    assert column.data[:, 0].tolist() == [*range(0, 20, 2), 99, 99, 99, *range(20, 30, 2)]
    assert column.offsets().tolist() == [*range(11), *range(13, 19)]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(RecordIOError, match="checksum"):
        load(path)
    (column,) = load(path, on_error="skip")
    assert column.num_records == 12


@given(st.integers(1, 60), st.booleans())
def test_batches_are_the_records_in_order(size: int, drop_last: bool) -> None:
    data = io.BytesIO()
    numbered(data, 47)
    data.seek(0)
    batches = list(iter_batches(data, size, drop_last=drop_last))
    total = 47 // size * size if drop_last else 47
    assert numbers_of(batches) == list(range(total))
    assert all(len(batch[0]) == size for batch in batches[:-1])
    for _, (ids, lod) in batches:
        assert lod[0][0] == 0
        assert lod[0][-1] == len(ids)


def test_the_order_depends_on_seed_and_epoch_only(tmp_path: Path) -> None:
    paths = [numbered(tmp_path / str(i), 40, 40 * i) for i in range(3)]

    def order(**options: Any) -> list[int]:
        return numbers_of(iter_batches(paths, 7, **options))

    plain = list(range(120))
    assert order() == order(threads=2) == plain
    for shuffle in (True, 16):
        mixed = order(shuffle=shuffle, seed=3)
        assert sorted(mixed) == plain
        assert mixed != plain
        assert mixed == order(shuffle=shuffle, seed=3) == order(shuffle=shuffle, seed=3, threads=2)
        assert mixed != order(shuffle=shuffle, seed=4)
        assert mixed != order(shuffle=shuffle, seed=3, epoch=1)
    assert sorted(order(shuffle=16)[:16]) == list(range(16))


def test_the_words_travel_with_their_record(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 60)
    for dense, (ids, lod) in iter_batches(path, 9, shuffle=True):
        for i, number in enumerate(dense[:, 0].astype(int)):
            assert ids[lod[0][i] : lod[0][i + 1], 0].tolist() == [number] * (number % 4)


def test_parts_are_a_partition(tmp_path: Path) -> None:
    paths = [numbered(tmp_path / str(i), 13, 13 * i, chunk=4) for i in range(4)]
    for n in (1, 2, 3, 7, 60):
        parts = [numbers_of(iter_batches(paths, 5, part=(i, n))) for i in range(n)]
        assert [number for part in parts for number in part] == list(range(52))
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1
    with pytest.raises(ValueError, match="part 3 of 3"):
        partition(paths, 3, 3)


def test_batch_size_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="batch_size"):
        next(iter_batches(tmp_path / "a", 0))


def test_an_abandoned_iterator_leaves_no_thread(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 500)
    batches = iter_batches(path, 3, threads=2)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if "recordio" in thread.name]


def test_errors_come_through_threads_in_their_place(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 50)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found = []
    with pytest.raises(RecordIOError, match="checksum"):
        for batch in iter_batches(path, 5, threads=2):
            found.append(batch)
    assert numbers_of(found) == list(range(20))
    assert numbers_of(iter_batches(path, 5, threads=2, on_error="skip")) == [*range(20), *range(30, 50)]


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_rebatch_keeps_every_record(sizes: list[int], size: int) -> None:
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(int).tolist()
    blocks = [RecordBlock([Column(np.arange(a, b)[:, None])]) for a, b in itertools.pairwise(edges)]
    batches = list(rebatch(blocks, size))
    assert [int(v) for batch in batches for v in batch.columns[0].data[:, 0]] == list(range(edges[-1]))
    assert all(len(batch) == size for batch in batches[:-1])


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_tasks_are_values_that_stand_for_a_path(tmp_path: Path) -> None:
    paths = [numbered(tmp_path / str(i), 23, 23 * i, chunk=5) for i in range(2)]
    made = tasks(paths, 9)
    assert [len(task) for task in made] == [9, 9, 5, 9, 9, 5]
    again: list[Task] = pickle.loads(pickle.dumps(made))
    assert again == made
    assert numbers_of(iter_batches(again, 4)) == list(range(46))
    assert load(again[1])[0].data[:, 0].tolist() == list(range(9, 18))
    with BlockReader(again[4]) as reader:
        assert block_numbers(reader) == list(range(32, 41))
    with File(again[1]) as file, File(paths[0]) as whole:
        assert file.count() == 9
        assert list(file) == list(whole)[9:18]
        assert file.get(0) == whole.get(9)
        assert file.get(-1) == whole.get(17)
        assert list(file.get_reader(7, 99)) == list(whole)[16:18]
        with pytest.raises(IndexError):
            file.get(9)
    assert [len(task) for task in tasks(again[:1], 4)] == [4, 4, 1]
    with pytest.raises(ValueError, match="records_per_task"):
        tasks(paths, 0)


def test_a_task_of_a_damaged_file_does_not_read_beyond_its_end(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 40)
    made = tasks(path, 15)
    data = bytearray(path.read_bytes())
    data[made[0].last[0] + 50 if made[0].last else 0] ^= 1  # chunk 1
    path.write_bytes(data)
    found = [numbers_of(iter_batches(task, 100, on_error="skip")) for task in made]
    assert found == [list(range(10)), list(range(20, 30)), list(range(30, 40))]


# -- pickled samples ---------------------------------------------------------------------------------------------------


def check_samples(samples: list[Any], expected: list[int]) -> None:
    assert [int(number) for _, number in samples] == expected
    for array, i in samples:
        assert array.dtype == np.float32
        assert array.tolist() == [(i * 3 + j) % 17 for j in range(6)]


def test_python_2_pickles_of_the_original_converter() -> None:
    check_samples(list(recordio.sample_reader(f"{DATA}/v2lines-*")()), list(range(10)))
    shards = recordio.sample_reader(f"{DATA}/v2conv-00000-of-00002,{DATA}/v2conv-00001-of-00002")
    check_samples(list(shards()), [0, 3, 6, 9, 1, 4, 7])
    check_samples(list(shards()), [0, 3, 6, 9, 1, 4, 7])
    check_samples(list(recordio.sample_reader(tasks(f"{DATA}/v2lines-*", 3))()), list(range(10)))


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("code runs",)


def test_pickles_that_ask_for_more_than_data_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Writer(tmp_path / "a", dialect="go") as writer:
        writer.write(pickle.dumps((1, Evil())))
    with pytest.raises(UnsafePickleError, match="print"):
        list(recordio.sample_reader(tmp_path / "a")())
    assert capsys.readouterr().out == ""
    assert list(recordio.sample_reader(tmp_path / "a", allow_pickle=True)()) == [(1, None)]
    assert capsys.readouterr().out == "code runs\n"


def test_records_that_are_no_pickles_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecordIOError, match="record 0 is not a pickled sample"):
        list(recordio.sample_reader(DATA / "mnist_none.recordio")())
    with Writer(tmp_path / "a") as writer:
        writer.write(pickle.dumps(1))
        writer.write(b"junk")
        writer.write(pickle.dumps(2))
    assert list(recordio.sample_reader(tmp_path / "a", on_error="skip")()) == [1, 2]


# -- concatenation and mixtures ----------------------------------------------------------------------------------------


def test_files_of_different_dialects_may_be_concatenated() -> None:
    names = [
        "raw_none_basic",
        "go_paddle_snappy_basic",
        "elasticdl_gzip_basic",
        "raw_snappy_basic",
        "go_wky_none_basic",
    ]
    data = b"".join((DATA / f"{name}.recordio").read_bytes() for name in names)
    with ChunkReader(io.BytesIO(data)) as reader:
        records = [record for chunk in reader for record in chunk.records()]
    assert len(records) == 35
    assert records[:7] == records[7:14] == records[14:21] == records[21:28] == records[28:]
    with File(io.BytesIO(data)) as file:
        assert file.count() == 35
        assert [file.get(i) for i in range(35)] == records
