"""A writer refuses what would be read back as something else, and files that another writer has open."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.errors import RecordIOError
from fluidio.recordio import Column, Writer
from tests.recordio.test_writer import read, written


@pytest.mark.parametrize("second", ["w", "a"])
@pytest.mark.parametrize("first", ["w", "a"])
def test_two_writers_cannot_have_one_file(first: Any, second: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    with Writer(path, mode=first) as writer:
        writer.write(b"x")
        writer.flush()
        with pytest.raises(RecordIOError, match="another writer has this file open"):
            Writer(path, mode=second)
        writer.write(b"y")
    assert read(str(path)) == [b"x", b"y"]
    Writer(path, mode=second).close()
    assert read(str(path)) == ([b"x", b"y"] if second == "a" else [])


def test_a_closed_file_is_free_though_a_forked_process_has_it_open(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a")
    copied = os.dup(writer._sink._fd)  # type: ignore[attr-defined]  # what a fork leaves in the child
    writer.close()
    Writer(tmp_path / "a").close()
    os.close(copied)


@pytest.mark.parametrize("record", [5, True, [1, 2, 3], (1,), 2.5, None, np.int64(5), np.zeros(3), {"a": 1}])
def test_what_is_no_bytes_is_no_record(record: Any, tmp_path: Path) -> None:
    with Writer(tmp_path / "a") as writer, pytest.raises(TypeError, match=f"bytes or str, got {type(record).__name__}"):
        writer.write(record)
    assert read(str(tmp_path / "a")) == []


def test_all_kinds_of_bytes_are_records() -> None:
    view = memoryview(b"cde")
    assert read(io.BytesIO(written([b"a", bytearray(b"b"), view]))) == [b"a", b"b", b"cde"]  # type: ignore[list-item]


@pytest.mark.parametrize("dtype", ["uint16", ">u2", "uint32", "uint64", "complex64", "U3", object])
def test_a_dtype_that_would_come_back_as_another_is_refused(dtype: Any) -> None:
    array = np.ones((3, 1)).astype(dtype)
    with Writer(io.BytesIO()) as writer:
        with pytest.raises(TypeError, match="a tensor cannot hold"):
            writer.write_block([np.zeros((3, 1)), array])
        with pytest.raises(TypeError, match="a tensor cannot hold"):
            writer.write_tensors([(array, ())])
        with pytest.raises(TypeError, match="a tensor cannot hold"):
            writer.write_samples([(array,)])
        assert writer.num_records == 0


@pytest.mark.parametrize("columns", [np.zeros((2, 3)), Column(np.zeros((2, 3))), b"ab", 5])
def test_an_array_is_no_list_of_columns(columns: Any) -> None:
    with Writer(io.BytesIO()) as writer:
        with pytest.raises(TypeError, match=r"write_block\(\) takes a list"):
            writer.write_block(columns)
        with pytest.raises(TypeError, match=r"write_tensors\(\) takes pairs \(array, LoD\)"):
            writer.write_tensors([np.zeros((2, 3))])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("first", "later", "level"),
    [
        (np.array([1], "int32"), np.array([2**40]), 0),
        (np.array([1], "int32"), np.array([2**40]), 1),
        (np.array([1], "float32"), np.array([1e300]), 0),
        ([1, 2], [1.5], 1),
        ([1.5], [None], 1),
        ([[1, 2]], [[1, 2, 3]], 1),
        ([1], 5, 1),
        (0.5, 2**53 + 1, 0),
    ],
)
def test_a_sample_that_the_first_ones_dtype_cannot_hold_is_refused(first: Any, later: Any, level: int) -> None:
    with Writer(io.BytesIO()) as writer, pytest.raises(ValueError, match="slot 0: "):
        writer.write_samples([(first,), (later,)], lod_levels=[level])


def test_a_number_of_a_later_chunk_that_does_not_fit_is_refused() -> None:
    samples = [(np.int8(1),)] * 10 + [(np.int64(300),)]
    with (
        Writer(io.BytesIO(), max_num_records=10) as writer,
        pytest.raises(ValueError, match="300 does not fit int8"),
    ):
        writer.write_samples(samples)


@pytest.mark.parametrize("lod", [((0, 5),), ((0, 2, 1, 3),), ((0, 2),), ((1, 3),), ((0, 1), (0, 1, 3))])
def test_a_lod_that_does_not_go_with_its_rows_is_refused(lod: Any) -> None:
    with Writer(io.BytesIO()) as writer, pytest.raises(ValueError, match="the LoD does not match the tensor"):
        writer.write_tensors([(np.zeros((3, 1)), lod)])


@pytest.mark.parametrize(
    "column",
    [
        Column(np.zeros((3, 1)), np.array([0, 1, 4])),
        Column(np.zeros((3, 1)), np.array([0, 2, 1, 3])),
        Column(np.zeros((3, 1)), np.array([0, 1, 3]), (np.array([0, 1, 2]),)),
        Column(np.zeros((3, 1)), np.array([0, 1, 3]), (np.array([0, 1, 3]), np.array([0, 1, 3]))),
    ],
)
def test_offsets_that_leave_the_rows_are_refused(column: Column) -> None:
    out = io.BytesIO()
    with Writer(out) as writer, pytest.raises(ValueError, match="slot 0: its offsets do not match its 3 rows"):
        writer.write_block([column])
    assert out.getvalue() == b""


@pytest.mark.parametrize("columns", [[np.zeros(2), np.zeros(4)], [np.zeros(2), np.zeros(3)]])
def test_columns_of_unequal_length_are_refused(columns: Any) -> None:
    with Writer(io.BytesIO()) as writer, pytest.raises(ValueError, match="columns have 2, [34] rows"):
        writer.write_block(columns)


def test_masked_items_and_arrays_without_dims_are_refused() -> None:
    masked = np.ma.array([1, 2], mask=[False, True])
    with Writer(io.BytesIO()) as writer:
        for array, text in [(masked, "masked"), (np.array(5.0), "dims|a single")]:
            with pytest.raises(TypeError, match=text):
                writer.write_block([array])
            with pytest.raises(TypeError, match=text):
                writer.write_tensors([(array, ())])
        with pytest.raises(TypeError, match="masked"):
            writer.write_samples([(masked,)])
        with pytest.raises(TypeError, match="a sample must be a tuple"):
            writer.write_samples([5])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("samples", "levels"),
    [
        ([np.zeros(1), np.array([2**53 + 1])], 0),
        ([np.zeros(1), np.array([2**63 - 1])], 0),
        ([np.zeros(1, "f4"), np.array([2**24 + 1])], 0),
        ([np.int64(2**53 + 1), 0.5], 0),
        ([[0.5], [2**53 + 1]], 1),
        ([[0.5, 2**53 + 1]], 1),
        ([[0.5, np.int64(2**53 + 1)]], 1),
    ],
)
def test_whole_numbers_are_not_rounded_among_floats(samples: list[Any], levels: int) -> None:
    text = "slot 0: .*(does not fit|cannot hold)"
    with pytest.raises(ValueError, match=text), Writer(io.BytesIO()) as writer:
        writer.write_samples([(sample,) for sample in samples], lod_levels=[levels])
