"""Rows of Python values come back from tensor records as they were."""

from __future__ import annotations

import gc
import io
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.conversion import generate, read_rows
from fluidio.conversion.reading import rows_of
from fluidio.conversion.rows import RowBuffer, slots_of
from fluidio.errors import ConversionError
from fluidio.recordio import Writer
from tests.conversion.templates import MIXED, write

INT = st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(allow_nan=False)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": INT,
    "float": FLOAT,
    "bool": st.booleans(),
    "bytes": st.binary(max_size=20),
    "str": st.text(max_size=10),
    "ints": st.lists(INT, min_size=1, max_size=5),
    "floats": st.lists(FLOAT, min_size=1, max_size=5),
    "strings": st.lists(st.text(max_size=4), min_size=1, max_size=4),
    "byte strings": st.lists(st.binary(max_size=4), min_size=1, max_size=4),
    "lists": st.lists(st.lists(INT, min_size=1, max_size=3), min_size=1, max_size=4),
}


def there_and_back(rows: list[dict[str, Any]], chunk: int, schema: Any = None) -> list[dict[str, Any]]:
    slots = slots_of(rows[0], schema)
    buffer = RowBuffer(slots, chunk, 1 << 20)
    out = io.BytesIO()
    with Writer(out, max_num_records=chunk) as writer:
        for row in rows:
            if buffer.add(row):
                writer.write_block(buffer.take())
        if buffer.rows:
            writer.write_block(buffer.take())
    out.seek(0)
    return list(rows_of(out, slots))


def test_a_buffer_is_freed_with_its_last_reference() -> None:
    buffer = RowBuffer(slots_of({"x": "text"}), 10, 1 << 20)
    buffer.add({"x": "y" * 1000})
    seen = weakref.ref(buffer)
    gc.collect()
    gc.disable()
    try:
        del buffer
        assert seen() is None
    finally:
        gc.enable()


@given(st.data())
def test_every_kind_of_value_comes_back(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True))
    rows = data.draw(st.lists(st.fixed_dictionaries({n: VALUES[n] for n in names}), min_size=1, max_size=12))
    found = there_and_back(rows, data.draw(st.integers(1, 5)))
    assert found == rows
    assert [{n: type(row[n]) for n in names} for row in found] == [{n: type(row[n]) for n in names} for row in rows]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_arrays_come_back_bit_by_bit(dtype: str) -> None:
    random = np.random.default_rng(0)
    rows = [{"x": (random.normal(size=(2, 3)) * 50).astype(dtype)} for _ in range(7)]
    found = there_and_back(rows, 3)
    assert all(
        a["x"].dtype == b["x"].dtype and np.array_equal(a["x"], b["x"]) for a, b in zip(found, rows, strict=True)
    )


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (2,), (2, 3), (1, 1)])
def test_lists_of_arrays_come_back_bit_by_bit(dtype: str, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    rows = [{"x": [(random.normal(size=shape) * 50).astype(dtype) for _ in range(count)]} for count in (2, 0, 1, 3)]
    found = there_and_back(rows, 3)
    for row, expected in zip(found, rows, strict=True):
        assert [(a.dtype, a.tolist()) for a in row["x"]] == [(a.dtype, a.tolist()) for a in expected["x"]]


@pytest.mark.parametrize(
    "value",
    [
        [np.array([2**53 + 1, 1]), np.array([0.5, 1])],
        [[2**53 + 1, 1], [0.5, 1]],
    ],
)
def test_arrays_among_fractions_do_not_lose_whole_numbers(value: Any) -> None:
    with pytest.raises(ConversionError, match="not a float64"):
        there_and_back([{"x": [np.array([0.5, 1.5])]}, {"x": value}], 3)


def test_an_array_that_is_filled_again_is_stored_as_it_was() -> None:
    shared, out = np.zeros(2), []
    buffer = RowBuffer(slots_of({"x": shared}), 10, 1 << 20)
    for number in range(3):
        shared[:] = number
        buffer.add({"x": shared})
        out.append([float(number)] * 2)
    assert buffer.take().columns[0].data.tolist() == out


def test_numbers_of_numpy_come_back_as_numbers() -> None:
    rows = [{"x": np.float32(n / 2), "y": np.int64(n), "z": np.bool_(n % 2)} for n in range(2)]
    found = there_and_back(rows, 3)
    assert found == rows
    assert [[type(value) for value in row.values()] for row in found] == [[np.float32, np.int64, np.bool_]] * 2


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ("uint8", 200, 200),
        ("int64", 3, 3),
        ("int64", np.array([3]), [3]),
        (("uint8", 1), [1, 200], [1, 200]),
        (("uint8", 2), [[1], [200, 3]], [[1], [200, 3]]),
        (("uint8", 2), [b"ab"], [b"ab"]),
        (("int8", 1), [-128, 127], [-128, 127]),
        (("str", 2), ["a", "é"], ["a", "é"]),
        (("bytes", 2), [], []),
        ("float16", 2.5, 2.5),
    ],
)
def test_a_schema_is_followed(schema: Any, value: Any, found: Any) -> None:
    back = there_and_back([{"x": value}], 3, {"x": schema})[0]["x"]
    assert (back.tolist() if isinstance(back, np.ndarray) else back) == found
    assert isinstance(back, np.ndarray) == isinstance(value, np.ndarray)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ("int8", 300, "x: 300 does not fit int8"),
        ("uint8", -1, "x: -1 does not fit uint8"),
        (("int8", 1), [1, -129], "x: -129 does not fit int8"),
        (("int64", 1), [2**63], f"x: {2**63} does not fit int64"),
        ("float32", 1e300, "x: a number of float64 does not fit float32"),
        ("int64", 1.5, "x: numbers of float64, but SCHEMA says int64"),
        ("nonsense", 1, "x: SCHEMA says 'nonsense': .*'nonsense'"),
        (("int64", 1, 2), 1, r"x: SCHEMA must give a dtype, or .* got \('int64', 1, 2\)"),
        ("uint16", 1, "x: a tensor cannot hold uint16"),
    ],
)
def test_what_does_not_fit_a_schema_is_refused(schema: Any, value: Any, text: str) -> None:
    with pytest.raises(ConversionError, match=text):
        there_and_back([{"x": value}], 3, {"x": schema})


