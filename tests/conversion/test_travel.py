"""Names, kinds and text go where the records go, and come back as they were."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion import generate, read_manifest, read_rows
from fluidio.conversion.copying import copy
from fluidio.conversion.export import export
from fluidio.conversion.reading import rows_of
from fluidio.conversion.reshard import shuffle, split
from fluidio.errors import RecordIOError
from fluidio.recordio import File, Writer, iter_batches, load
from fluidio.recordio.files.notes import slots_beside
from fluidio.recordio.files.paths import expand
from tests.conversion.servers import need
from tests.conversion.templates import write

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
JPEG = b"\xff\xd8\xff\xe0" + bytes(9)
ROWS: list[dict[str, Any]] = [
    {"name": f"é {n}", "label": n, "picture": PNG if n % 2 else JPEG, "tags": ["a", "bb", ""][: n % 3 + 1], "w": n / 4}
    for n in range(7)
]
TEMPLATE = f"""
ROWS = {ROWS!r}

def task_number():
    return 1

def dict_data(task):
    yield from ROWS
"""
FORMATS = ["npz", "tfrecord", "webdataset", "parquet", "arrow"]


@pytest.fixture
def made(tmp_path: Path) -> str:
    generate(write(tmp_path, TEMPLATE), str(tmp_path / "in" / "x"), 2, workers=1)
    return str(tmp_path / "in" / "x-*-of-*")


def rows(pattern: str) -> list[dict[str, Any]]:
    found = []
    for path in expand(pattern):
        slots = slots_beside(path)
        assert slots is not None
        found += list(rows_of(path, slots))
    return sorted(found, key=lambda row: int(row["label"]))


@pytest.mark.parametrize("name", FORMATS)
def test_rows_come_back_from_every_format_as_they_were(name: str, made: str, tmp_path: Path) -> None:
    if name in ("parquet", "arrow"):
        need("pyarrow")
    export(made, name, str(tmp_path / "there"))
    export(f"{tmp_path}/there/*", "recordio", str(tmp_path / "back"))
    assert rows(str(tmp_path / "back" / "x-*-of-*")) == ROWS
    assert read_manifest(str(tmp_path / "back" / "x")) is not None
    assert len(list(read_rows(str(tmp_path / "back" / "x")))) == 7


def test_all_tools_pass_the_names_on(made: str, tmp_path: Path) -> None:
    split(made, str(tmp_path / "s" / "x"), 3)
    shuffle(f"{tmp_path}/s/x-*", str(tmp_path / "r" / "y"), 2)
    packed = ["--compressor", "none", "--output", str(tmp_path / "c")]
    assert main(["records", "recompress", f"{tmp_path}/r/y-*", *packed]) == 0
    copy([f"{tmp_path}/c/y-*-of-*"], str(tmp_path / "d"))
    assert (tmp_path / "d" / "y.manifest.json").is_file()
    assert rows(f"{tmp_path}/d/y-*") == ROWS


def test_single_files_are_told_about_too(made: str, tmp_path: Path) -> None:
    (first, _) = export(made, "npz", str(tmp_path / "there"))
    Path(first).rename(tmp_path / "there" / "one.npz")
    export(str(tmp_path / "there" / "one.npz"), "recordio", str(tmp_path / "back"))
    copy([str(tmp_path / "back" / "one.recordio")], str(tmp_path / "copy"))
    assert [row["name"] for row in rows(str(tmp_path / "copy" / "one.recordio"))] == ["é 0", "é 2", "é 4", "é 6"]


def test_parquet_holds_strings(made: str, tmp_path: Path) -> None:
    need("pyarrow")
    import pyarrow.parquet as pq

    table = pq.read_table(export(made, "parquet", str(tmp_path / "out"))[0])
    types = [str(field.type) for field in table.schema]
    assert types == ["string", "int64", "binary", "list<element: string>", "double"]
    assert all(field.nullable for field in table.schema)
    assert table.to_pylist()[1] == ROWS[2]


def test_columns_of_others_keep_their_kinds(tmp_path: Path) -> None:
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    given = {"n": [1, 2], "s": ["a", ""], "l": [["x", "yy"], []], "f": [0.5, 1.5], "b": [True, False]}
    given |= {"v": [[1, 2], [3]]}
    pq.write_table(pa.table(given), tmp_path / "a.parquet")
    export(str(tmp_path / "a.parquet"), "recordio", str(tmp_path / "out"))
    slots = slots_beside(str(tmp_path / "out" / "a.recordio"))
    assert slots is not None
    found = list(rows_of(str(tmp_path / "out" / "a.recordio"), slots))
    assert found == [dict(zip(given, values)) for values in zip(*given.values())]
    pq.write_table(pa.table({"l": [["x", None]]}), tmp_path / "null.parquet")
    assert main(["export", str(tmp_path / "null.parquet"), "--to", "recordio", "--output", str(tmp_path / "n")]) == 1


def test_tar_files_hold_pictures_text_and_labels(made: str, tmp_path: Path) -> None:
    paths = export(made, "webdataset", str(tmp_path / "out"))
    keys: list[str] = []
    members: dict[str, bytes] = {}
    for path in paths:
        with tarfile.open(path) as tar:
            for member in tar:
                content = tar.extractfile(member)
                assert content is not None
                members[member.name] = content.read()
                keys.append(member.name.partition(".")[0])
    assert len(set(keys)) == 7
    first = "x-00000-of-00001-000000000"
    assert members[f"{first}.picture.jpg"] == JPEG
    assert members["x-00001-of-00001-000000000.picture.png"] == PNG
    assert members[f"{first}.name.txt"].decode() == "é 0"
    assert members[f"{first}.label.cls"] == b"0"
    assert json.loads(members[f"{first}.tags.json"]) == ["a"]


def test_tar_files_of_others_keep_their_kinds(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, data in (("k.jpg", JPEG), ("k.cls", b"7"), ("k.txt", "é".encode()), ("k.json", b'{"a": 1}')):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    (path,) = export(str(tmp_path / "a.tar"), "recordio", str(tmp_path / "out"))
    slots = slots_beside(path)
    assert slots is not None
    assert list(rows_of(path, slots)) == [{"jpg": JPEG, "cls": 7, "txt": "é", "json": '{"a": 1}'}]


@pytest.mark.parametrize("name", FORMATS)
def test_raw_bytes_are_exported_and_come_back_raw(name: str, tmp_path: Path) -> None:
    if name in ("parquet", "arrow"):
        need("pyarrow")
    records = [b"first line", b"", bytes(range(256)), b"\x80\x02"]
    with Writer(str(tmp_path / "raw.recordio"), max_num_records=2) as writer:
        for record in records:
            writer.write(record)
    (there,) = export(str(tmp_path / "raw.recordio"), name, str(tmp_path / "there"))
    (back,) = export(there, "recordio", str(tmp_path / "back"))
    with File(back) as file:
        assert list(file) == records


def test_batches_have_names_and_text(made: str, tmp_path: Path) -> None:
    (batch,) = iter_batches(sorted(expand(made)), 7, named=True)
    assert list(batch) == ["name", "label", "picture", "tags", "w"]
    order = np.argsort(batch["label"].ravel()).tolist()
    assert [batch["name"][n] for n in order] == [row["name"] for row in ROWS]
    assert [batch["tags"][n] for n in order] == [row["tags"] for row in ROWS]
    assert [batch["picture"][n] for n in order] == [row["picture"] for row in ROWS]
    assert load(made, named=True)["label"].data.shape == (7, 1)
    with Writer(str(tmp_path / "plain")) as writer:
        writer.write_block([np.zeros((3, 2)), np.ones((3, 1))])
    assert list(next(iter(iter_batches(str(tmp_path / "plain"), 3, named=True)))) == ["slot_0", "slot_1"]
    (tmp_path / "fluidio-slots.json").write_text('[{"name": "a", "dtype": "float64", "shape": [2]}]')
    with pytest.raises(RecordIOError, match="the records have 2 slots, but the names of 1 are given: a"):
        next(iter(iter_batches(str(tmp_path / "plain"), 3, named=True)))


def test_an_empty_set_has_the_columns_of_its_manifest(made: str, tmp_path: Path) -> None:
    assert main(["records", "filter", "label < 0", made, "--output", str(tmp_path / "none")]) == 0
    found = load(str(tmp_path / "none-*-of-*"), named=True)
    assert [(name, column.data.dtype.name, len(column.lod), column.num_records) for name, column in found.items()] == [
        ("name", "uint8", 1, 0),
        ("label", "int64", 0, 0),
        ("picture", "uint8", 1, 0),
        ("tags", "uint8", 2, 0),
        ("w", "float64", 0, 0),
    ]
    assert len(load(str(tmp_path / "none-*-of-*"))) == 5
    assert list(iter_batches(str(tmp_path / "none-*-of-*"), 3, named=True)) == []


def test_torch_gets_names_and_text(made: str) -> None:
    pytest.importorskip("torch", reason="extra: torch is not installed")
    from fluidio.torch import IterableRecords, Records

    (batch,) = IterableRecords(made, 7, named=True)
    assert sorted(batch["name"]) == [row["name"] for row in ROWS]
    assert sorted(batch["label"].ravel().tolist()) == list(range(7))
    data = Records(made, named=True)
    assert {data[n]["name"]: data[n]["tags"] for n in range(7)} == {row["name"]: row["tags"] for row in ROWS}
    data.close()


def test_tensorflow_gets_names_and_text(made: str) -> None:
    pytest.importorskip("tensorflow", reason="extra: tensorflow is not installed")
    from fluidio.tf import records

    (batch,) = records(made, 7, named=True)
    assert sorted(name.decode() for name in batch["name"].numpy()) == [row["name"] for row in ROWS]
    tags = [[tag.decode() for tag in tags] for tags in batch["tags"].to_list()]
    assert sorted(tags) == sorted(row["tags"] for row in ROWS)


def test_a_copy_over_an_older_set_leaves_no_mixture(made: str, tmp_path: Path) -> None:
    split(made, str(tmp_path / "old" / "x"), 4)
    copy([f"{tmp_path}/old/x-*"], str(tmp_path / "to"))
    copy([made], str(tmp_path / "to"))
    assert sorted(path.name for path in (tmp_path / "to").glob("x-*")) == ["x-00000-of-00001", "x-00001-of-00001"]
    assert rows(f"{tmp_path}/to/x-*") == ROWS


def test_an_export_of_fewer_shards_removes_the_others(made: str, tmp_path: Path) -> None:
    split(made, str(tmp_path / "four" / "x"), 4)
    export(f"{tmp_path}/four/x-*", "npz", str(tmp_path / "out"))
    export(f"{tmp_path}/four/x-*", "tfrecord", str(tmp_path / "out"))
    export(made, "npz", str(tmp_path / "out"))
    assert len(list((tmp_path / "out").glob("*.npz"))) == 2
    assert len(list((tmp_path / "out").glob("*.tfrecord"))) == 4
