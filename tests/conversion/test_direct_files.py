"""CSV and JSON lines of others, without a template: nothing is lost, and errors name the file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from fluidio.cli import main
from fluidio.conversion import read_rows
from tests.conversion.servers import need


def converted(folder: Path, name: str, data: str | bytes, *more: str) -> list[dict[str, Any]]:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    assert main(["convert", str(path), "--output", str(folder / "out" / "x"), "--workers", "1", "--quiet", *more]) == 0
    return list(read_rows(str(folder / "out" / "x")))


@pytest.mark.parametrize(
    ("name", "data", "rows"),
    [
        ("a.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n", [{"a": 1, "b": "x"}]),
        ("é ü.csv", '名,b\n1,"q""q,\n\n"\n', [{"名": 1, "b": 'q"q,\n\n'}]),
        ("a.csv.gz", gzip.compress(b"a\n1\n"), [{"a": 1}]),
        ("a.TSV", "a\tb\n1\tx,y\n", [{"a": 1, "b": "x,y"}]),
        ("a.csv", "a,b\n1,NA\n2,\n3,x\n", [{"a": 1, "b": "NA"}, {"a": 2, "b": ""}, {"a": 3, "b": "x"}]),
    ],
)
def test_csv_files_come_in(name: str, data: Any, rows: Any, tmp_path: Path) -> None:
    need("pyarrow")
    assert converted(tmp_path, name, data) == rows


def test_line_breaks_in_values_survive_in_large_files(tmp_path: Path) -> None:
    need("pyarrow")
    lines = [f'"{number} {"x" * 50}","one\ntwo, {number}"\n' for number in range(150_000)]  # more than a block
    rows = converted(tmp_path, "a.csv", "a,b\n" + "".join(lines))
    assert len(rows) == len(lines)
    assert all(row["b"] == f"one\ntwo, {number}" for number, row in enumerate(rows))


def test_columns_of_digits_may_be_text(tmp_path: Path) -> None:
    need("pyarrow")
    data = "zip,id\n01234,12345678901234567890\n"
    assert converted(tmp_path, "a.csv", data, "--", "--text", "zip,id") == [
        {"zip": "01234", "id": "12345678901234567890"}
    ]


@pytest.mark.parametrize(
    ("name", "data", "rows"),
    [
        ("a.jsonl", b'\xef\xbb\xbf{"a": 1}\n\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ("a.ndjson.gz", gzip.compress(b'{"a": "x"}\n'), [{"a": "x"}]),
    ],
)
def test_json_lines_come_in(name: str, data: Any, rows: Any, tmp_path: Path) -> None:
    assert converted(tmp_path, name, data) == rows


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.csv", "a,b\n1,\xe9\n".encode("latin-1"), "a.csv, row 0: b: its text is not UTF-8"),
        ("a.csv", "a,a\n1,2\n", "a.csv, row 0: a: several columns have this name"),
        ("a.csv", "a,b\n1,2,3\n", "a.csv, row 0: CSV parse error"),
        ("a.csv", "a,b\n,x\n2,y\n", "a.csv, row 0: a: 1 values are null"),
        ("a.jsonl", '{"a": 1, "a": 2}', "a.jsonl, row 0: line 1: the key 'a' is there twice"),
        ("a.jsonl", '{"a": 1}\n{"b": 1}', "a.jsonl, row 1: the row lacks a and has the new b"),
        ("a.jsonl", "{}", "a.jsonl, row 0: the first row has no names"),
        ("a.jsonl", '{"a": 1}\n{', "a.jsonl, row 1: line 2: "),
        ("a.txt", "raise SystemExit", "a.txt is no template"),
        ("a.json", "[]", "a.json is no template"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(
    name: str, data: Any, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.endswith(".csv"):
        need("pyarrow")
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    assert main(["convert", str(path), "--output", str(tmp_path / "x"), "--workers", "1", "--quiet"]) == 1
    said = capsys.readouterr().err
    assert text in said and said.count("\n") == 1


def test_rounded_numbers_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    need("pyarrow")
    assert converted(tmp_path, "a.csv", "id\n12345678901234567890\n") == [{"id": 12345678901234567890.0}]
    assert "id: whole numbers of more than 64 bits are read as floats" in capfd.readouterr().err
