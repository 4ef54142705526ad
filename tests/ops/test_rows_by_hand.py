"""Sparse rows that a test or a tool puts into a scope, and single ops that run on them."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio import core
from fluidio.errors import EnforceNotMet
from fluidio.op import Operator

CPU = fluid.CPUPlace()


def _rows(scope: core.Scope, name: str, rows: list[int], start: float = 0.0) -> core.SelectedRows:
    held = scope.var(name).get_selected_rows()
    held.set_height(10)
    held.set_rows(rows)
    held.get_tensor().set(np.arange(len(rows) * 2).reshape(len(rows), 2).astype("float32") + start, CPU)
    return held


# Seen on 1.8.5: rows that repeat are merged and sorted, others stay in their order.
SUMS = [
    ([[3, 1, 3]], [1, 3], [[2, 3], [4, 6]]),
    ([[3, 1, 3], []], [1, 3], [[2, 3], [4, 6]]),
    ([[5, 0], [3, 1]], [5, 0, 3, 1], [[0, 1], [2, 3], [10, 11], [12, 13]]),
    ([[5, 0], [5, 5]], [0, 5], [[2, 3], [22, 25]]),
]


@pytest.mark.parametrize(("given", "rows", "values"), SUMS)
def test_a_sum_of_rows_has_each_row_once(given: list[list[int]], rows: list[int], values: list[list[float]]) -> None:
    scope = core.Scope()
    names = [f"x{i}" for i in range(len(given))]
    for i, name in enumerate(names):
        _rows(scope, name, given[i], 10.0 * i)
    out = scope.var("out").get_selected_rows()
    Operator("sum", X=names, Out="out").run(scope, CPU)
    assert out.rows() == rows
    assert out.height() == 10
    assert np.array(out.get_tensor()).tolist() == values


def test_a_table_that_holds_some_rows_is_looked_up_and_trained() -> None:
    scope = core.Scope()
    table = _rows(scope, "w", [3, 1, 7])
    out = scope.var("out").get_tensor()
    for op_type, ids in (("lookup_table", [[1], [7]]), ("lookup_table_v2", [1, 7])):
        scope.var("ids").get_tensor().set(np.array(ids, "int64"), CPU)
        Operator(op_type, W="w", Ids="ids", Out="out").run(scope, CPU)
        assert np.array(out).tolist() == [[2, 3], [4, 5]]
    scope.var("rate").get_tensor().set(np.array([1.0], "float32"), CPU)
    _rows(scope, "g", [7, 3, 7], 1.0)
    Operator("sgd", Param="w", Grad="g", LearningRate="rate", ParamOut="w").run(scope, CPU)
    assert np.array(table.get_tensor()).tolist() == [[-3, -3], [2, 3], [-2, -3]]
    _rows(scope, "g", [9])
    with pytest.raises(EnforceNotMet, match="row 9 is not in the table"):
        Operator("sgd", Param="w", Grad="g", LearningRate="rate", ParamOut="w").run(scope, CPU)


def test_a_constant_fills_a_handle_to_rows() -> None:
    scope = core.Scope()
    rows = scope.var("out").get_selected_rows()
    Operator("fill_constant", Out="out", shape=[4, 3], value=2.0).run(scope, CPU)
    assert rows.height() == 4
    assert rows.rows() == []
    assert np.array(rows.get_tensor()).tolist() == [[2.0] * 3] * 4


def test_a_handle_to_an_array_shows_what_a_run_wrote() -> None:
    scope = core.Scope()
    for name in ("a", "b"):
        array = scope.var(name).get_lod_tensor_array()
        for value in (1.0, 2.0):
            tensor = core.LoDTensor()
            tensor.set(np.full((2, 3), value, "float32"), CPU)
            array.append(tensor)
    out = scope.var("out").get_lod_tensor_array()
    Operator("sum", X=["a", "b"], Out="out").run(scope, CPU)
    assert [float(np.array(out[i])[0, 0]) for i in range(len(out))] == [2.0, 4.0]


def test_data_norm_leaves_out_slots_that_begin_with_zero() -> None:
    """Y and what the batch adds to the sums, as 1.8.5 has them."""
    x = np.array([[1, 2, 3, 0, 5, 6], [0, 1, 2, 3, 4, 5], [2, 0, 1, 1e-8, 7, 8], [3, 3, 3, 4, 4, 4]])
    start = {"batch_size": 10.0, "batch_sum": 5.0, "batch_square": 40.0}
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(core.Scope()):
        given = fluid.data("x", [-1, 6], "float64")
        y = fluid.layers.data_norm(given, slot_dim=3, param_attr=start, name="n")
        fluid.backward.append_backward(fluid.layers.reduce_sum(y * y))
        exe = fluid.Executor(CPU)
        exe.run(startup)
        fetched = [y.name, "n.batch_size@GRAD", "n.batch_sum@GRAD", "n.batch_square_sum@GRAD"]
        out, size, total, squares = exe.run(main, feed={"x": x}, fetch_list=fetched)
    np.testing.assert_allclose(out[1], [0, 0, 0, 1.25, 1.75, 2.25], atol=1e-12)
    np.testing.assert_allclose(size, np.ones(6))
    np.testing.assert_allclose(total, [2.0, 5 / 3, 7 / 3, 3.5, 4.0, 4.5])
    np.testing.assert_allclose(
        squares, [2.9166966666659087, 2.9166966666659087, 4.250029999999242, 9.250019999999495, 12.25002, 16.25002]
    )


def test_bytes_scaled_by_a_number_below_zero_wrap_round() -> None:
    scope = core.Scope()
    scope.var("x").get_tensor().set(np.array([0, 1, 100], "uint8"), CPU)
    out = scope.var("out").get_tensor()
    Operator("scale", X="x", Out="out", scale=-2.3).run(scope, CPU)
    assert np.array(out).tolist() == [0, 254, 56]
