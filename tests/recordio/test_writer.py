"""What is written comes back, in every dialect and compressor, and a killed writer loses the open chunk only."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio.errors import RecordIOError
from fluidio.recordio import BlockReader, Column, File, RecordBlock, Writer
from fluidio.recordio.decode.columnar import _stack
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.tensor_codec import encode_record
from tests.recordio.strategies import Tensor, alike, mixed, same

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"
FORMS = [(dialect, compressor) for dialect in ("fluid", "go", "elasticdl") for compressor in ("none", "snappy", "gzip")]


def read(path: Any) -> list[bytes]:
    with ChunkReader(path, verify_inner=True) as reader:
        return [record for chunk in reader for record in chunk.records()]


def written(records: list[bytes], **options: Any) -> bytes:
    out = io.BytesIO()
    with Writer(out, **options) as writer:
        for record in records:
            writer.write(record)
    return out.getvalue()


@pytest.mark.parametrize(("dialect", "compressor"), FORMS)
@given(records=st.lists(st.binary(max_size=300), max_size=30), limit=st.sampled_from([0, 1, 3, 1000, None]))
def test_byte_records_come_back(dialect: str, compressor: str, records: list[bytes], limit: int | None) -> None:
    data = written(records, dialect=dialect, compressor=compressor, max_num_records=limit)
    assert read(io.BytesIO(data)) == records
    with ChunkReader(io.BytesIO(data)) as reader:
        chunks = [(chunk.dialect.name, chunk.table.count) for chunk in reader]
    assert {name for name, _ in chunks} <= {dialect}
    if limit is not None:
        assert all(count <= max(1, limit) for _, count in chunks)


@pytest.mark.parametrize(("dialect", "compressor"), FORMS)
@given(records=mixed())
def test_tensor_records_come_back(dialect: str, compressor: str, records: list[list[Tensor]]) -> None:
    data = written(
        [encode_record(record) for record in records], dialect=dialect, compressor=compressor, max_num_records=7
    )
    with BlockReader(io.BytesIO(data), verify_inner=True) as reader:
        found = [block.slice(i, i + 1).tensors() for block in reader for i in range(len(block))]
    assert all(same(a, b) for a, b in zip(found, records, strict=True))


@given(records=alike(), limit=st.sampled_from([1, 3, 5, 1000]), size=st.sampled_from([1, 100, 1000, None]))
def test_a_block_is_cut_into_the_chunks_of_its_records(
    records: list[list[Tensor]], limit: int, size: int | None
) -> None:
    bodies = [encode_record(record) for record in records]
    plain = written([b"first", *bodies, b"last"], max_num_records=limit, max_chunk_bytes=size)
    out = io.BytesIO()
    with Writer(out, max_num_records=limit, max_chunk_bytes=size) as writer:
        writer.write(b"first")
        writer.write_block(_stack(records))
        writer.write(b"last")
        assert writer.num_records == len(records) + 2
    assert out.getvalue() == plain


def big_records() -> list[bytes]:
    return [
        b"0123456789abcdef" * 6400,
        random.Random(2).randbytes(102400),
        b"",
        b"\xff",
        random.Random(3).randbytes(40000) + bytes(60000),
    ]


@pytest.mark.parametrize("name", ["raw_none_big", "raw_snappy_big", "raw_snappy_multichunk", "raw_none_basic"])
def test_the_bytes_are_those_of_the_original_writer(name: str) -> None:
    manifest = json.loads((DATA / "manifest.json").read_text())[f"{name}.recordio"]
    golden = (DATA / f"{name}.recordio").read_bytes()
    records = read(io.BytesIO(golden))
    data = written(records, compressor=manifest["compressor"], max_num_records=manifest["max_num_records"])
    assert data == golden


@pytest.mark.parametrize(
    ("name", "compressor", "limit"),
    [
        ("go_paddle_none_basic", "none", 300),
        ("go_wky_none_basic", "none", 6000),
        ("go_paddle_snappy_basic", "snappy", 300),
        ("elasticdl_no_compression_basic", "none", 300),
        ("elasticdl_snappy_basic", "snappy", 300),
    ],
)
def test_other_dialects_are_written_as_their_own_programs_do(name: str, compressor: str, limit: int) -> None:
    golden = (DATA / f"{name}.recordio").read_bytes()
    options: dict[str, Any] = {"compressor": compressor, "max_num_records": None, "max_chunk_bytes": limit}
    assert written(read(io.BytesIO(golden)), dialect=name.split("_")[0], **options) == golden


def test_blocks_of_golden_tensors_encode_to_the_golden_file() -> None:
    for name, limit in (("mnist_snappy", 300), ("seq_lod1_snappy", 64), ("dtypes_all", 1000)):
        out = io.BytesIO()
        with BlockReader(DATA / f"{name}.recordio") as reader, Writer(out, max_num_records=limit) as writer:
            writer.write_block(RecordBlock.concat(list(reader)))
        assert out.getvalue() == (DATA / f"{name}.recordio").read_bytes()


def test_go_and_elasticdl_cut_chunks_before_they_exceed_the_limit() -> None:
    records = [b"a" * 400, b"b" * 400, b"c" * 400, b"d" * 5000, b"e"]
    for dialect in ("go", "elasticdl"):
        data = written(records, dialect=dialect, max_num_records=None, max_chunk_bytes=1024)
        with ChunkReader(io.BytesIO(data)) as reader:
            assert [chunk.table.count for chunk in reader] == [2, 1, 1, 1]


def test_compression_on_threads_gives_the_same_file() -> None:
    arrays: list[Any] = [np.arange(64000, dtype=np.float32).reshape(2000, 32), np.arange(2000).reshape(2000, 1)]
    outs = []
    for threads in (0, 2):
        out = io.BytesIO()
        with Writer(out, max_num_records=100, threads=threads) as writer:
            writer.write_block(arrays)
            writer.write(b"x")
        outs.append(out.getvalue())
    assert outs[0] == outs[1]


def test_samples_of_a_reader_become_records(tmp_path: Path) -> None:
    samples = [(np.full(3, i, np.float32), i, list(range(i % 4))) for i in range(25)]
    with Writer(tmp_path / "a.recordio", max_num_records=10) as writer:
        assert writer.write_samples(samples, dtypes=["float32", "int64", "int64"], lod_levels=[0, 0, 1]) == 25
    with BlockReader(tmp_path / "a.recordio") as reader:
        dense, label, words = RecordBlock.concat(list(reader)).columns
    assert dense.data.tolist() == [[i, i, i] for i in range(25)]
    assert label.data.tolist() == [[i] for i in range(25)]
    assert np.diff(words.lod[0]).tolist() == [i % 4 for i in range(25)]
    with Writer(io.BytesIO()) as writer, pytest.raises(ValueError, match="different shapes"):
        writer.write_samples([(np.zeros(2),), (np.zeros(3),)])


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ((np.zeros(2, np.float32),), "this sample has 1 values, earlier samples have 2"),
        ((np.zeros(3, np.float32), 1), "different shapes"),
        ((np.zeros(2, np.complex64), 1), "slot 0: complex64 values after float32"),
        (([1.0, 2.0], 2), ""),
    ],
)
def test_samples_before_a_bad_one_are_kept(second: Any, problem: str) -> None:
    out = io.BytesIO()
    samples = [(np.ones(2, np.float32), 1), second]
    with Writer(out) as writer:
        if problem:
            with pytest.raises(ValueError, match=problem):
                writer.write_samples(samples)
        else:
            writer.write_samples(samples)
    with BlockReader(io.BytesIO(out.getvalue())) as reader:
        assert [len(block) for block in reader] == [1 if problem else 2]


def test_a_slot_keeps_its_dtype() -> None:
    with Writer(io.BytesIO(), max_num_records=2) as writer:
        with pytest.raises(ValueError, match="slot 0: float64 values after int64"):
            writer.write_samples([(1,), (2,), (3,), (4.5,)])
        writer.write_samples([(1,), (2,), (3,), (4.5,)], dtypes=["float32"])


def test_a_reader_may_use_one_array_for_all_samples() -> None:
    def samples() -> Iterator[tuple[Any, list[int]]]:
        array, words = np.zeros(2, np.float32), [0]
        for number in range(5):
            array[:] = words[0] = number
            yield array, words

    out = io.BytesIO()
    with Writer(out) as writer:
        writer.write_samples(samples())
    with BlockReader(io.BytesIO(out.getvalue())) as reader:
        (block,) = reader
    assert block.columns[0].data.tolist() == [[i, i] for i in range(5)]
    assert block.columns[1].data.tolist() == [[i] for i in range(5)]


def test_append_goes_on_in_the_dialect_of_the_file(tmp_path: Path) -> None:
    for dialect in ("fluid", "go", "elasticdl"):
        path = tmp_path / dialect
        with Writer(path, dialect=dialect) as writer:
            writer.write("one")
        with Writer(path, mode="a", compressor="none") as writer:
            writer.write("two")
        assert read(path) == [b"one", b"two"]
        with ChunkReader(path) as reader:
            assert {chunk.dialect.name for chunk in reader} == {dialect}
        other = "go" if dialect == "fluid" else "fluid"
        with pytest.raises(ValueError, match=f"dialect {dialect}"):
            Writer(path, mode="a", dialect=other)


def test_append_makes_a_new_file(tmp_path: Path) -> None:
    with Writer(tmp_path / "new", mode="a") as writer:
        writer.write(b"x")
    assert read(tmp_path / "new") == [b"x"]


@pytest.mark.parametrize("compressor", ["none", "snappy"])
def test_append_repairs_a_tail_cut_anywhere(tmp_path: Path, compressor: str) -> None:
    path = tmp_path / "cut.recordio"
    records = [b"%d" % i * 10 for i in range(6)]
    whole = written(records, compressor=compressor, max_num_records=3)
    half = len(written(records[:3], compressor=compressor, max_num_records=3))
    for length in range(half, len(whole)):
        path.write_bytes(whole[:length])
        if length == half:
            writer = Writer(path, mode="a")
        else:
            with pytest.warns(UserWarning, match="in order to append"):
                writer = Writer(path, mode="a")
        with writer:
            writer.write(b"new")
        assert read(path) == [*records[:3], b"new"]


def test_append_refuses_a_file_damaged_before_its_tail(tmp_path: Path) -> None:
    path = tmp_path / "bad.recordio"
    for name in ("bad_magic_second", "bad_size_zero"):
        path.write_bytes((DATA / f"{name}.recordio").read_bytes())
        before = path.read_bytes()
        with pytest.raises(RecordIOError):
            Writer(path, mode="a")
        assert path.read_bytes() == before


KILLED = """
import os, sys
from fluidio.recordio import Writer
writer = Writer(sys.argv[1], "none", 10, mode="a")
number = 0
while True:
    writer.write(b"%08d" % number * 100)
    number += 1
    if number == 1000:
        print("ready", flush=True)