def test_a_schema_is_a_dict() -> None:
    with pytest.raises(ConversionError, match="SCHEMA must be a dict, .* got list"):
        slots_of({"x": 1}, ["x"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "later", "text"),
    [
        ("a", b"\xff", "but the first row holds str"),
        (b"a", "b", "but the first row holds bytes"),
        (["a"], [b"b"], "but the first row holds str"),
        ([b"a"], ["b"], "but the first row holds bytes"),
        (1.5, 2**53 + 1, f"{2**53 + 1} is not a float64"),
        ([1.5], [2**53 + 1], "float64 cannot hold exactly"),
        ([1], [2**63], f"{2**63} does not fit int64"),
        (np.zeros(2, np.uint16), None, "a tensor cannot hold uint16"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused(first: Any, later: Any, text: str) -> None:
    with pytest.raises(ConversionError, match=f"x: .*{text}"):
        there_and_back([{"x": first}, {"x": later}], 3)


def test_lists_that_are_filled_again_are_stored_as_they_were() -> None:
    shared = np.zeros(2, np.int64)
    buffer = RowBuffer(slots_of({"x": [1, 2]}), 10, 1 << 20)
    for number in range(2):
        shared[:] = number
        buffer.add({"x": shared})
    assert buffer.take().columns[0].data.ravel().tolist() == [0, 0, 1, 1]


def test_the_rows_of_a_generated_data_set(tmp_path: Path) -> None:
    generate(write(tmp_path, MIXED), str(tmp_path / "x"), 2, workers=1)
    rows = list(read_rows(str(tmp_path / "x")))
    assert len(rows) == sum(20 + task for task in range(7))
    row = rows[7]
    assert row["image"].shape == (4, 5)
    assert (row["label"], row["weight"], row["good"]) == (7, 0.1 * 7, False)
    assert (row["name"], row["raw"]) == ("0/7 é", bytes(range(7)))
    assert (row["tokens"], row["words"], row["pairs"]) == ([0, 1, 2], ["", "x"], [[1, 2], [7]])
    with pytest.raises(ConversionError, match="no manifest"):
        next(read_rows(str(tmp_path / "nothing")))


def test_tasks_without_rows_are_fine(tmp_path: Path) -> None:
    text = "def task_number():\n    return 3\ndef dict_data(task):\n    yield from [{'x': 1}] * (task == 1)\n"
    manifest = generate(write(tmp_path, text), str(tmp_path / "x"), 3, workers=1)
    assert [shard["records"] for shard in manifest["shards"]] == [0, 1, 0]
    assert list(read_rows(str(tmp_path / "x"))) == [{"x": 1}]
