"""Manifests and names that lead out of their folder, or are none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fluidio.conversion import storage
from fluidio.errors import ConversionError
from fluidio.recordio import Writer
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import read_manifest


def manifest(folder: Path, text: str) -> str:
    (folder / "set.manifest.json").write_text(text)
    return str(folder / "set")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", "", "a/b", "a\\b", None, 5, "a\0b"])
def test_a_shard_is_a_file_beside_its_manifest(tmp_path: Path, name: object) -> None:
    prefix = manifest(tmp_path, json.dumps({"records": 1, "slots": [], "shards": [{"name": name, "records": 1}]}))
    with pytest.raises(ConversionError, match="a shard must have a file name"):
        read_manifest(prefix)


@pytest.mark.parametrize(
    "text", ["{", "[]", "[" * 100_000, '{"shards": [[]]}', "5", '{"shards": null}', '{"shards": 5}']
)
def test_something_else_than_a_manifest_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConversionError, match="set.manifest.json is not"):
        read_manifest(manifest(tmp_path, text))


GOOD = {"name": "x", "dtype": "int64", "shape": [1], "lod_level": 0, "rows": 1, "kind": "int"}
WRONG = [
    {"name": 5},
    {"dtype": None},
    {"dtype": "object"},
    {"dtype": "i4,i4"},
    {"dtype": {"names": ["a"], "formats": ["O"]}},
    {"kind": 3},
    {"lod_level": "1"},
    {"lod_level": -1},
    {"shape": [1.5]},
    {"shape": ["a"]},
    {"shape": [1 << 70]},
    {"rows": "x"},
    {"more": 1},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_slots_of_wrong_types_are_refused(wrong: dict[str, object]) -> None:
    assert len(schema.from_json([GOOD])) == 1
    with pytest.raises(ConversionError, match="not a list of slots"):
        schema.from_json([GOOD | wrong])


def test_a_good_manifest_is_read(tmp_path: Path) -> None:
    found = {"records": 1, "slots": [], "shards": [{"name": "set-00000-of-00001", "records": 1}]}
    assert read_manifest(manifest(tmp_path, json.dumps(found))) == found


@pytest.mark.parametrize("key", ["s3://bucket/k/..", "s3://bucket/k/.", "memory://k/"])
def test_a_key_that_is_no_name_leaves_the_folder_alone(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConversionError, match="is not a file name"):
        storage.join(str(tmp_path), storage.name_of(key))


def test_files_beside_a_broken_manifest_say_so(tmp_path: Path) -> None:
    with Writer(tmp_path / "set-00000-of-00000") as writer:
        writer.write_block([np.arange(3)[:, None]])
    manifest(tmp_path, "{broken")
    with pytest.raises(ConversionError, match="not JSON"):
        read_manifest(str(tmp_path / "set"))
