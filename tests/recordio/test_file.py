"""File: the API of elasticdl's pyrecordio, over every dialect, with an index that is checked."""

from __future__ import annotations

import io
import json
import os
import random
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fluidio import recordio
from fluidio.errors import CutTailError, ForeignFileError, RecordIOError
from fluidio.recordio import File, Index, Scanner, Writer
from fluidio.recordio.files import file as file_module
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.sidecar import open_index, sidecar_path

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"
MANIFEST: dict[str, dict[str, Any]] = json.loads((DATA / "manifest.json").read_text())
RECORDS = [b"%04d:" % i * (i + 1) for i in range(25)]  # raw_none_multichunk.recordio


def test_the_example_of_the_original(tmp_path: Path) -> None:
    path = tmp_path / "demo.recordio"
    with recordio.File(str(path), "w") as out:
        out.write("abc")
        out.write(b"def")
    with recordio.File(str(path), "r") as file:
        assert [file.get(i) for i in range(file.count())] == [b"abc", b"def"]
        assert list(file.get_reader(2, 10)) == []
        assert list(file.get_reader(1, 10)) == [b"def"]
        assert list(file) == list(file) == [b"abc", b"def"]
    with recordio.File(path, "a") as out:
        out.write("ghi")
    with recordio.File(path, encoding="utf-8") as file:
        assert list(file) == ["abc", "def", "ghi"]
        assert file.get(-1) == "ghi"


@pytest.mark.parametrize("name", [name for name, entry in MANIFEST.items() if "records" in entry])
def test_every_dialect_can_be_read_at_random(name: str) -> None:
    expected = [(record["len"], record["crc32"]) for record in MANIFEST[name]["records"]]
    with File(DATA / name) as file:
        assert file.count() == len(file) == len(expected)
        order = list(range(len(expected)))
        random.Random(0).shuffle(order)
        for number in order + order:
            record = file[number]
            assert (len(record), zlib.crc32(record)) == expected[number]
        with pytest.raises(IndexError):
            file.get(len(expected))


@given(st.integers(-3, 30), st.integers(-1, 40))
def test_a_range_gives_what_exists(start: int, end: int) -> None:
    with File(DATA / "raw_none_multichunk.recordio") as file:
        expected = RECORDS[max(0, start) :] if end == -1 else RECORDS[max(0, start) : max(0, end)]
        assert list(file.get_reader(start, end)) == expected


def test_counting_reads_headers_only() -> None:
    data = bytearray((DATA / "raw_none_multichunk.recordio").read_bytes())
    data[335 + 25] ^= 1  # inside the second chunk's payload
    with File(io.BytesIO(bytes(data))) as file:
        assert file.count() == 25
        assert file.get(0) == RECORDS[0]
        assert file.get(24) == RECORDS[24]
        with pytest.raises(RecordIOError, match="chunk 1 at byte 335: checksum"):
            file.get(10)
        found: list[bytes] = []
        with pytest.raises(RecordIOError):
            for record in file:
                found.append(record)
        assert found == RECORDS[:10]
    with File(io.BytesIO(bytes(data)), on_error="skip") as file:
        assert list(file) == RECORDS[:10] + RECORDS[20:]
        assert list(file.get_reader(5, 22)) == RECORDS[5:10] + RECORDS[20:22]


def test_a_cut_file_serves_its_good_part_and_then_says_so() -> None:
    with File(DATA / "bad_trunc_payload_none.recordio") as file:
        assert file.get(19) == RECORDS[19]
        with pytest.raises(CutTailError):
            file.count()
        found = []
        with pytest.raises(CutTailError):
            for record in file:
                found.append(record)
        assert found == RECORDS[:20]
        assert list(file.get_reader(3, 6)) == RECORDS[3:6]
    with File(DATA / "bad_trunc_payload_none.recordio", on_error="skip") as file:
        assert file.count() == 20
        assert list(file) == RECORDS[:20]


def test_broken_headers_are_hopped_over_on_request() -> None:
    with File(DATA / "bad_magic_second.recordio", on_error="skip") as file:
        assert file.count() == 15
        assert list(file) == RECORDS[:10] + RECORDS[20:]
        assert file.get(10) == RECORDS[20]


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"\x0a\x23\xd7\xce" + bytes(20), "MXNet"),
        (b"\x1f\x8b\x08\x00" + bytes(20), "gzip"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs"),
        (b"PK\x03\x04" + bytes(20), "zip"),
        (b"\x93NUMPY\x01\x00" + bytes(20), "npy"),
        (bytes(64), "zero bytes"),
        (b"hello world, this is text", "not with the magic"),
    ],
)
def test_foreign_files_are_named(head: bytes, what: str) -> None:
    for on_error in ("raise", "skip"):
        if what == "not with the magic" and on_error == "skip":
            continue  # may be a file that lost its first bytes: what is good is searched for
        with pytest.raises(RecordIOError, match=what) as caught, File(io.BytesIO(head), on_error=on_error) as file:
            file.count()
        assert isinstance(caught.value, ForeignFileError) == (what != "not with the magic")


def test_a_tfrecord_is_told_by_its_checksum() -> None:
    from fluidio.recordio.format.checksum import masked_crc32c

    length = (5).to_bytes(8, "little")
    data = length + masked_crc32c(length).to_bytes(4, "little") + b"hello" + bytes(4)
    with pytest.raises(ForeignFileError, match="TFRecord"), File(io.BytesIO(data)) as file:
        list(file)


def test_missing_files_and_directories_are_plain_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        File(tmp_path / "missing")
    with pytest.raises(IsADirectoryError, match="is a folder: name its files"):
        File(tmp_path)
    with pytest.raises(ValueError, match="mode"):
        File(tmp_path / "a", "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a path"):
        File(42)


