"""Columns, batches, ranges and samples: what plain scripts read."""

from __future__ import annotations

import io
import itertools
import pickle
import subprocess
import sys
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
from fluidio.recordio.blocks.cut import cut_batches, passed_over, rebatch
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.columnar import Decoder
from fluidio.recordio.decode.spans import Part, gather, part_of
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.records import split
from fluidio.recordio.write.encode import encode_block
from tests.recordio.samples import block_numbers, numbered

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"


def numbers_of(batches: Any) -> list[int]:
    return [int(value) for batch in batches for value in batch[0][:, 0]]


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
        list(iter_batches(io.BytesIO(), 4, shuffle=True))


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


def test_reading_in_order_imports_nothing_more(tmp_path: Path) -> None:
    """A random generator that nobody asked for took a quarter of the time of reading MNIST."""
    path = str(numbered(tmp_path / "a.recordio", 25))
    code = (
        "import sys; from fluidio import recordio; before = set(sys.modules); "
        f"list(recordio.iter_batches({path!r}, 4)); print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


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
    with pytest.raises(ValueError, match="no part 3"):
        partition(paths, 3, 3)


def test_batch_size_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="batch_size"):
        next(iter_batches(tmp_path / "a", 0))


def test_an_abandoned_iterator_leaves_no_thread(tmp_path: Path) -> None:
    path = numbered(tmp_path / "a", 500)
    batches = iter_batches(path, 3, threads=2)
    next(batches)
    batches.close()
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


@pytest.mark.parametrize("threads", [0, 2])
def test_good_records_before_damage_come_as_a_short_batch(tmp_path: Path, threads: int) -> None:
    path = numbered(tmp_path / "a", 50)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    batches = iter_batches(path, 16, threads=threads)
    assert numbers_of([next(batches), next(batches)]) == list(range(20))
    with pytest.raises(RecordIOError, match="checksum"):
        next(batches)


def test_a_batch_goes_over_many_chunks_in_one_copy(tmp_path: Path) -> None:
    rows = np.arange(90, dtype=np.int64).reshape(30, 3)
    lengths = np.arange(30) % 7 * 1000
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = np.arange(offsets[-1], dtype=np.int32).reshape(-1, 1)
    with Writer(tmp_path / "a", "none", 4) as writer:
        writer.write_block([Column(rows), Column(words, offsets, (offsets,))])
    start = 0
    for dense, (ids, lod) in iter_batches(tmp_path / "a", 11):
        stop = start + len(dense)
        assert dense.tolist() == rows[start:stop].tolist()
        assert lod[0].tolist() == (offsets[start : stop + 1] - offsets[start]).tolist()
        assert np.array_equal(ids, words[offsets[start] : offsets[stop]])
        start = stop
    assert start == 30


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_rebatch_keeps_every_record(sizes: list[int], size: int) -> None:
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(int).tolist()
    blocks = [RecordBlock([Column(np.arange(a, b)[:, None])]) for a, b in itertools.pairwise(edges)]
    batches = [gather(group, Pool()) for group in rebatch(map(part_of, blocks), size)]
    assert [int(v) for batch in batches for v in batch.columns[0].data[:, 0]] == list(range(edges[-1]))
    assert all(len(batch) == size for batch in batches[:-1])


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(1, 12), st.integers(0, 50), st.booleans(), st.booleans())
def test_batches_that_are_copied_together_are_the_same(
    sizes: list[int], size: int, skip: int, drop_last: bool, are_copied: bool
) -> None:
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(int).tolist()
    parts = []
    for a, b in itertools.pairwise(edges):
        block = RecordBlock([Column(np.arange(a, b, dtype=np.float32).reshape(-1, 1).repeat(3000, 1))])
        payload = memoryview(encode_block(block))
        whole = Decoder().whole(payload, split(payload, len(block))) if len(block) and not are_copied else None
        parts.append(part_of(block) if whole is None else Part(whole, 0, len(block)))
    batches = list(cut_batches(passed_over(parts, skip), size, Pool(), drop_last=drop_last))
    assert all(len(data) == size for [(data, _)] in batches[:-1])
    left = max(0, edges[-1] - skip)
    wanted = range(skip, skip + (left // size * size if drop_last else left))
    assert [value for [(data, _)] in batches for value in data[:, -1]] == list(wanted)
    for [(data, _)] in batches:
        data[:] = -1  # a batch may be written to
    assert all((data == -1).all() for [(data, _)] in batches)


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


@pytest.mark.parametrize("dialects", [["fluid"], ["go"], ["elasticdl"], ["fluid", "elasticdl"], ["elasticdl", "go"]])
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_tasks_that_end_inside_a_chunk_cover_all_records(dialects: list[str], threads: int, tmp_path: Path) -> None:
    """The header alone does not always tell the dialect, so a chunk that was read ahead may have to be read again."""
    path = tmp_path / "a"
    count = 0
    with open(path, "wb") as file:
        for dialect in dialects:
            with Writer(file, "snappy", 7, dialect=dialect) as writer:
                for _ in range(30):
                    writer.write_tensors([(np.full((1, 1), count), ())])
                    count += 1
    for per in (1, 4, 7, 11, 29):
        assert numbers_of(iter_batches(tasks(path, per), 3, threads=threads)) == list(range(count))
        shuffled = iter_batches(tasks(path, per), 3, threads=threads, shuffle=True)
        assert sorted(numbers_of(shuffled)) == list(range(count))


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_counts_the_chunks_of_other_dialects_before_a_task(threads: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    with open(path, "wb") as file:
        for dialect in ("elasticdl", "fluid"):
            with Writer(file, "none", 5, dialect=dialect) as writer:
                for number in range(15):
                    writer.write_tensors([(np.full((1, 1), number), ())])
    made = tasks(path, 25)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1  # in chunk 5
    path.write_bytes(data)
    with pytest.raises(RecordIOError, match="chunk 5 at byte"):
        list(iter_batches(made[1], 3, threads=threads))


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