"""


def test_kill_loses_at_most_the_open_chunk(tmp_path: Path) -> None:
    path = tmp_path / "killed.recordio"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with File(path, on_error="skip") as file:
        found = list(file)
    assert len(found) >= 1000
    assert found == [b"%08d" % i * 100 for i in range(len(found))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a cut tail is possible, not certain
        with Writer(path, mode="a") as writer:
            writer.write(b"after")
    assert read(path) == [*found, b"after"]


def test_a_write_that_fails_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "full.recordio"
    writer = Writer(path, "none", 1)
    writer.write(b"good")

    def full(fd: int, views: list[memoryview]) -> int:
        os.write(fd, bytes(views[0])[:7])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", full)
        with pytest.raises(OSError, match="No space"):
            writer.write(b"bad")
    writer.write(b"again")
    writer.close()
    assert read(path) == [b"good", b"again"]


def test_atomic_leaves_nothing_or_everything(tmp_path: Path) -> None:
    path = tmp_path / "atomic.recordio"
    with pytest.raises(KeyError), Writer(path, atomic=True) as writer:
        writer.write(b"x")
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    with Writer(path, atomic=True) as writer:
        writer.write(b"x")
        writer.flush()
        assert not path.exists()
    assert list(tmp_path.iterdir()) == [path]
    assert read(path) == [b"x"]


def test_an_exception_keeps_what_was_written(tmp_path: Path) -> None:
    with pytest.raises(KeyError), Writer(tmp_path / "a") as writer:
        writer.write(b"x")
        raise KeyError
    assert read(tmp_path / "a") == [b"x"]


def test_flush_makes_records_visible(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Writer(path) as writer:
        writer.write(b"1")
        assert path.stat().st_size == 0
        writer.flush(sync=True)
        assert read(path) == [b"1"]
        writer.write(bytearray(b"2"))
        writer.write(memoryview(b"3"))
    assert read(path) == [b"1", b"2", b"3"]


def test_nothing_written_is_an_empty_file(tmp_path: Path) -> None:
    Writer(tmp_path / "a").close()
    assert (tmp_path / "a").read_bytes() == b""
    assert read(tmp_path / "a") == []


def test_only_a_file_with_something_in_it_is_truncated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    truncated: list[int] = []
    truncate = os.ftruncate

    def watched(fd: int, size: int) -> None:
        truncated.append(size)
        truncate(fd, size)

    monkeypatch.setattr(os, "ftruncate", watched)
    for expected in ([], [0]):  # ext4 passes a file that was truncated to the disk when it is closed
        with Writer(path, "none") as writer:
            writer.write(b"abc")
        assert truncated == expected
    with File(path) as file:
        assert file.get(0) == b"abc" and len(file) == 1


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a", max_num_records=1)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"x")
    with pytest.raises(ValueError, match="closed"):
        writer.write_block([np.zeros((2, 2))])
    with pytest.raises(ValueError, match="closed"):
        writer.flush()


def test_wrong_arguments_create_no_file(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{"compressor": "lzma"}, {"compressor": 7}, {"dialect": "java"}, {"mode": "x"}]
    for options in wrong:
        with pytest.raises(ValueError):
            Writer(tmp_path / "a", **options)
    with pytest.raises(TypeError):
        Writer(42)
    assert list(tmp_path.iterdir()) == []


def test_columns_of_several_rows_are_written_as_one_record_each() -> None:
    out = io.BytesIO()
    block = RecordBlock([Column(np.arange(12).reshape(6, 2), num_records=3)])
    with Writer(out) as writer:
        writer.write_block(block)
    with BlockReader(io.BytesIO(out.getvalue())) as reader:
        (found,) = reader
    assert found.columns[0].rows_per_record == 2
    assert found.columns[0].data.tobytes() == block.columns[0].data.tobytes()
