"""The templates to copy: images, CSV, JSON lines and TFRecord, from paths and URLs, with errors that say where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion import read_rows
from fluidio.conversion.formats import tfrecord
from fluidio.recordio import load


def run(folder: Path, template: str, *args: str) -> int:
    """Convert with a fresh copy of a template."""
    assert main(["convert", "--init", template, str(folder / template)]) == 0
    (script,) = (folder / template).glob("*.py")
    return main(["convert", str(script), "--output", str(folder / "out"), "--workers", "1", "--quiet", "--", *args])


def test_templates_are_copied_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("imagenet", "csv", "jsonl", "tfrecord"):
        assert main(["convert", "--init", name, str(tmp_path)]) == 0
    assert main(["convert", "--init", "imagenet", str(tmp_path)]) == 1
    assert main(["convert", "--init", "nothing", str(tmp_path)]) == 1
    (tmp_path / "rows.csv").write_text("a,label,b\n1,7,2\n3,8,4\n5,9,6\n")
    output = ["--output", str(tmp_path / "rows"), "--workers", "1", "--quiet"]
    script = str(tmp_path / "csv_rows.py")
    assert main(["convert", script, *output, "--", "--csv_file", str(tmp_path / "rows.csv"), "--tasks", "2"]) == 0
    assert "3 records (features, label)" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "rows-00000-of-00000"), "--to", "tfrecord", "--output", str(tmp_path)]) == 0
    source = str(tmp_path / "rows-00000-of-00000.tfrecord")
    output = ["--output", str(tmp_path / "again"), "--partitions", "2", "--workers", "1", "--quiet"]
    script = str(tmp_path / "tfrecord.py")
    assert main(["convert", script, *output, "--", "--files", source, "--tasks_per_file", "2"]) == 0
    assert "3 records (features, label)" in capsys.readouterr().out


def test_image_folders_with_a_label_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("n1", "n2", "n3"):
        (tmp_path / "images" / folder).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "images" / folder / f"{number}.jpg").write_bytes(f"{folder}{number}".encode())
    (tmp_path / "map.txt").write_text("n3 7 third\nn1 5\nn2 6\n")
    assert main(["convert", "--init", "imagenet", str(tmp_path)]) == 0
    command = ["convert", str(tmp_path / "imagenet.py"), "--output", str(tmp_path / "out"), "--partitions", "2"]
    args = ["--label_file", str(tmp_path / "map.txt"), "--image_dir", str(tmp_path / "images")]
    assert main([*command, "--workers", "2", "--quiet", "--", *args]) == 0
    names, labels, data = load(str(tmp_path / "out-*-of-*"))
    assert labels.data[:, 0].tolist() == [5, 5, 5, 7, 7, 7, 6, 6, 6]
    assert data.data.tobytes() == b"n10n11n12n30n31n32n20n21n22"
    assert names.data.tobytes().startswith(b"n1/0.jpgn1/1.jpg")
    (tmp_path / "images" / "n4").mkdir()
    assert main([*command, "--restart", "--quiet", "--", *args]) == 1
    assert "no label for the folder n4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,label\n1,2\n1\n", "rows.csv, line 3: there are more or fewer values than columns"),
        ("x,label\n1,2,3\n", "rows.csv, line 2: there are more or fewer values than columns"),
        ("x,label\n1,2\nthree,4\n", "rows.csv, line 3: could not convert string to float: 'three'"),
        ("x,label\n1,2.5\n", "rows.csv, line 2: invalid literal for int() with base 10: '2.5'"),
        ("x,y\n1,2\n", "rows.csv has no column label; --label names one of x, y"),
        ("", "rows.csv has no column label"),
    ],
)
def test_a_bad_csv_file_says_where(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.csv").write_text(text)
    assert run(tmp_path, "csv", "--csv_file", str(tmp_path / "rows.csv"), "--tasks", "1") == 1
    assert message in capsys.readouterr().err


def test_a_csv_file_of_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"\xef\xbb\xbflabel,x\r\n3,0.5\r\n")
    assert run(tmp_path, "csv", "--csv_file", str(tmp_path / "rows.csv"), "--tasks", "1") == 0
    (row,) = read_rows(str(tmp_path / "out"))
    assert (row["label"], row["features"].tolist()) == (3, [0.5])


def test_a_bad_line_of_json_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n\n{"a": \n')
    assert run(tmp_path, "jsonl", "--files", str(tmp_path / "x.jsonl")) == 1
    assert "x.jsonl, row 1: line 3: Expecting value" in capsys.readouterr().err


def test_pictures_in_a_deeper_folder_are_not_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "images" / "n1" / "more").mkdir(parents=True)
    (tmp_path / "map.txt").write_text("n1 0\n")
    args = ["--label_file", str(tmp_path / "map.txt"), "--image_dir", str(tmp_path / "images")]
    assert run(tmp_path, "imagenet", *args) == 1
    assert "holds the folder more" in capsys.readouterr().err


def examples(path: Path, rows: list[tuple[list[int], bytes]]) -> str:
    with path.open("wb") as file:
        for ids, text in rows:
            numbers = tfrecord.varints(np.array(ids, np.int64))
            features = [tfrecord._feature("ids", 3, numbers), tfrecord._feature("text", 1, text)]
            file.write(tfrecord.frame(tfrecord.example(features)))
    return str(path)


def test_features_of_any_length_with_a_schema(tmp_path: Path) -> None:
    rows = [([1, 2, 3], b"a"), ([4], b"bc"), ([], b""), ([5, 6], b"d")]
    source = examples(tmp_path / "x.tfrecord", rows)
    assert main(["convert", "--init", "tfrecord", str(tmp_path)]) == 0
    script = tmp_path / "tfrecord.py"
    script.write_text(script.read_text() + '\nSCHEMA = {"ids": ("int64", 1), "text": "bytes"}\n')
    output = ["--output", str(tmp_path / "out"), "--workers", "1", "--quiet"]
    assert main(["convert", str(script), *output, "--", "--files", source, "--tasks_per_file", "2"]) == 0
    found: list[Any] = [(row["ids"], row["text"]) for row in read_rows(str(tmp_path / "out"))]
    assert found == [rows[0], rows[2], rows[1], rows[3]]


def test_templates_read_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    monkeypatch.setenv("FLUIDIO_PFS_ROOT", str(tmp_path))
    for label, folder in enumerate(("n1", "n2")):
        (tmp_path / "images" / folder).mkdir(parents=True)
        (tmp_path / "images" / folder / "0.jpg").write_bytes(folder.encode())
        with (tmp_path / "map.txt").open("a") as file:
            print(folder, label, file=file)
    (tmp_path / "rows.csv").write_text("x,label\n0.5,2\n")
    (tmp_path / "x.jsonl").write_text('{"a": "é"}\n')
    examples(tmp_path / "x.tfrecord", [([1, 2], b"a")])
    found = []
    for template, args in (
        ("imagenet", ["--label_file", "pfs://map.txt", "--image_dir", "pfs://images"]),
        ("csv", ["--csv_file", "pfs://rows.csv", "--tasks", "1"]),
        ("jsonl", ["--files", "pfs://x.jsonl"]),
        ("tfrecord", ["--files", "pfs://x.tfrecord"]),
    ):
        (tmp_path / "to" / template).mkdir(parents=True)
        assert run(tmp_path / "to" / template, template, *args) == 0
        found += list(read_rows(str(tmp_path / "to" / template / "out")))
    assert [row["data"] for row in found[:2]] == [b"n1", b"n2"]
    assert found[2]["label"] == 2
    assert found[3] == {"a": "é"}
    assert found[4]["ids"].tolist() == [1, 2]
