"""Columns that others made: every Arrow type and every DataFrame comes in as it is, or is refused by name."""

from __future__ import annotations

import datetime
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.conversion.columns import Columns, block_of
from fluidio.conversion.export import export
from fluidio.conversion.looking import rows
from fluidio.conversion.reading import rows_of
from fluidio.errors import ConversionError
from fluidio.recordio import Writer


@pytest.fixture
def pa() -> Any:
    return pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")


@pytest.fixture
def pd() -> Any:
    return pytest.importorskip("pandas", reason="extra: pandas is not installed")


def values(table: Any, folder: Path) -> list[list[Any]]:
    """Return the rows that come of a table, through an Arrow file and directly."""
    import pyarrow as pa

    path = str(folder / "x.arrow")
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    (made,) = export(path, "recordio", str(folder / "out"))
    found = [[plain(value) for value in row.values()] for row in rows([made])]
    assert found == [[plain(value) for value in row.values()] for row in back(table)]
    return found


def back(columns: Any, declared: Any = None) -> list[dict[str, Any]]:
    slots, block = block_of(columns, declared)
    out = io.BytesIO()
    with Writer(out) as writer:
        writer.write_block(block)
    out.seek(0)
    return list(rows_of(out, slots))


def plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, list) else value


TAKEN = {
    "a dictionary": lambda pa: pa.array(["a", "b", "a"]).dictionary_encode(),
    "numbers in a dictionary": lambda pa: pa.array([5, 6, 5]).dictionary_encode(),
    "lists of a dictionary": lambda pa: pa.ListArray.from_arrays(
        [0, 1, 1, 3], pa.array(["a", "b", "a"]).dictionary_encode()
    ),
    "a view of strings": lambda pa: pa.array(["a", "", "é"], pa.string_view()),
    "a view of bytes": lambda pa: pa.array([b"a", b"", b"\xff"], pa.binary_view()),
    "bytes of one size": lambda pa: pa.array([b"ab", b"cd", b"\xff\0"], pa.binary(2)),
    "pairs of strings": lambda pa: pa.array([["a", "b"], ["c", "d"], ["", "f"]], pa.list_(pa.string(), 2)),
    "lists of pairs": lambda pa: pa.array([[[1, 2]], [], [[3, 4], [5, 6]]], pa.list_(pa.list_(pa.int64(), 2))),
    "three levels": lambda pa: pa.array([[[[1]], []], [], [[[2, 3], []]]]),
    "small numbers in lists": lambda pa: pa.array([[1], [], [2, 3]], pa.list_(pa.int8())),
    "bytes in lists": lambda pa: pa.array([[1], [], [2, 3]], pa.list_(pa.uint8())),
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("part", [False, True])
def test_arrow_columns_come_in_as_they_are(name: str, part: bool, pa: Any, tmp_path: Path) -> None:
    column = TAKEN[name](pa)
    if part:
        column = pa.concat_arrays([column, column])[3:]
    expected = [[value, number] for number, value in enumerate(column.to_pylist())]
    assert values(pa.table({"c": column, "n": pa.array([0, 1, 2])}), tmp_path) == expected


def test_arrow_tensors_keep_their_shape(pa: Any, tmp_path: Path) -> None:
    numbers = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    column = pa.FixedShapeTensorArray.from_numpy_ndarray(numbers)
    assert values(pa.table({"c": column}), tmp_path) == [[each.tolist()] for each in numbers]


REFUSED = {
    "a null in a dictionary": lambda pa: pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
    "a null among pairs": lambda pa: pa.array([[[1, 2], None], [[3, 4]]], pa.list_(pa.list_(pa.int64(), 2))),
    "a null pair": lambda pa: pa.array([[[1, 2], None], [[3, 4], [5, 6]]], pa.list_(pa.list_(pa.int64(), 2), 2)),
    "a date": lambda pa: pa.array([datetime.date(2020, 1, 1)] * 2),
    "a view of lists": lambda pa: pa.array([[1], [2, 3]], pa.list_view(pa.int64())),
    "a struct": lambda pa: pa.array([{"a": 1}] * 2),
    "unsigned": lambda pa: pa.array([1, 65535], pa.uint16()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arrow_columns_that_would_lose_something_are_refused(name: str, pa: Any, tmp_path: Path) -> None:
    table = pa.table({"c": REFUSED[name](pa)})
    with pytest.raises(ConversionError, match="c: "):
        back(table)
    with pytest.raises(ConversionError, match="c: "):
        values(table, tmp_path)


def test_a_column_that_was_changed_since_is_read_as_it_is_now(pa: Any, tmp_path: Path) -> None:
    """Others keep our metadata when they change a file."""
    with Writer(tmp_path / "x.recordio") as writer:
        writer.write_block([np.arange(3), np.arange(3)])
    (path,) = export(str(tmp_path / "x.recordio"), "parquet", str(tmp_path / "there"), names=["a", "b"])
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table = table.set_column(0, "a", pa.array([0.5, 1.5, 2.5])).append_column("new", pa.array(["x", "y", "z"]))
    pq.write_table(table, path)
    (back,) = export(path, "recordio", str(tmp_path / "back"))
    assert list(rows([back])) == [{"a": n + 0.5, "b": n, "new": "xyz"[n]} for n in range(3)]


def test_a_frame_keeps_the_names_of_its_index(pd: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}, index=pd.Index([7, 8], name="id"))
    assert back(frame) == [{"id": 7, "a": 1, "b": "x"}, {"id": 8, "a": 2, "b": "y"}]
    assert back(frame.rename_axis(None)) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


FRAMES = {
    "several columns are called a": lambda pd: pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "several columns are called 0": lambda pd: pd.DataFrame([[1, 2]], columns=["0", 0]),
    "a: 1 values are missing": lambda pd: pd.DataFrame({"a": pd.array([1, None], "Int64")}),
    "b: 1 values are missing": lambda pd: pd.DataFrame({"b": ["x", None]}),
    "a: a tensor cannot hold datetime64": lambda pd: pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
}


@pytest.mark.parametrize("text", FRAMES)
def test_frames_that_would_lose_something_are_refused(text: str, pd: Any) -> None:
    with pytest.raises(ConversionError, match=text):
        back(FRAMES[text](pd))


@pytest.mark.parametrize(
    ("columns", "declared", "text"),
    [
        (Columns(a="xy"), None, "a: a column must be an array or a list"),
        (Columns(a={1, 2}), None, "a: a column must be an array or a list"),
        (Columns(a=np.array(3)), None, "an array of no dims"),
        (Columns(a=np.arange(2)), {"a": "str"}, "an array of int64, but SCHEMA says str"),
        (Columns(dict[Any, Any]({1: np.arange(2)})), None, "the name of a column must be a str, got int 1"),
    ],
)
def test_what_is_no_column_is_refused(columns: Any, declared: Any, text: str) -> None:
    with pytest.raises(ConversionError, match=text):
        block_of(columns, declared)


def test_masked_items_are_refused() -> None:
    with pytest.raises(TypeError, match="masked"):
        block_of(Columns(a=np.ma.array([1, 2], mask=[False, True])))


def test_arrays_of_text_are_text() -> None:
    assert back(Columns(a=np.array(["x", "yy"]), b=np.array([b"x", b"yy"]))) == [
        {"a": "x", "b": b"x"},
        {"a": "yy", "b": b"yy"},
    ]
