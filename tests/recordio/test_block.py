"""Slices, permutations and concatenations of blocks say the same as doing it record by record."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio.recordio import Column, RecordBlock
from fluidio.recordio.decode.columnar import _stack
from fluidio.tensor import lod as lod_math
from tests.recordio.strategies import Tensor, alike, same


def merged(records: list[list[Tensor]]) -> list[Tensor]:
    """Return the batch of some records, the plain way."""
    return [
        (np.concatenate([r[slot][0] for r in records]), lod_math.merge([r[slot][1] for r in records]))
        for slot in range(len(records[0]))
    ]


@given(alike(), st.data())
def test_a_slice_is_the_batch_of_its_records(records: list[list[Tensor]], data: st.DataObject) -> None:
    block = _stack(records)
    start = data.draw(st.integers(0, len(records) - 1))
    stop = data.draw(st.integers(start + 1, len(records)))
    part = block.slice(start, stop)
    assert same(part.tensors(), merged(records[start:stop]))
    assert same(part.slice(0, 1).tensors(), records[start])


@given(alike(), st.data())
def test_take_is_the_batch_of_the_chosen_records(records: list[list[Tensor]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(records) - 1), min_size=1, max_size=8))
    part = _stack(records).take(chosen)
    assert len(part) == len(chosen)
    assert same(part.tensors(), merged([records[i] for i in chosen]))
    for position, index in enumerate(chosen):
        assert same(part.slice(position, position + 1).tensors(), records[index])


@given(alike(), st.data())
def test_concat_undoes_slicing(records: list[list[Tensor]], data: st.DataObject) -> None:
    block = _stack(records)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=4)))
    edges = [0, *cuts, len(records)]
    pieces = [block.slice(a, b) for a, b in itertools.pairwise(edges)]
    whole = RecordBlock.concat(pieces)
    assert len(whole) == len(records)
    assert same(whole.tensors(), block.tensors())
    assert all(same(whole.slice(i, i + 1).tensors(), record) for i, record in enumerate(records))


def test_a_slice_shares_memory() -> None:
    block = RecordBlock([Column(np.zeros((10, 3)))])
    block.slice(2, 5).columns[0].data[0] = 1
    assert block.columns[0].data[2].tolist() == [1, 1, 1]


def test_the_block_tells_columns_how_many_records_there_are() -> None:
    block = RecordBlock([Column(np.zeros((20, 1)))], 10)
    assert block.columns[0].rows_per_record == 2
    assert block.slice(3, 5).columns[0].data.shape == (4, 1)
    with pytest.raises(ValueError, match="cannot be divided into 7 records"):
        RecordBlock([Column(np.zeros((20, 1)))], 7)


def test_blocks_of_other_layouts_refuse_to_be_stacked() -> None:
    plain = RecordBlock([Column(np.zeros((4, 3), np.float32))])
    with pytest.raises(ValueError, match=r"slot 0 is float32 \(rows, 3\) in some, float64 \(rows, 3\) in others"):
        RecordBlock.concat([plain, RecordBlock([Column(np.zeros((4, 3)))])])
    with pytest.raises(ValueError, match=r"float32 \(rows, 2\)"):
        RecordBlock.concat([plain, RecordBlock([Column(np.zeros((4, 2), np.float32))])])
    with pytest.raises(ValueError, match="1 LoD levels"):
        offsets = np.arange(5)
        RecordBlock.concat([plain, RecordBlock([Column(np.zeros((4, 3), np.float32), offsets, (offsets,))])])
    with pytest.raises(ValueError, match="records of 1 tensors and records of 2"):
        RecordBlock.concat([plain, RecordBlock([*plain.columns, *plain.columns])])


def test_slices_are_clipped_and_may_be_empty() -> None:
    block = RecordBlock([Column(np.arange(4).reshape(4, 1))])
    assert len(block.slice(2, 99)) == 2
    assert len(block.slice(4, 9)) == 0
    assert block.take([]).columns[0].data.shape == (0, 1)
