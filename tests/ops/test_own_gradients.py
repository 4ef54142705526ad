"""Gradients that Fluid 1.8.5 has wrong or cannot compute alone, against finite differences or equal ops."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from tests.ops.gradcheck import check_gradient, run_op

L = fluid.layers
EDGES = np.array([[[1, 2], [1, 3], [2, 4], [2, 5], [3, 6]]], "int32")


def test_tree_conv_can_have_the_right_gradient() -> None:
    rng = np.random.default_rng(1)
    inputs = {"NodesVector": rng.normal(size=(1, 6, 3)), "EdgeSet": EDGES, "Filter": rng.normal(size=(3, 3, 2, 2))}
    attrs = {"max_depth": 3, "fluidio_right_gradient": True}
    check_gradient("tree_conv", inputs, ["Out"], attrs, wrt=["NodesVector", "Filter"])


def test_tree_conv_warns_of_the_gradient_it_has_from_fluid() -> None:
    nodes = L.data("nodes", [1, 6, 3], append_batch_size=False)
    edges = L.data("edges", [1, 5, 2], dtype="int32", append_batch_size=False)
    with pytest.warns(UserWarning, match="right_gradient=True"):
        fluid.contrib.layers.tree_conv(nodes, edges, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fluid.contrib.layers.tree_conv(nodes, edges, 2, right_gradient=True)


def test_roll_without_dims_sends_each_gradient_back_to_its_element() -> None:
    x = L.data("x", [3, 4], append_batch_size=False)
    x.stop_gradient = False
    weights = L.data("w", [3, 4], append_batch_size=False)
    out = L.roll(x, shifts=2)
    (dx,) = fluid.gradients(L.reduce_sum(out * weights), x)
    w = np.arange(12, dtype="float32").reshape(3, 4)
    exe = fluid.Executor(fluid.CPUPlace())
    (found,) = exe.run(feed={"x": w, "w": w}, fetch_list=[dx])
    np.testing.assert_array_equal(found, np.roll(w, -2))


def _trained(build: Any, x: Any) -> list[Any]:
    """Return output and gradients of input, scale and bias of a normalisation."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        data = L.data("x", [2, 3, 4, 3], append_batch_size=False)
        data.stop_gradient = False
        start = L.scale(data, scale=1.0)
        out = build(start)
        loss = L.reduce_sum(out * out * 0.3)
        pairs = fluid.backward.append_backward(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        wanted = [loss, "x@GRAD", *(gradient for _, gradient in sorted(pairs, key=lambda p: str(p[0].name)))]
        return list(exe.run(main, feed={"x": x}, fetch_list=wanted))


@pytest.mark.parametrize(("act", "after"), [("identity", L.assign), ("leaky_relu", None), ("elu", None)])
def test_inplace_abn_trains_like_a_batch_norm_and_an_activation(act: str, after: Any) -> None:
    x = np.random.default_rng(3).normal(size=(2, 3, 4, 3)).astype("float32")
    shape: dict[str, Any] = {"param_attr": fluid.ParamAttr(name="s", initializer=fluid.initializer.Constant(0.8))}
    shape["bias_attr"] = fluid.ParamAttr(name="b", initializer=fluid.initializer.Constant(0.1))
    follow = after or (lambda y: getattr(L, act)(y, alpha=0.5))
    apart = _trained(lambda v: follow(L.batch_norm(v, **shape)), x)
    together = _trained(lambda v: L.inplace_abn(v, act=act, act_alpha=0.5, **shape), x)
    for wanted, found in zip(apart, together, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)


def test_sparse_rows_merge_and_give_their_values() -> None:
    ids = L.data("ids", [1], dtype="int64")
    rows = L.embedding(ids, [10, 3], is_sparse=True, param_attr="table")
    pairs = fluid.backward.append_backward(L.reduce_sum(rows * rows))
    merged = L.get_tensor_from_selected_rows(L.merge_selected_rows(pairs[0][1]))
    plain = L.get_tensor_from_selected_rows(pairs[0][1])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"ids": np.array([[4], [2], [4], [0]], "int64")}
    one, all_, table = exe.run(feed=feed, fetch_list=[merged, plain, "table"])
    np.testing.assert_allclose(all_, 2 * table[[4, 2, 4, 0]], rtol=1e-6)
    np.testing.assert_allclose(one, 2 * table[[0, 2, 4]] * [[1], [1], [2]], rtol=1e-6)
    with pytest.raises(TypeError, match="SELECTED_ROWS"):
        L.merge_selected_rows(rows)


def test_rank_attention_multiplies_each_pair_with_its_matrix_and_trains_them() -> None:
    rng = np.random.default_rng(5)
    x, param = rng.normal(size=(3, 2)), rng.normal(size=(2 * 4, 3))
    table = np.array([[1, 1, 0, 2, 1], [2, 1, 0, 2, 1], [0, 0, 0, 0, 0]], "int32")
    inputs = {"X": x, "RankOffset": table, "RankParam": param}
    (out,) = run_op("rank_attention", inputs, ["Out"], {"MaxRank": 2})
    blocks = param.reshape(2, 2, 2, 3)
    wanted = [x[0] @ blocks[0, 0] + x[1] @ blocks[0, 1], x[0] @ blocks[1, 0] + x[1] @ blocks[1, 1], np.zeros(3)]
    np.testing.assert_allclose(np.array(out), wanted, rtol=1e-9)
    check_gradient("rank_attention", inputs, ["Out"], {"MaxRank": 2}, wrt=["RankParam"])


def test_rank_attention_checks_the_shape_of_its_matrices() -> None:
    x = L.data("x", [3, 2], append_batch_size=False)
    table = L.data("table", [3, 5], dtype="int32", append_batch_size=False)
    out = fluid.contrib.layers.rank_attention(x, table, [8, 4], fluid.ParamAttr(name="p"), max_rank=2)
    assert out.shape == (3, 4)
    with pytest.raises(ValueError, match="begin with 8"):
        fluid.contrib.layers.rank_attention(x, table, [9, 4], fluid.ParamAttr(name="q"), max_rank=2)


def test_log1p_writes_where_it_is_told() -> None:
    out = L.create_global_var([2], 0.0, "float32", name="place")
    assert L.log1p(L.fill_constant([2], "float32", 1.0), out=out) is out
    (found,) = fluid.Executor(fluid.CPUPlace()).run(fetch_list=[out])
    np.testing.assert_allclose(found, np.log([2.0, 2.0]), rtol=1e-6)
