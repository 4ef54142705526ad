"""SelectedRows: sparse rows add up to the dense matrix."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fluidio.places import CPUPlace
from fluidio.tensor import SelectedRows


@given(st.lists(st.integers(0, 5), max_size=12))
def test_dense_and_merged_are_the_sums(rows: list[int]) -> None:
    values = np.arange(len(rows) * 2, dtype=np.float64).reshape(-1, 2)
    expected = np.zeros((6, 2))
    np.add.at(expected, rows, values)
    sparse = SelectedRows(rows, 6, values)
    np.testing.assert_array_equal(sparse.to_dense(), expected)
    unique, sums = sparse.merged()
    assert unique.tolist() == (sorted(set(rows)) if len(set(rows)) < len(rows) else list(rows))
    np.testing.assert_array_equal(sums, expected[unique])


def test_it_has_fluids_api() -> None:
    sparse = SelectedRows([1, 2, 1], 10)
    assert (sparse.rows(), sparse.height(), sparse.numel(), sparse.get_tensor().shape()) == ([1, 2, 1], 10, 0, [0])
    sparse.set_rows([0])
    sparse.set_height(5)
    sparse.sync_index()
    sparse.get_tensor().set(np.ones((1, 2), np.float32), CPUPlace())
    assert (sparse.rows(), sparse.height(), sparse.numel()) == ([0], 5, 2)
    assert sparse.to_dense().sum() == 2
    assert repr(sparse) == "SelectedRows(height=5, rows=[0])"
