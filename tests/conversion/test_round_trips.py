"""Any rows through any formats and back: bit for bit, with names and types, or refused with a sentence."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidio.conversion import generate, read_rows
from fluidio.conversion.export import export
from fluidio.errors import ConversionError
from tests.conversion.servers import need

TEMPLATE = """
import pickle

def task_number():
    return 1

def dict_data(task):
    with open({path!r}, "rb") as file:
        yield from pickle.load(file)
"""
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
INT = st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(allow_nan=False)
TEXT = st.text(max_size=5)
BYTES = st.one_of(st.binary(max_size=6), st.sampled_from([b"\xff\xd8\xff\0", b"\x89PNG\r\n\x1a\n", b"BM", b"GIF8"]))
SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "int": INT,
    "float": FLOAT,
    "bool": st.booleans(),
    "str": TEXT,
    "bytes": BYTES,
    "ints": st.lists(INT, max_size=4),
    "floats": st.lists(FLOAT, max_size=4),
    "strings": st.lists(TEXT, max_size=3),
    "byte strings": st.lists(BYTES, max_size=3),
    "lists": st.lists(st.lists(INT, max_size=3), max_size=3),
}
NAMES = st.sampled_from([*"xyz", "名前", "a b", "a.b", "x.lod_0", "file", "record", "npy", "cls", "UPPER", "__key__"])
FORMATS = ["npz", "tfrecord", "webdataset", "parquet", "arrow"]


def array(draw: Callable[..., Any], dtype: str, shape: tuple[int, ...]) -> Any:
    """Draw an array of any bits, in either byte order."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = draw(st.binary(min_size=size, max_size=size))
    if dtype == "bool":
        return (np.frombuffer(raw, np.uint8) & 1).astype(bool).reshape(shape)
    found = np.frombuffer(raw, dtype).reshape(shape)
    found = np.nan_to_num(found, nan=1.5) if found.dtype.kind == "f" else found
    return found.astype(found.dtype.newbyteorder(">")) if draw(st.booleans()) else found


@st.composite
def values(draw: Callable[..., Any]) -> Callable[[], Any]:
    """Draw what makes the values of one slot."""
    kind = draw(st.sampled_from([*SIMPLE, "array", "arrays", "scalar"]))
    if kind in SIMPLE:
        return lambda: draw(SIMPLE[kind])
    dtype = draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(st.integers(0 if kind == "array" else 1, 3), min_size=1, max_size=3)))
    if kind == "array":
        return lambda: array(draw, dtype, shape)
    if kind == "scalar":
        return lambda: array(draw, dtype, (1,))[0]
    return lambda: [array(draw, dtype, shape) for _ in range(draw(st.integers(0, 3)))]


@st.composite
def tables(draw: Callable[..., Any]) -> list[dict[str, Any]]:
    makers = draw(st.dictionaries(NAMES, values(), min_size=1, max_size=3))
    return [{name: make() for name, make in makers.items()} for _ in range(draw(st.integers(1, 5)))]


def bits(value: Any) -> Any:
    """Return a value so that equal means the same type and the same bits."""
    if isinstance(value, (np.ndarray, np.generic)):
        native = np.asarray(value).astype(value.dtype.newbyteorder("="))
        return native.dtype.name, value.shape, native.tobytes()
    if isinstance(value, list):
        return [bits(item) for item in value]
    return type(value), np.float64(value).tobytes() if isinstance(value, float) else value


def listed(prefix: str) -> list[Any]:
    return [[(name, bits(value)) for name, value in row.items()] for row in read_rows(prefix)]


@pytest.mark.parametrize("there", FORMATS)
@settings(max_examples=20, deadline=None)
@given(table=tables(), partitions=st.integers(1, 3), via=st.sampled_from(["", *FORMATS]))
def test_rows_survive_every_journey(there: str, table: list[dict[str, Any]], partitions: int, via: str) -> None:
    if {there, via} & {"parquet", "arrow"}:
        need("pyarrow")
    folder = tempfile.mkdtemp()
    try:
        journey(folder, table, partitions, [there, via] if via and via != there else [there])
    finally:
        shutil.rmtree(folder)


def journey(folder: str, table: list[dict[str, Any]], partitions: int, stops: list[str]) -> None:
    (Path(folder) / "rows.pickle").write_bytes(pickle.dumps(table))
    template = Path(folder) / "template.py"
    template.write_text(TEMPLATE.format(path=f"{folder}/rows.pickle"))
    try:
        generate(str(template), f"{folder}/in/x", partitions, workers=1)
    except ConversionError as error:
        assert "the first lists are all empty" in str(error)
        return
    expected = [[(name, bits(value)) for name, value in row.items()] for row in table]
    expected = [row for part in range(partitions) for row in expected[part::partitions]]
    assert listed(f"{folder}/in/x") == expected
    here = f"{folder}/in"
    try:
        for number, stop in enumerate([*stops, "recordio"]):
            export(f"{here}/x-*-of-*", stop, f"{folder}/{number}")
            here = f"{folder}/{number}"
    except ConversionError as error:
        assert "would be stored as" in str(error)
        return
    assert listed(f"{here}/x") == expected


def made(tmp_path: Path, row: dict[str, Any]) -> str:
    (tmp_path / "rows.pickle").write_bytes(pickle.dumps([row]))
    template = tmp_path / "template.py"
    template.write_text(TEMPLATE.format(path=str(tmp_path / "rows.pickle")))
    generate(str(template), str(tmp_path / "in" / "x"), 1, workers=1)
    return str(tmp_path / "in" / "x-*-of-*")


@pytest.mark.parametrize(
    ("to", "row"),
    [
        ("npz", {"x": [[1], [2]], "x.lod_0": 1}),
        ("npz", {"__slots__": 1}),
        ("npz", {"a\0b": 1}),
        ("webdataset", {"x": [[1], [2]], "x.lod_0": 1}),
        ("webdataset", {"": 1}),
        ("webdataset", {"a\0b": 1}),
        ("tfrecord", {"x": [[1], [2]], "x/lod_0": 1}),
    ],
)
def test_names_that_would_not_be_found_again_are_refused(to: str, row: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="rename the slot with --names"):
        export(made(tmp_path, row), to, str(tmp_path / to))
    assert not list((tmp_path / to).glob("x-*"))
