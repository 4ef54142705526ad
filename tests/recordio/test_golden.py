"""The golden files, written by the original programs: healthy ones record by record, damaged ones as expected."""

from __future__ import annotations

import hashlib
import json
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.errors import CutTailError, RecordIOError
from fluidio.recordio import BlockReader, RecordBlock
from fluidio.recordio.format.chunks import ChunkReader

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"
MANIFEST: dict[str, dict[str, Any]] = json.loads((DATA / "manifest.json").read_text())


def named(*kinds: str) -> list[str]:
    return [name for name, entry in MANIFEST.items() if entry["kind"] in kinds]


def read(name: str, **options: Any) -> tuple[list[bytes], RecordIOError | None, list[warnings.WarningMessage]]:
    """Return the records up to the first error, that error, and the warnings."""
    records: list[bytes] = []
    with warnings.catch_warnings(record=True) as caught, ChunkReader(DATA / name, **options) as reader:
        warnings.simplefilter("always")
        try:
            for chunk in reader:
                records += chunk.records()
        except RecordIOError as error:
            return records, error, caught
    return records, None, caught


def blocks(name: str, **options: Any) -> RecordBlock:
    with BlockReader(DATA / name, **options) as reader:
        return RecordBlock.concat(list(reader))


@pytest.mark.parametrize("name", list(MANIFEST))
def test_the_copy_is_the_golden_file(name: str) -> None:
    assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == MANIFEST[name]["sha256"]


@pytest.mark.parametrize("name", [name for name, entry in MANIFEST.items() if "records" in entry])
def test_healthy_files_give_their_records(name: str) -> None:
    records, error, caught = read(name, verify_inner=True)
    assert error is None
    assert not caught
    assert [{"len": len(r), "crc32": zlib.crc32(r)} for r in records] == MANIFEST[name]["records"]


@pytest.mark.parametrize("name", [name for name, entry in MANIFEST.items() if "chunks" in entry])
def test_chunks_are_where_the_manifest_says(name: str) -> None:
    with ChunkReader(DATA / name) as reader:
        found = [(c.offset, c.header.num_records, c.header.compressor, c.header.size) for c in reader]
    assert found == [
        (c["offset"], c["num_records"], c["compressor"], c["compress_size"]) for c in MANIFEST[name]["chunks"]
    ]


@pytest.mark.parametrize("name", named("raw", "lodtensor", "go", "elasticdl", "v2-pickle"))
def test_the_dialect_is_told_by_the_checksum(name: str) -> None:
    kind = {"raw": "fluid", "lodtensor": "fluid", "v2-pickle": "go"}.get(MANIFEST[name]["kind"], MANIFEST[name]["kind"])
    with ChunkReader(DATA / name) as reader:
        dialects = {chunk.dialect.name for chunk in reader}
    assert dialects == ({kind} if MANIFEST[name]["bytes"] else set())


@pytest.mark.parametrize("name", named("damaged"))
def test_damaged_files_do_what_the_manifest_expects(name: str) -> None:
    entry = MANIFEST[name]
    good = entry["good_records_before_damage"]
    whole, _, _ = read("raw_none_multichunk.recordio")
    records, error, caught = read(name)
    assert len(records) >= good
    assert records == (whole + whole)[: len(records)]
    expected = entry["expected"]
    if expected == "error":
        assert error is not None
        assert error.path == str(DATA / name)
        assert error.chunk is not None
        assert error.offset is not None
    elif expected == "ok with a warning":
        assert error is None
        assert [str(w.message) for w in caught if "stray bytes" in str(w.message)]
    elif expected == "ok":
        assert error is None
        assert not caught
    else:
        assert error is None
        assert expected.startswith(("ok, or error", "error, or read it"))


def test_the_inner_checksum_is_checked_on_request() -> None:
    records, error, _ = read("bad_snappy_inner_crc.recordio", verify_inner=True)
    assert len(records) == 10
    assert error is not None
    assert "checksum" in error.problem


@pytest.mark.parametrize("name", [n for n in MANIFEST if n.startswith("bad_trunc_") and "magic" not in n])
def test_a_cut_tail_is_its_own_error(name: str) -> None:
    _, error, _ = read(name)
    assert isinstance(error, CutTailError)


