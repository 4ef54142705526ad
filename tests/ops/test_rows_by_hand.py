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
    with pytest.raises(EnforceNotMet, match="no row 9"):
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


@pytest.mark.parametrize("optimizer", ["momentum", "adam", "adam lazy", "lamb"])
def test_a_sparse_gradient_without_rows_leaves_everything_as_it_is(optimizer: str) -> None:
    # Fluid: neither moments nor powers change; a gradient of zeros would shrink them.
    op_type, _, lazy = optimizer.partition(" ")
    states = {"momentum": ("Velocity",), "adam": ("Moment1", "Moment2", "Beta1Pow", "Beta2Pow")}
    scope = core.Scope()
    _rows(scope, "Grad", [])
    slots = {"Param": "Param", "Grad": "Grad", "LearningRate": "rate", "ParamOut": "Param"}
    for name in ("Param", "Velocity", "Moment1", "Moment2"):
        scope.var(name).get_tensor().set(np.full((10, 2), 0.5, "float32"), CPU)
    for name in ("rate", "Beta1Pow", "Beta2Pow"):
        scope.var(name).get_tensor().set(np.full(1, 0.5, "float32"), CPU)
    for name in states.get(op_type, states["adam"]):
        slots[name] = name
        if op_type != "lamb" or not name.endswith("Pow"):
            slots[f"{name}Out"] = name
    attrs = {"lazy_mode": bool(lazy)} if op_type == "adam" else {"mu": 0.9} if op_type == "momentum" else {}
    Operator(op_type, **slots, **attrs, **({"weight_decay": 0.1} if op_type == "lamb" else {})).run(scope, CPU)
    for name in ("Param", *states.get(op_type, states["adam"])):
        held = np.array(scope.var(name).get_tensor())
        assert (held == 0.5).all(), name


@pytest.mark.parametrize(("step", "param", "velocity"), [(1.0, 0.86, 1.4), (10.0, 0.95, 1.0)])
def test_dgc_momentum_updates_by_grad_and_gives_each_trainers_share(step: float, param: float, velocity: float) -> None:
    scope = core.Scope()
    held = {"p": 1.0, "g": 0.5, "v": 1.0, "rate": 0.1, "step": step, "ranks": 2.0, "share": 0.0}
    for name, value in held.items():
        scope.var(name).get_tensor().set(np.full(1, value, "float32"), CPU)
    slots = {"Param": "p", "Grad": "g", "Velocity": "v", "LearningRate": "rate", "current_step": "step"}
    outs = {"nranks": "ranks", "ParamOut": "p", "VelocityOut": "v", "Grad_out": "share"}
    Operator("dgc_momentum", **slots, **outs, mu=0.9, rampup_begin_step=5.0).run(scope, CPU)
    found = [float(np.array(scope.var(name).get_tensor())[0]) for name in ("p", "v", "share")]
    assert found == pytest.approx([param, velocity, 0.25])