def test_reading_and_writing_do_not_mix(tmp_path: Path) -> None:
    with File(tmp_path / "a", "w") as file:
        file.write(b"x")
        file.flush()
        with pytest.raises(ValueError, match="open for writing"):
            file.get(0)
        with pytest.raises(ValueError, match="open for writing"):
            file.count()
    with File(tmp_path / "a") as file, pytest.raises(ValueError, match="open for reading"):
        file.write(b"x")


def test_the_cache_of_decoded_chunks_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    records = [bytes([i]) * 100 for i in range(40)]
    with Writer(path, "snappy", 4) as writer:
        for record in records:
            writer.write(record)
    monkeypatch.setattr(file_module, "_CACHED_BYTES", 1000)
    monkeypatch.setattr(file_module, "_CACHED_EDGES", 3)
    with File(path) as file:
        order = [i * 7 % 40 for i in range(200)]
        assert [file.get(i) for i in order] == [records[i] for i in order]
        assert file._decoded_bytes <= 1000
        assert len(file._decoded) <= 2


def test_several_threads_may_read_one_file(tmp_path: Path) -> None:
    for compressor in ("none", "snappy"):
        path = tmp_path / compressor
        with Writer(path, compressor, 3) as writer:
            for number in range(300):
                writer.write(b"%d" % number)
        with File(path) as file, ThreadPoolExecutor(4) as pool:
            order = [i * 7 % 300 for i in range(1200)]
            assert list(pool.map(file.get, order)) == [b"%d" % i for i in order]


def test_a_file_that_changed_under_us_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Writer(path, "none", 2) as writer:
        for record in RECORDS[:6]:
            writer.write(record)
    with File(path) as file:
        file.get(0)
        os.truncate(path, 30)
        with pytest.raises(RecordIOError):
            file.get(5)
        with pytest.raises(RecordIOError, match="shortened"):
            file.get(1)


# -- the sidecar -------------------------------------------------------------------------------------------------------


def many_chunks(path: Path, count: int = 50) -> None:
    with Writer(path, "none", 1) as writer:
        for number in range(count):
            writer.write(b"%d" % number)


def test_a_sidecar_is_written_on_request_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.recordio"
    many_chunks(path)
    with File(path) as file:
        assert file.count() == 50
    assert list(tmp_path.iterdir()) == [path]
    with File(path, sidecar=True) as file:
        assert file.count() == 50
    assert Path(sidecar_path(path)).exists()

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("hopped although a sidecar is there")

    monkeypatch.setattr("fluidio.recordio.files.sidecar.build_index", fail)
    with File(path) as file:
        assert file.count() == 50
        assert file.get(49) == b"49"


def test_a_stale_or_damaged_sidecar_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    sidecar = Path(sidecar_path(path))
    many_chunks(path)
    open_index(path, sidecar=True)
    good = sidecar.read_bytes()
    with Writer(path, "none", 1, mode="a") as writer:
        writer.write(b"more")
    with File(path) as file:
        assert file.count() == 51
    many_chunks(path)
    os.utime(path, ns=(1, 1))
    open_index(path, sidecar=True)
    good = sidecar.read_bytes()
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= 0x40
        sidecar.write_bytes(bad)
        with File(path) as file:
            assert file.count() == 50
    for length in range(0, len(good), 50):
        sidecar.write_bytes(good[:length])
        with File(path) as file:
            assert file.count() == 50
    # Same size and time, other content: the headers and, in the end, the checksums tell.
    sidecar.write_bytes(good)
    with Writer(path, "none", 1) as writer:
        for number in reversed(range(50)):
            writer.write(b"%d" % number)
    os.utime(path, ns=(1, 1))
    with File(path) as file:
        assert [file.get(i) for i in range(50)] == [b"%d" % i for i in reversed(range(50))]


def test_files_of_many_chunks_get_a_sidecar_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    many_chunks(path, 5000)
    with File(path, sidecar=False) as file:
        assert file.count() == 5000
    assert not Path(sidecar_path(path)).exists()
    with File(path) as file:
        assert file.count() == 5000
    assert Path(sidecar_path(path)).exists()
    assert recordio.reader(str(tmp_path / "*")).read() == b"0"
    assert expand(str(tmp_path / "*")) == [str(path)]


# -- other packages' names ---------------------------------------------------------------------------------------------


def test_the_names_of_pip_recordio(tmp_path: Path) -> None:
    for name in ("a-1", "a-2"):
        out = recordio.writer(str(tmp_path / name))
        out.write(name)
        out.write(b"")
        out.close()
    with File(tmp_path / "a-1") as file:
        assert file._index.dialect is not None
        assert file._index.dialect.name == "go"
    records = recordio.reader(f"{tmp_path}/a-1,{tmp_path}/a-*")
    found = [records.read() for _ in range(7)]
    assert found == [b"a-1", b"", b"a-1", b"", b"a-2", b"", None]
    records.close()
    with pytest.raises(FileNotFoundError, match="no file matches"):
        recordio.reader(str(tmp_path / "b-*"))


def test_the_names_of_wangkuiyis_pyrecordio() -> None:
    path = DATA / "raw_none_multichunk.recordio"
    index = Index(path)
    assert (index.num_chunks, index.num_records, index.locate(12), index.chunk_index(12)) == (3, 25, (1, 2), 1)
    with Scanner(path, 8, 5) as scanner:
        assert list(scanner) == RECORDS[8:13]
        assert not scanner.scan()
    with Scanner(path) as scanner:
        assert scanner.record() == RECORDS[0]
        assert scanner.scan()
        assert scanner.record() == RECORDS[1]
