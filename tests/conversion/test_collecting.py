"""Rows collected in C and in Python give the same columns, and the same errors for values that do not fit."""

from __future__ import annotations

import collections
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.conversion import collecting, generate, read_rows
from fluidio.conversion.rows import RowBuffer, slots_of
from fluidio.errors import ConversionError
from fluidio.recordio import RecordBlock, Writer
from tests.conversion.templates import write

pytestmark = pytest.mark.skipif(
    collecting.compiled is None, reason="there was no C compiler when fluidio was installed"
)


class _Whole(int):
    pass


class _Text(str):
    pass


FIRST: list[tuple[Any, Any]] = [  # the value of the first row, and what SCHEMA says if there is one
    *((value, None) for value in (5, 1.5, True, "text", b"bytes", [1, 2], [1.5], [True], (1, 2), ["a"], [b"a"])),
    *((value, None) for value in (np.zeros((2, 3)), np.float32(1), np.int64(1), np.zeros(1), np.zeros((2, 0)))),
    ([[1], [2, 3]], None),
    ([[0.5]], None),
    ([[], [], [1]], None),
    ([np.zeros(2)], None),
    *((3, dtype) for dtype in ("int8", "uint8", "int16", "int32", "int64", "float32", "float64")),
    *(([1], (dtype, 1)) for dtype in ("int8", "uint8", "int16", "int32", "int64", "float16", "float64")),
    *(([1.5], (dtype, 1)) for dtype in ("float32", "float64")),
    ([[1, 2]], ("int32", 2)),
    ([[1, 2]], ("int32", 1)),
    (True, "bool"),
    ("a", str),
    (b"a", bytes),
    (["a"], (str, 2)),
    (np.float32(2), "float32"),
    (np.zeros(3, "f4"), "float32"),
]
_PLAIN: list[Any] = [
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    32768,
    -(2**31),
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**70),
    10**400,
]
_PLAIN += [
    0.5,
    -0.0,
    1e39,
    -1e308,
    float("inf"),
    float("nan"),
    True,
    False,
    None,
    "",
    "é",
    "\ud800",
    _Text("a"),
    _Whole(3),
]
_PLAIN += [
    b"",
    b"ab",
    bytearray(b"c"),
    memoryview(b"d"),
    1j,
    {},
    np.int8(3),
    np.float32(2.5),
    np.float64(1e300),
    np.bool_(1),
]
_ARRAYS: list[Any] = [
    np.arange(3),
    np.arange(3.0),
    np.zeros((2, 3)),
    np.zeros((2, 3)).T,
    np.zeros(3, ">f8"),
    np.zeros(3, "f4"),
]
_ARRAYS += [
    np.zeros(1),
    np.zeros(()),
    np.zeros((0,)),
    np.zeros((2, 0)),
    np.ma.masked_array([1, 2], [False, True]),
    np.zeros(3, "u1"),
]
_ARRAYS += [np.zeros((2, 1), "i8"), np.zeros(2, "i4"), np.array(["a"]), np.array([None]), np.ones((1, 3), "f4")]
ITEM = st.sampled_from([*_PLAIN, *_ARRAYS])
LIST = st.lists(ITEM, max_size=4) | st.lists(st.integers(-200, 200), max_size=4) | st.lists(st.floats(), max_size=4)
VALUE = ITEM | LIST | LIST.map(tuple) | st.lists(LIST, max_size=3) | st.lists(st.text(max_size=3), max_size=3)


def told(block: RecordBlock) -> list[Any]:
    return [
        (c.data.dtype, c.data.shape, c.data.tobytes(), c.offsets().tolist(), [level.tolist() for level in c.lod])
        for c in block.columns
    ]


def collected(first: dict[str, Any], schema: Any, rows: list[dict[str, Any]], limits: tuple[int, int]) -> list[Any]:
    buffer = RowBuffer(slots_of(first, schema), *limits)
    found: list[Any] = []
    for row in [first, *rows]:
        try:
            if buffer.add(row):
                found.append(told(buffer.take()))
        except ConversionError as error:
            found.append((str(error), buffer.rows))
            break  # nothing is written behind an error
    return [*found, told(buffer.take())] if not found or isinstance(found[-1], list) else found


