"""Gradients as ops of the program."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


def value(fetch: list[object], **feed: object) -> list[np.ndarray]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch)


def test_a_variable_used_twice_sums_its_gradients() -> None:
    x = fluid.layers.data("x", [2])
    x.stop_gradient = False
    y = fluid.layers.mean(x * x + x)
    fluid.backward.append_backward(y)
    assert "sum" in [op.type for op in fluid.default_main_program().global_block().ops]
    data = np.array([[1.0, 3.0]], "float32")
    (dx,) = value(["x@GRAD"], x=data)
    np.testing.assert_allclose(dx, (2 * data + 1) / 2)


def test_stop_gradient_cuts_the_path() -> None:
    x = fluid.layers.data("x", [2])
    a = fluid.layers.fc(x, 2, param_attr="a", bias_attr=False)
    a.stop_gradient = True
    loss = fluid.layers.mean(fluid.layers.fc(a, 1, param_attr="b", bias_attr=False))
    pairs = fluid.backward.append_backward(loss)
    assert [p.name for p, _ in pairs] == ["b"]


def test_no_grad_set_takes_names_and_variables() -> None:
    x = fluid.layers.data("x", [2])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    pairs = fluid.backward.append_backward(loss, no_grad_set={"fc_0.b_0"})
    assert [p.name for p, _ in pairs] == ["fc_0.w_0"]


def test_a_parameter_shared_by_two_layers_gets_the_sum() -> None:
    x = fluid.layers.data("x", [2])
    h = fluid.layers.fc(x, 2, param_attr="w", bias_attr=False)
    loss = fluid.layers.mean(fluid.layers.fc(h, 2, param_attr="w", bias_attr=False))
    fluid.backward.append_backward(loss)
    data = np.array([[1.0, 2.0]], "float32")
    w, dw = value(["w", "w@GRAD"], x=data)
    out = np.full((1, 2), 0.5, "float32")
    expected = (data @ w).T @ out + data.T @ (out @ w.T)
    np.testing.assert_allclose(dw, expected, rtol=1e-5)


def test_gradients_with_a_seed_and_a_second_pass() -> None:
    x = fluid.layers.data("x", [2])
    x.stop_gradient = False
    y = fluid.layers.square(x)
    seed = fluid.layers.fill_constant([1, 2], "float32", 10.0)
    (first,) = fluid.gradients([y], [x], target_gradients=[seed])
    data = np.array([[1.0, 3.0]], "float32")
    np.testing.assert_allclose(value([first], x=data)[0], 20 * data)


def _fc(x: fluid.Variable, name: str) -> fluid.Variable:
    attr = fluid.ParamAttr(name=name, initializer=fluid.initializer.Constant(1.0))
    return fluid.layers.fc(x, 1, param_attr=attr, bias_attr=False)


def test_each_minimize_updates_what_its_own_loss_reaches() -> None:
    x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [1])
    hidden = _fc(x, "w")
    losses = [fluid.layers.square_error_cost(hidden, y), _fc(x, "v"), _fc(hidden, "u")]
    pairs = [fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(loss))[1] for loss in losses]
    # names and numbers of Fluid 1.8.5
    assert [[(p.name, g.name) for p, g in found] for found in pairs] == [
        [("w", "w@GRAD")],
        [("v", "v@GRAD")],
        [("w", "grad/grad/grad/w@GRAD"), ("u", "u@GRAD")],
    ]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for _ in range(3):
        exe.run(feed={"x": np.ones((2, 2), "float32"), "y": np.zeros((2, 1), "float32")})
    found = [float(fluid.fetch_var(name).ravel()[0]) for name in ("w", "v", "u")]
    np.testing.assert_allclose(found, [0.062, 0.7, 0.656], atol=1e-6)


def test_two_backward_passes_keep_both_gradients() -> None:
    x = fluid.layers.data("x", [2])
    hidden = _fc(x, "w")
    first = fluid.backward.append_backward(fluid.layers.mean(hidden))
    second = fluid.backward.append_backward(fluid.layers.mean(hidden * hidden * 3.0))
    assert second[0][1].name == "grad/grad/w@GRAD"
    one, two = value([first[0][1], second[0][1]], x=np.ones((1, 2), "float32"))
    assert (one.ravel().tolist(), two.ravel().tolist()) == ([1, 1], [12, 12])


def test_a_loss_on_a_gradient_has_a_gradient() -> None:
    x = fluid.layers.data("x", [2])
    x.stop_gradient = False
    out = fluid.layers.square(_fc(x, "w"))
    (slope,) = fluid.gradients([out], [x])  # 2 (x w) w
    assert slope is not None
    (again,) = fluid.gradients([fluid.layers.reduce_sum(slope)], [x])  # 2 w (w1 + w2)
    (got,) = value([again], x=np.array([[1.0, 2.0]], "float32"))
    np.testing.assert_allclose(got, [[4, 4]])


def test_a_gradient_that_is_a_constant_is_part_of_a_loss() -> None:
    x = fluid.layers.data("x", [2])
    x.stop_gradient = False
    out = fluid.layers.square(_fc(x, "w"))
    (slope,) = fluid.gradients([out], [x])  # 2 (x w) w
    assert slope is not None
    slope.stop_gradient = True
    ((_, dw),) = fluid.backward.append_backward(fluid.layers.mean(out) + fluid.layers.mean(slope))
    first, second = value([slope, dw], x=np.array([[1.0, 2.0]], "float32"))
    np.testing.assert_allclose(first, [[6, 6]])
    np.testing.assert_allclose(second.ravel(), [6, 12])


def test_callbacks_are_called_behind_each_gradient_op() -> None:
    x = fluid.layers.data("x", [2])
    hidden = _fc(x, "w")
    loss = fluid.layers.mean(hidden * hidden)
    calls = []

    def note(block: fluid.framework.Block, context: dict[str, object]) -> None:
        calls.append((block.ops[-1].type, context.get("w@GRAD")))

    fluid.backward.append_backward(loss, callbacks=[note])
    # the sum of the two gradients of hidden is an op too
    assert calls == [("mean_grad", "w"), ("elementwise_mul_grad", "w"), ("sum", "w"), ("mul_grad", "w")]
    with pytest.raises(TypeError, match="callbacks"):
        fluid.backward.append_backward(loss, callbacks=note)  # type: ignore[arg-type]


def test_the_callback_of_error_clips_clips() -> None:
    x = fluid.layers.data("x", [2])
    hidden = _fc(x, "w")
    hidden.error_clip = fluid.clip.ErrorClipByValue(max=0.5)
    fluid.backward.append_backward(fluid.layers.mean(hidden), callbacks=[fluid.clip.error_clip_callback])
    (dw,) = value(["w@GRAD"], x=np.ones((1, 2), "float32"))
    assert dw.ravel().tolist() == [0.5, 0.5]


def test_no_path_gives_none_or_an_empty_list() -> None:
    x, z = fluid.layers.data("x", [2]), fluid.layers.data("z", [2])
    x.stop_gradient = z.stop_gradient = False
    seed = fluid.layers.fill_constant([1, 2], "float32", 1.0)
    assert fluid.gradients([fluid.layers.square(x)], [z], target_gradients=[seed]) == []
    found = fluid.gradients([fluid.layers.square(x)], [x, z], target_gradients=[seed])
    assert found[0] is not None
    assert found[1] is None


def test_a_loss_that_nothing_produces_is_said() -> None:
    with pytest.raises(ValueError, match="no op .* the loss 'x'"):
        fluid.backward.append_backward(fluid.layers.data("x", [1], append_batch_size=False))


def test_minimize_without_parameters_is_said() -> None:
    loss = fluid.layers.mean(fluid.layers.data("x", [1]))
    with pytest.warns(UserWarning, match="no trainable parameter has a gradient"):
        assert fluid.optimizer.SGD(0.1).minimize(loss) == ([], [])


def test_a_loss_of_many_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="fluid.layers.mean"):
        fluid.optimizer.SGD(0.1).minimize(fluid.layers.fc(fluid.layers.data("x", [1]), 2))


def test_what_the_cpp_side_adds_has_no_default_attributes() -> None:
    x = fluid.layers.data("x", [2])
    hidden = _fc(x, "w")
    loss = fluid.layers.mean(hidden * hidden)
    fluid.backward.append_backward(loss)
    ops = {op.type: op for op in fluid.default_main_program().global_block().ops}
    assert "op_role_var" in ops["mean"].attr_names
    assert sorted(ops["mean_grad"].attr_names) == ["op_device", "op_role"]
    assert "op_role_var" not in ops["sum"].attr_names
    assert "op_role_var" in ops["mul_grad"].attr_names


def test_parts_of_sparse_gradients_are_declared_sparse() -> None:
    ids = fluid.layers.data("ids", [1], dtype="int64")
    tables = [fluid.layers.embedding(ids, [10, 4], param_attr="table", is_sparse=True) for _ in range(2)]
    fluid.backward.append_backward(fluid.layers.mean(tables[0] + tables[1]))
    parts = [v for v in fluid.default_main_program().list_vars() if v.name.startswith("table@GRAD")]
    assert {v.type.name for v in parts} == {"SELECTED_ROWS"}
