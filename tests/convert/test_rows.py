"""Rows of Python values come back from tensor records as they were."""

from __future__ import annotations

import io
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
from tests.convert.templates import MIXED, write

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


def there_and_back(rows: list[dict[str, Any]], chunk: int) -> list[dict[str, Any]]:
    slots = slots_of(rows[0])
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


def test_an_array_that_is_filled_again_is_stored_as_it_was() -> None:
    shared, out = np.zeros(2), []
    buffer = RowBuffer(slots_of({"x": shared}), 10, 1 << 20)
    for number in range(3):
        shared[:] = number
        buffer.add({"x": shared})
        out.append([float(number)] * 2)
    assert buffer.take().columns[0].data.tolist() == out


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