def written(first: dict[str, Any], schema: Any, rows: list[dict[str, Any]], *, direct: bool) -> tuple[bytes, list[str]]:
    """Return the file that rows become, and the errors of those that it lacks."""
    buffer, file, errors = RowBuffer(slots_of(first, schema), 3, 500, for_writing=direct), io.BytesIO(), []
    with Writer(file, "none", 3, max_chunk_bytes=600) as writer:
        for row in [first, *rows]:
            try:
                full = buffer.add(row)
            except ConversionError as error:
                errors.append(str(error))
                continue
            if full and direct:
                buffer.write(writer)
            elif full:
                writer.write_block(buffer.take())
        buffer.write(writer)
    return file.getvalue(), errors


def in_python(function: Any, *args: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collecting, "compiled", None)
        return function(*args)


@given(st.data())
def test_c_and_python_collect_the_same(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(FIRST), min_size=1, max_size=3))
    first = {f"x{number}": value for number, (value, _) in enumerate(chosen)}
    schema = {f"x{number}": said for number, (_, said) in enumerate(chosen)}
    if any(said is None for said in schema.values()):
        schema = None  # type: ignore[assignment]
    like = st.fixed_dictionaries({name: st.just(value) | VALUE for name, value in first.items()})
    rows = data.draw(st.lists(st.just(first) | like, max_size=6))
    limits = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([1, 50, 1 << 20]))
    try:
        slots_of(first, schema)
    except ConversionError:
        return
    assert collected(first, schema, rows, limits) == in_python(collected, first, schema, rows, limits)
    assert written(first, schema, rows, direct=True) == written(first, schema, rows, direct=False)


@pytest.mark.parametrize("first", ["text", b"bytes", [1, 2], [0.5], ["a", "b"], [[1], [2, 3]], np.zeros((2, 2))])
def test_records_of_any_length_are_those_of_columns(first: Any) -> None:
    lengths = [0, 1, 127, 128, 5, 300, 127, 16383, 16384, 1, 0, 40000, 3]
    rows = [{"n": 1, "x": first if isinstance(first, np.ndarray) else first * length} for length in lengths]
    rows[4:4] = [{"n": 2, "x": object()}, {"n": "odd", "x": first}, {"x": first}]
    found, errors = written({"n": 0, "x": first}, None, rows, direct=True)
    assert (found, errors) == written({"n": 0, "x": first}, None, rows, direct=False) and len(errors) == 3


@pytest.mark.parametrize("row", [{}, {"a": 1}, {"b": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}, {1: 2, 3: 4}])
def test_other_names_are_refused_in_the_same_words(row: dict[Any, Any]) -> None:
    first = {"a": 1, "b": 2}
    found = collected(first, None, [row], (10, 100))
    assert found == in_python(collected, first, None, [row], (10, 100))
    assert "all rows need the names of the first: a, b" in found[0][0]


def test_names_may_come_in_any_order_and_in_other_mappings() -> None:
    buffer = RowBuffer(slots_of({"a": 1, "b": 2.5}), 10, 1 << 20)
    names = "a b".replace("a", "a").split()  # equal, not the same objects
    rows: tuple[Mapping[str, Any], ...] = (
        {"b": 0.5, "a": 3},
        dict(zip(names, (4, 1.5))),
        collections.OrderedDict(b=2.5, a=5),
        collections.ChainMap[str, Any]({"a": 6}, {"b": 3.5}),
    )
    for row in rows:
        buffer.add(row)
    assert [column.data.ravel().tolist() for column in buffer.take().columns] == [[3, 4, 5, 6], [0.5, 1.5, 2.5, 3.5]]


def test_fill_stops_at_what_is_no_dict_and_when_it_is_full() -> None:
    def rows() -> Iterator[Any]:
        yield from ({"a": number} for number in range(3))
        yield None
        yield from ({"a": number} for number in range(3, 8))

    for make in (RowBuffer, lambda *args: in_python(RowBuffer, *args)):
        buffer, source = make(slots_of({"a": 1}), 4, 1 << 20), rows()
        assert buffer.fill(source) == (None,) and buffer.rows == 3
        assert buffer.fill(source) is True and buffer.take().columns[0].data.ravel().tolist() == [0, 1, 2, 3]
        assert buffer.fill(source) is True and len(buffer.take()) == 4
        assert buffer.fill(source) is False and buffer.rows == 0


