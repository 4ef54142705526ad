"""Other formats and back: exact, with names, streamed; and read by the real libraries where they are installed."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidio
from fluidio.conversion import generate
from fluidio.conversion.export import SLOTS, export
from fluidio.conversion.formats import tfrecord
from fluidio.conversion.reshard import split
from fluidio.errors import ConversionError, FluidioError, MissingDependencyError, RecordIOError
from fluidio.recordio import Column, Writer, load
from fluidio.recordio.files.paths import expand
from tests.conversion.templates import MIXED, contents, write
from tests.house.repository import ROOT

FORMATS = ["npz", "tfrecord", "webdataset", "parquet", "arrow"]


@pytest.fixture
def shards(tmp_path: Path) -> str:
    generate(write(tmp_path, MIXED), str(tmp_path / "in" / "x"), 2, workers=1)
    return str(tmp_path / "in" / "x-*-of-*")


def need(name: str) -> None:
    if name in ("parquet", "arrow"):
        pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")


def equal(a: tuple[Column, ...], b: tuple[Column, ...]) -> bool:
    return len(a) == len(b) and all(
        p.data.dtype == q.data.dtype
        and p.data.shape == q.data.shape
        and p.data.tobytes() == q.data.tobytes()
        and [level.tolist() for level in p.lod] == [level.tolist() for level in q.lod]
        and p.offsets().tolist() == q.offsets().tolist()
        for p, q in zip(a, b)
    )


@pytest.mark.parametrize("name", FORMATS)
def test_there_and_back_again_is_exact(name: str, shards: str, tmp_path: Path) -> None:
    need(name)
    there = export(shards, name, str(tmp_path / "there"), workers=2)
    back = export(there, "recordio", str(tmp_path / "back"))
    assert [Path(path).name for path in back] == ["x-00000-of-00001", "x-00001-of-00001"]
    for path in back:
        assert equal(load(path), load(str(tmp_path / "in" / Path(path).name)))
    slots = json.loads((tmp_path / "back" / SLOTS).read_text())
    assert [slot["name"] for slot in slots][:3] == ["image", "label", "weight"]
    assert slots[0]["shape"] == [4, 5]


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_dtype_dense_ragged_and_tall(name: str, tmp_path: Path) -> None:
    need(name)
    random = np.random.default_rng(3)
    offsets = np.array([0, 2, 2, 5, 6, 10], np.int64)
    columns = []
    for dtype in DTYPES:
        data = (random.normal(size=(10, 3)) * 100).astype(dtype)
        columns.append(Column(data, num_records=5))  # two rows in each record
        columns.append(Column(data, offsets, (offsets,)))
        columns.append(Column(data, offsets))
    source = str(tmp_path / "all.recordio")
    with Writer(source) as writer:
        writer.write_block(columns)
    (there,) = export(source, name, str(tmp_path / "there"))
    (back,) = export(there, "recordio", str(tmp_path / "back"))
    assert equal(load(back), load(source))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (3,)])
def test_rows_without_items_and_records_without_rows_come_back(
    name: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    need(name)
    offsets = np.array([0, 2, 2, 5], np.int64)
    outer = np.array([0, 1, 1, 3], np.int64)
    source = str(tmp_path / "empty.recordio")
    columns = []
    for dtype in ("float32", "uint8", "int64", "float64"):
        data = np.ones((5, *shape), dtype)
        columns += [
            Column(np.ones((6, *shape), dtype), num_records=3),
            Column(data[:0], num_records=3),  # no rows in any record
            Column(data, offsets, (offsets,)),
            Column(data, offsets),
            Column(data, np.array([0, 0, 0, 5], np.int64), (outer, np.array([0, 0, 2, 5], np.int64))),
        ]
    with Writer(source) as writer:
        writer.write_block(columns)
    (there,) = export(source, name, str(tmp_path / "there"))
    (back,) = export(there, "recordio", str(tmp_path / "back"))
    assert equal(load(back), load(source))


def test_names_are_given_or_made_up(tmp_path: Path) -> None:
    source = str(tmp_path / "a.recordio")
    with Writer(source) as writer:
        writer.write_block([np.zeros((3, 2), np.float32), np.zeros((3, 1), np.int64)])
    (path,) = export(source, "npz", str(tmp_path / "b"), names=["image", "label"])
    with np.load(path) as found:
        assert set(found.files) == {"__slots__", "__records__", "image", "label"}
    (path,) = export(source, "npz", str(tmp_path / "c"))
    with np.load(path) as found:
        assert found["slot_0"].shape == (3, 2)
    with pytest.raises(ConversionError, match="1 names for 2 slots"):
        export(source, "npz", str(tmp_path / "d"), names=["image"])


def test_pickled_samples_become_columns(tmp_path: Path) -> None:
    samples = [(np.full(3, n, np.float32), n, "t" * n) for n in range(5)]
    (source,) = fluidio.convert(str(tmp_path), lambda: iter(samples), 1, "p")
    (path,) = export(source, "npz", str(tmp_path / "out"), names=["image", "label", "text"])
    with np.load(path) as found:
        assert found["image"].tolist() == [[n] * 3 for n in range(5)]
        assert found["text"].tobytes() == b"t" * 10


def test_files_of_others_are_taken_in(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(6).reshape(3, 2), y=np.array([0.5, 1, 2]))
    (path,) = export(str(tmp_path / "a.npz"), "recordio", str(tmp_path / "out"))
    x, y = load(path)
    assert x.data.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert y.data.tolist() == [[0.5], [1], [2]]
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        for key, text in (("k0", b"picture"), ("k1", b"other")):
            member = tarfile.TarInfo(f"{key}.jpg")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    (path,) = export(str(tmp_path / "b.tar"), "recordio", str(tmp_path / "pictures"))
    (picture,) = load(path)
    assert picture.data.tobytes() == b"pictureother"


def test_a_parquet_file_of_others_is_taken_in(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")
    import pyarrow.parquet as pq

    table = pa.table({"n": [1, 2, 3], "text": ["a", "", "ccc"], "list": [[0.5], [], [1.0, 2.0]]})
    pq.write_table(table, tmp_path / "a.parquet")
    (path,) = export(str(tmp_path / "a.parquet"), "recordio", str(tmp_path / "out"))
    n, text, numbers = load(path)
    assert n.data.tolist() == [[1], [2], [3]]
    assert text.lod[0].tolist() == [0, 1, 1, 4]
    assert numbers.lod[0].tolist() == [0, 1, 1, 3]
    pq.write_table(pa.table({"n": [1, None]}), tmp_path / "null.parquet")
    with pytest.raises(ConversionError, match="null"):
        export(str(tmp_path / "null.parquet"), "recordio", str(tmp_path / "out"))


@pytest.mark.parametrize(("nulls", "expected"), [("drop", [1, 4]), ("-1", [1, -1, 4]), ("2", [1, 2, 4])])
@pytest.mark.parametrize("convert", [False, True])
def test_nulls_are_dropped_or_replaced(nulls: str, expected: list[int], convert: bool, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")
    import pyarrow.parquet as pq

    path = str(tmp_path / "null.parquet")
    pq.write_table(pa.table({"n": [1, None, 4], "x": [0.5, 1.5, 2.5]}), path)
    if convert:
        template = f"{ROOT}/fluidio/conversion/templates/tables.py"
        generate(template, str(tmp_path / "out" / "t"), 1, workers=1, args=["--files", path, "--nulls", nulls])
        (made,) = expand(str(tmp_path / "out" / "t-*"))
    else:
        (made,) = export(path, "recordio", str(tmp_path / "out"), nulls=nulls)
    assert load(made)[0].data.reshape(-1).tolist() == expected


def test_a_value_that_cannot_stand_for_a_null_is_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"n": [1, None], "l": [[1], None]}), tmp_path / "null.parquet")
    with pytest.raises(ConversionError, match="n: 'many' cannot replace a null of type int64"):
        export(str(tmp_path / "null.parquet"), "recordio", str(tmp_path / "out"), nulls="many")
    with pytest.raises(
        ConversionError, match="l: there is no value to replace a null of type list.*: use --nulls drop"
    ):
        export(str(tmp_path / "null.parquet"), "recordio", str(tmp_path / "out"), nulls="3")


def test_parquet_has_columns_that_others_understand(shards: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")
    import pyarrow.parquet as pq

    paths = export(shards, "parquet", str(tmp_path / "out"))
    table = pq.read_table(paths[0])
    assert table["label"].to_pylist()[:3] == [0, 1, 2]
    assert table["name"].to_pylist()[1] == "0/1 é"
    assert table["words"].type.num_fields == 1
    assert table["tokens"].to_pylist()[2] == [0, 1, 2]


def test_without_pyarrow_the_pip_line_is_named(shards: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"fluidio\[arrow\]"):
        export(shards, "parquet", str(tmp_path / "out"))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_varints_come_back(values: list[int]) -> None:
    packed = tfrecord.varints(np.array(values, np.int64))
    assert tfrecord.read_varints(packed).tolist() == values


@given(st.binary(max_size=60))
def test_any_bytes_are_an_example_or_an_error(data: bytes) -> None:
    try:
        tfrecord.parse_example(data)
    except ConversionError:
        return


def test_damage_in_a_tfrecord_is_found(shards: str, tmp_path: Path) -> None:
    path = Path(export(shards, "tfrecord", str(tmp_path / "out"))[0])
    data = bytearray(path.read_bytes())
    for position, problem in ((30, "checksum of its data"), (3, "checksum of its length")):
        damaged = bytearray(data)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ConversionError, match=f"record 0: the {problem} is wrong"):
            list(tfrecord.read_records(str(path)))
    path.write_bytes(data[:-3])
    with pytest.raises(ConversionError, match="are left"):
        list(tfrecord.read_records(str(path)))
    assert struct.unpack("<Q", data[:8])[0] > 0


def test_tensorflow_reads_our_examples(shards: str, tmp_path: Path) -> None:
    tf: Any = pytest.importorskip("tensorflow", reason="extra: tensorflow is not installed")
    paths = export(shards, "tfrecord", str(tmp_path / "out"))
    (record,) = tf.data.TFRecordDataset(paths[0]).take(1).as_numpy_iterator()
    features = tf.train.Example.FromString(record).features.feature
    assert list(features["label"].int64_list.value) == [0]
    assert features["name"].bytes_list.value[0].decode() == "0/0 é"
    assert len(features["image"].float_list.value) == 20


@pytest.mark.parametrize("name", FORMATS)
def test_any_name_may_be_given_to_a_slot(name: str, shards: str, tmp_path: Path) -> None:
    need(name)
    names = ["file", "args", "x y", "__a__", "1", "é", "kwds", "allow_pickle", "z"]
    there = export(shards, name, str(tmp_path / "there"), names=names)
    back = export(there, "recordio", str(tmp_path / "back"))
    assert [slot["name"] for slot in json.loads((tmp_path / "back" / SLOTS).read_text())] == names
    assert equal(load(back[0]), load(str(tmp_path / "in" / Path(back[0]).name)))


def test_a_name_is_given_once(shards: str, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="the same name appears twice in a, b, a"):
        export(shards, "npz", str(tmp_path / "there"), names=["a", "b", "a"])


OTHER = "def task_number():\n    return 1\ndef dict_data(task):\n    yield {'label': 1, 'text': 'abc'}\n"


@pytest.mark.parametrize("name", ["tfrecord", "webdataset"])
def test_the_slots_of_a_folder_are_not_replaced_by_others(name: str, shards: str, tmp_path: Path) -> None:
    generate(write(tmp_path, OTHER), str(tmp_path / "other" / "y"), 1, workers=1)
    other = str(tmp_path / "other" / "y-00000-of-00000")
    export(shards, name, str(tmp_path / "there"))
    with pytest.raises(ConversionError, match=f"y-00000-of-00000: its slots are label: .*, but those of .*{SLOTS} are"):
        export(other, name, str(tmp_path / "there"))
    assert len(export(str(tmp_path / "there" / "*"), "recordio", str(tmp_path / "back"))) == 2
    with pytest.raises(ConversionError, match="export each kind of file into its own folder"):
        export([shards, other], name, str(tmp_path / "mixed"))


def parquet(tmp_path: Path, column: Any) -> str:
    pa = pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra: pyarrow is not installed")
    path = str(tmp_path / "x.parquet")
    parquet.write_table(pa.Table.from_arrays([column(pa)], names=["x"]), path)
    return path


COLUMNS = [
    (lambda pa: pa.array([[1, None, 3]]), "x: 1 items inside lists are null"),
    (lambda pa: pa.array([[[1], None]]), "x: 1 items inside lists are null"),
    (lambda pa: pa.array([1, 65535], pa.uint16()), "x: a tensor cannot hold uint16"),
    (lambda pa: pa.array([1], pa.uint64()), "x: a tensor cannot hold uint64"),
]


@pytest.mark.parametrize(("column", "text"), COLUMNS)
def test_columns_that_no_tensor_can_hold_are_refused_by_name(column: Any, text: str, tmp_path: Path) -> None:
    path = parquet(tmp_path, column)
    with pytest.raises(ConversionError, match=f"x.parquet: {text}"):
        export(path, "recordio", str(tmp_path / "there"))
    assert not list((tmp_path / "there").iterdir())


@pytest.mark.parametrize("suffix", ["npz", "tar", "tfrecord", "parquet", "arrow", "recordio"])
def test_a_file_of_another_kind_is_named(suffix: str, tmp_path: Path) -> None:
    need(suffix)
    path = tmp_path / f"junk.{suffix}"
    path.write_bytes(b"neither this nor that " * 100)
    with pytest.raises(FluidioError, match=f"^{path}: "):
        export(str(path), "npz" if suffix != "npz" else "recordio", str(tmp_path / "there"))


def test_arrays_of_unequal_length_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((3, 2)), y=np.zeros(4))
    with pytest.raises(ConversionError, match=r"x.npz: x: 3 rows, y: 4 rows"):
        export(str(tmp_path / "x.npz"), "recordio", str(tmp_path / "there"))


def test_a_failed_export_leaves_the_older_one_as_it_was(tmp_path: Path) -> None:
    for name, numbers in (("old", range(20)), ("new", range(20, 40))):
        with Writer(tmp_path / name, max_num_records=5) as writer:
            writer.write_block([np.array(numbers)])
        split(str(tmp_path / name), str(tmp_path / f"{name}-set" / "x"), 2)
    output = str(tmp_path / "out")
    export(str(tmp_path / "old-set" / "x-*-of-*"), "tfrecord", output)
    before = contents(Path(output))
    damaged = tmp_path / "new-set" / "x-00001-of-00001"
    damaged.write_bytes(damaged.read_bytes()[:-3])
    with pytest.warns(UserWarning, match="in its manifest"), pytest.raises((ConversionError, RecordIOError)):
        export(str(tmp_path / "new-set" / "x-*-of-*"), "tfrecord", output)
    assert contents(Path(output)) == before
