"""CSV and JSON lines of others, without a template: nothing is lost, and errors name the file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from fluidio.cli import main
from fluidio.conversion import read_rows
from fluidio.recordio import load
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
        ("a.jsonl", '{"a": 1, "a": 2}', "a.jsonl, row 0: line 1: the key 'a' appears twice"),
        ("a.jsonl", '{"a": 1}\n{"b": 1}', "a.jsonl, row 1: the row lacks a and has the new b"),
        ("a.jsonl", "{}", "a.jsonl, row 0: the first row is an empty dict"),
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


def test_dates_and_times_are_text(tmp_path: Path) -> None:
    need("pyarrow")
    data = "n,day,at,time\n1,2020-01-02,2020-01-02 10:00:00,10:00:00\n2,,2021-01-02 10:00:00,11:00:00\n"
    assert converted(tmp_path, "a.csv", data) == [
        {"n": 1, "day": "2020-01-02", "at": "2020-01-02 10:00:00", "time": "10:00:00"},
        {"n": 2, "day": "", "at": "2021-01-02 10:00:00", "time": "11:00:00"},
    ]


def test_another_delimiter_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("pyarrow")
    (tmp_path / "a.csv").write_text("a;b\n1;x\n")
    assert main(["convert", str(tmp_path / "a.csv"), "--output", str(tmp_path / "x"), "--workers", "1"]) == 1
    assert "its only column is called 'a;b': `-- --delimiter ';'`" in capsys.readouterr().err
    assert converted(tmp_path, "a.csv", "a;b\n1;x\n", "--", "--delimiter", ";") == [{"a": 1, "b": "x"}]
    assert converted(tmp_path, "a.csv", "a|b\n1|x\n", "--restart", "--", "--text", "a|b") == [{"a|b": "1|x"}]
    with pytest.raises(AssertionError):
        converted(tmp_path, "a.csv", "a,b\n", "--restart", "--", "--delimiter", "ab")
    said = capsys.readouterr().err
    assert "'ab' is not one character" in said and "does not take these arguments: --files" in said


@pytest.mark.parametrize(
    ("data", "more", "values"),
    [
        ("1 2.5 3", [], [1.0, 2.5, 3.0]),
        ("1 2", [], [1, 2]),
        ("1 2", ["--floats", "a"], [1.0, 2.0]),
        ("[] [1] [[0.5]]", None, None),
        ("[] [1] [0.5]", [], [[], [1.0], [0.5]]),
        ("1 null 2.5", ["--nulls", "drop"], [1.0, 2.5]),
        ("1 null 2", ["--nulls", "7"], [1, 7, 2]),
        ('"x" null', ["--nulls", "n/a"], ["x", "n/a"]),
    ],
)
def test_fractions_and_nulls_of_json_lines(
    data: str, more: list[str] | None, values: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f'{{"a": {value}}}\n' for value in data.split())
    if more is None:
        with pytest.raises(AssertionError):
            converted(tmp_path, "a.jsonl", lines)
        return
    found = [row["a"] for row in converted(tmp_path, "a.jsonl", lines, "--", *more)]
    assert [(type(value), value) for value in found] == [(type(value), value) for value in values]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("null", "line 2: a is null; tensors have no null: `-- --nulls drop` leaves"),
        (str(2**53 + 1), "9007199254740993 is not a float64"),
    ],
)
def test_values_that_json_lines_cannot_keep(
    line: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AssertionError):
        converted(tmp_path, "a.jsonl", f'{{"a": 0.5}}\n{{"a": {line}}}\n')
    assert said in capsys.readouterr().err


def parquet(folder: Path, **tables: dict[str, Any]) -> list[str]:
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, columns in tables.items():
        pq.write_table(pa.table(columns), str(folder / f"{name}.parquet"))
    return [str(folder / f"{name}.parquet") for name in tables]


def test_tables_without_rows_keep_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("pyarrow")
    import pyarrow as pa

    none = {"a": pa.array([], pa.int64()), "s": pa.array([], pa.string())}
    odd = {"a": pa.array([], pa.float64()), "s": pa.nulls(0)}
    empty, strange, full = parquet(tmp_path, empty=none, strange=odd, full={"a": [1], "s": ["x"]})
    out = str(tmp_path / "out" / "x")
    assert main(["convert", empty, "--output", out, "--workers", "1"]) == 0
    assert [(name, len(column.lod)) for name, column in load(out + "-*-of-*", named=True).items()] == [
        ("a", 0),
        ("s", 1),
    ]
    assert "0 records (a, s)" in capsys.readouterr().out
    assert main(["inspect", out + "-00000-of-00000"]) == 0
    shown = capsys.readouterr().out
    assert "columns  a, s, as the manifest says" in shown and "There are no records." in shown
    assert main(["export", out + "-*-of-*", "--to", "parquet", "--output", str(tmp_path / "back")]) == 0
    assert pq_schema(tmp_path / "back" / "x-00000-of-00000.parquet") == {"a": "int64", "s": "string"}
    # The types of no rows are a guess of whoever wrote them.
    assert main(["convert", empty, strange, full, "--output", out, "--workers", "1", "--restart"]) == 0
    assert list(read_rows(out)) == [{"a": 1, "s": "x"}]


def pq_schema(path: Path) -> dict[str, str]:
    import pyarrow.parquet as pq

    return {field.name: str(field.type) for field in pq.read_schema(str(path))}


def test_tables_that_differ_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = parquet(tmp_path, one={"a": [1], "s": ["x"]}, other={"a": [1]})
    assert main(["convert", one, other, "--output", str(tmp_path / "out" / "x"), "--workers", "1"]) == 1
    said = capsys.readouterr().err
    assert f"the rows of {other} have a: int64" in said and f"those of {one} have a: int64" in said


def test_lists_three_levels_deep_come_in(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": [[[1], []], [[2, 3]]]}, {"a": []}, {"a": [[]]}]
    (path,) = parquet(tmp_path, deep={"a": [row["a"] for row in rows]})
    out = str(tmp_path / "out" / "x")
    assert main(["convert", path, "--output", out, "--workers", "1", "--partitions", "2"]) == 0
    assert sorted(read_rows(out), key=repr) == sorted(rows, key=repr)


def test_a_table_without_columns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("pyarrow")
    import pyarrow as pa

    path = str(tmp_path / "a.arrow")
    table = pa.table({"a": [1, 2]}).select([])
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    for words in (["convert", path], ["export", path, "--to", "recordio"]):
        assert main([*words, "--output", str(tmp_path / words[0])]) == 1
        assert "a table without columns" in capsys.readouterr().err


def test_the_help_of_a_template_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = parquet(tmp_path, a={"a": [1]})
    with pytest.raises(SystemExit) as ended:
        main(["convert", path, "--output", str(tmp_path / "x"), "--", "--help"])
    assert not ended.value.code
    shown = capsys.readouterr()
    assert "--nulls drop|VALUE" in shown.out and not shown.err


def test_a_file_that_has_changed_is_not_taken_for_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    assert converted(tmp_path, path.name, '{"a": 1}\n') == [{"a": 1}]
    command = ["convert", str(path), "--output", str(tmp_path / "out" / "x"), "--workers", "1"]
    capsys.readouterr()
    assert main(command) == 0
    assert "Everything was already there from an earlier run; --restart makes it again." in capsys.readouterr().out
    path.write_text('{"a": 2}\n{"a": 3}\n')
    assert main(command) == 1
    assert "other arguments, input files or partitions" in capsys.readouterr().err
    assert main([*command, "--restart"]) == 0
    assert list(read_rows(str(tmp_path / "out" / "x"))) == [{"a": 2}, {"a": 3}]