def test_a_whole_number_that_a_list_of_fractions_would_round_is_refused() -> None:
    buffer = RowBuffer(slots_of({"x": [0.5]}), 10, 1 << 20)
    buffer.add({"x": [0.5, 2**53]})
    with pytest.raises(ConversionError, match=f"x: {2**53 + 1} is not a float64"):
        buffer.add({"x": [0.5, 2**53 + 1]})


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_template_may_change_between_rows_and_columns(tmp_path: Path, partitions: int) -> None:
    text = """
import collections
import io
from fluidio.conversion.columns import Columns
def mindrecord_task_number():
    return 1

def mindrecord_dict_data(task_id):
    yield {"a": 0, "t": "x"}
    yield {"a": 1, "t": "y"}
    yield Columns(a=[2, 3, 4], t=["p", "q", "r"])
    yield collections.OrderedDict(t="z", a=5)
    for number in range(6, 25):
        yield {"a": number, "t": str(number)}
    yield Columns(a=[25], t=["end"])
"""
    generate(write(tmp_path, text), str(tmp_path / "out"), partitions=partitions, workers=1)
    rows = list(read_rows(str(tmp_path / "out")))
    texts = {0: "x", 1: "y", 2: "p", 3: "q", 4: "r", 5: "z", 25: "end"}
    wanted = [(number, texts.get(number, str(number))) for number in range(26)]
    assert sorted((row["a"], row["t"]) for row in rows) == wanted


def test_the_number_of_a_bad_row_is_told(tmp_path: Path) -> None:
    text = """
def mindrecord_task_number():
    return 1

def mindrecord_dict_data(task_id):
    for number in range(2500):
        yield {"a": number if number != 2345 else "odd"}
"""
    with pytest.raises(ConversionError, match=r"row 2345: a: str 'odd', but the first row holds int64"):
        generate(write(tmp_path, text), str(tmp_path / "out"), partitions=1, workers=1)


ODD_ROWS: list[tuple[Any, Any, Any, str]] = [  # the first value, SCHEMA, a later value, what the error says
    (np.zeros(1), None, np.array([2**53 + 1]), "float64 cannot hold exactly"),
    (np.float64(1), None, np.int64(2**53 + 1), "float64 cannot hold exactly"),
    (1.5, None, np.uint64(2**63 + 1), "float64 cannot hold exactly"),
    ([1.5], None, [np.int64(2**53 + 1), 2.5], "is not a float64"),
    ([1.5], None, [2**63 - 1], "float64 cannot hold exactly"),
    ([1.5], None, bytearray(b"ab"), "numbers are expected"),
    (np.zeros(2), None, bytearray(b"ab"), "numbers are expected"),
]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(("first", "said", "later", "text"), ODD_ROWS)
def test_whole_numbers_are_not_rounded(
    first: Any, said: Any, later: Any, text: str, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plain:
        monkeypatch.setattr(collecting, "compiled", None)
    buffer = RowBuffer(slots_of({"x": first}, said), 10, 1000)
    buffer.add({"x": first})
    with pytest.raises(ConversionError, match=f"^x: .*{text}"):
        buffer.add({"x": later})


@pytest.mark.parametrize("plain", [False, True])
def test_lists_take_arrays_of_any_memory_order(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if plain:
        monkeypatch.setattr(collecting, "compiled", None)
    rows = np.arange(6.0).reshape(2, 3)
    buffer = RowBuffer(slots_of({"x": rows}, {"x": ("float64", 1)}), 10, 1000)
    for array in (rows, np.asfortranarray(rows), np.asfortranarray(rows.astype("f4")), rows[::-1], rows.astype(">f8")):
        buffer.add({"x": array})
    assert buffer.take().columns[0].data.tolist() == np.concatenate([rows, rows, rows, rows[::-1], rows]).tolist()


@pytest.mark.parametrize("plain", [False, True])
def test_arrays_without_items_fill_a_chunk_by_their_number(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if plain:
        monkeypatch.setattr(collecting, "compiled", None)
    buffer = RowBuffer(slots_of({"x": np.zeros((0, 3))}), 5, 1)
    assert [buffer.add({"x": np.zeros((0, 3))}) for _ in range(5)] == [False] * 4 + [True]
    assert buffer.take().columns[0].data.shape == (5, 0, 3)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"abc", ("int64", 1)),
        (b"\x00\x01", ("bool", 1)),
        ("abc", ("float32", 1)),
        (b"abc", "int32"),
        (bytearray(b"abc"), "float32"),
        ([[1], [2, 3]], ("int64", 1)),
        ([[1], [2, 3]], "int64"),
        ([[1], 5], None),
        ([np.zeros(2), np.zeros(3)], "float32"),
        ([1, [2]], None),
    ],
)
def test_a_first_value_that_does_not_go_with_its_slot_is_named(value: Any, said: Any) -> None:
    row = {"x": value}
    with pytest.raises(ConversionError, match="^x: "):
        RowBuffer(slots_of(row, None if said is None else {"x": said}), 5, 100).add(row)
