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
        ("a.txt", "raise SystemExit", "a.txt is not a template"),
        ("a.json", "[]", "a.json is not a template"),
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


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("id\n12345678901234567890\n", "id: 12345678901234567890 in row 0 would be rounded to 1.2345678901234567e+19"),
        ("x\n0.5\n9007199254740993\n", "x: 9007199254740993 in row 1 would be rounded"),
        ("y,x\n1,0.5\n2, -9007199254740993\n", "x: -9007199254740993 in row 1 would be rounded"),
    ],
)
def test_whole_numbers_of_csv_files_are_not_rounded(
    data: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need("pyarrow")
    (tmp_path / "a.csv").write_text(data)
    output = str(tmp_path / "out" / "x")
    assert main(["convert", str(tmp_path / "a.csv"), "--output", output, "--workers", "1", "--quiet"]) == 1
    said = capsys.readouterr().err
    assert text in said and "-- --text" in said
    assert not list((tmp_path / "out").glob("x*"))


def test_large_numbers_that_floats_hold_come_in(tmp_path: Path) -> None:
    need("pyarrow")
    data = "x,y\n0.5,1e300\n9007199254740994,-18446744073709551616\n12345678901234567890.5,-1\n"
    rows = converted(tmp_path, "a.csv", data)
    assert [row["x"] for row in rows] == [0.5, 9007199254740994.0, 12345678901234567890.5]
    assert [row["y"] for row in rows] == [1e300, -(2.0**64), -1.0]


def test_globs_are_expanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_text(f'{{"a": {number}}}\n')
    words = ["--output", str(tmp_path / "out" / "x"), "--workers", "1"]
    assert main(["convert", str(tmp_path / "*.jsonl"), *words]) == 0
    assert [row["a"] for row in read_rows(str(tmp_path / "out" / "x"))] == [0, 1, 2]
    assert main(["convert", str(tmp_path / "*.nothing"), *words]) == 1
    assert "no file matches" in capsys.readouterr().err


def test_a_file_that_has_changed_is_not_taken_for_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    assert converted(tmp_path, path.name, '{"a": 1}\n') == [{"a": 1}]
    command = ["convert", str(path), "--output", str(tmp_path / "out" / "x"), "--workers", "1"]
    capsys.readouterr()
    assert main(command) == 0
    assert "Everything was already there from an earlier run; --restart makes it again." in capsys.readouterr().out
    path.write_text('{"a": 2}\n{"a": 3}\n')
    assert main(command) == 1
    assert "input files or partitions differ" in capsys.readouterr().err
    assert main([*command, "--restart"]) == 0
    assert list(read_rows(str(tmp_path / "out" / "x"))) == [{"a": 2}, {"a": 3}]