@pytest.mark.parametrize(
    "name", [n for n in named("damaged") if "trunc" not in n and "only" not in n and MANIFEST[n]["expected"] == "error"]
)
def test_skipping_delivers_the_good_chunks_behind_the_damage(name: str) -> None:
    whole, _, _ = read("raw_none_multichunk.recordio")
    records, error, _ = read(name, on_error="skip")
    assert error is None
    damaged = 0 if name == "bad_magic_first.recordio" else 1
    if name == "bad_trailing_4.recordio":
        assert records == whole
    else:
        assert records == whole[: 10 * damaged] + whole[10 * damaged + 10 :]


@pytest.mark.parametrize("name", named("damaged-tensor"))
def test_records_with_bad_tensors_are_readable_as_bytes(name: str) -> None:
    records, error, _ = read(name)
    assert len(records) == 1
    assert error is None
    expected = MANIFEST[name]["expected"]
    if expected == "ok":
        assert blocks(name).tensors()[0][0].tolist() == [[0, 1, 2, 3]]
    elif name == "badtensor_extra_data.recordio":
        with pytest.warns(UserWarning, match="bytes after the last tensor"):
            assert blocks(name).tensors()[0][0].tolist() == [[0, 1, 2, 3]]
    else:
        with pytest.raises(RecordIOError, match="record 0"):
            blocks(name)
        with BlockReader(DATA / name, on_error="skip") as reader:
            assert list(reader) == []
            assert len(reader.damage) == 1


def image(i: int) -> np.ndarray[Any, Any]:
    j = np.arange(784)
    values = ((i * 31 + j * 17) % 256).astype(np.float32) / np.float32(127.5) - np.float32(1)
    return np.where((j // 28 + i) % 7 < 2, values, np.float32(-1)).astype(np.float32)


@pytest.mark.parametrize(("name", "count"), [("mnist_snappy.recordio", 1000), ("mnist_none.recordio", 50)])
def test_dense_tensors_decode_to_the_formula(name: str, count: int) -> None:
    (images, lod), (labels, _) = blocks(name).tensors()
    assert lod == ()
    assert images.dtype == np.float32
    assert labels.dtype == np.int64
    assert np.array_equal(images, np.stack([image(i) for i in range(count)]))
    assert np.array_equal(labels, np.arange(count)[:, None] * 7 % 10)


def sequence(i: int) -> list[int]:
    return [(i * 101 + k * k) % 5000 for k in range(1 + i * 5 % 23)]


def test_sequences_decode_to_the_formula() -> None:
    block = blocks("seq_lod1_snappy.recordio")
    (ids, lod), (labels, _) = block.tensors()
    sequences = [sequence(i) for i in range(200)]
    assert ids[:, 0].tolist() == [word for words in sequences for word in words]
    assert lod[0].tolist() == np.cumsum([0, *map(len, sequences)]).tolist()
    assert labels[:, 0].tolist() == [i % 2 for i in range(200)]
    (one, lod), _ = block.slice(7, 8).tensors()
    assert (one[:, 0].tolist(), lod[0].tolist()) == (sequences[7], [0, len(sequences[7])])


def test_records_of_several_sequences_merge_their_lod() -> None:
    block = blocks("seq_lod1_batch3_none.recordio")
    assert len(block) == 16
    assert block.columns[1].rows_per_record == 3
    lod = block.columns[0].lod[0]
    lengths = np.diff(lod)
    expected = [0 if i % 4 == 3 and k == 1 else len(sequence(3 * i + k)) for i in range(16) for k in range(3)]
    assert lengths.tolist() == expected
    assert block.slice(3, 5).columns[0].lod[0].tolist() == np.cumsum([0, *expected[9:15]]).tolist()


def test_every_dtype_decodes() -> None:
    names = ["bool", "int16", "int32", "int64", "float16", "float32", "float64", "uint8", "int8"]
    tensors = blocks("dtypes_all.recordio").tensors()
    assert [array.dtype.name for array, _ in tensors] == names
    values = np.concatenate([np.arange(12).reshape(3, 4) + i for i in range(4)])
    for array, _ in tensors:
        expected = values % 3 == 0 if array.dtype == bool else values
        assert np.array_equal(array, expected.astype(array.dtype))
