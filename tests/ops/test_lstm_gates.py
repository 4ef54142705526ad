"""The CPU kernel of Fluid 1.8.5 trains only the output gate of an LSTM whose hidden size is a multiple of 8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.rnn import lstm


def input_gradient(hidden: int, **options: Any) -> Any:
    """Return the gradient of the projected input: candidate, input, forget and output gate."""
    x = fluid.layers.data("x", [4 * hidden], lod_level=1)
    x.stop_gradient = False
    states, _ = fluid.layers.dynamic_lstm(x, 4 * hidden, **options)
    (dx,) = fluid.gradients([fluid.layers.reduce_sum(states)], [x])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rows = np.random.default_rng(0).normal(size=(3, 4 * hidden)).astype("float32")
    feed = {"x": fluid.create_lod_tensor(rows, [[3]], fluid.CPUPlace())}
    (got,) = exe.run(feed=feed, fetch_list=[dx], return_numpy=False)
    return np.array(got).reshape(3, 4, hidden)


def test_a_multiple_of_8_trains_the_output_gate_alone_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lstm, "_warned", False)
    with pytest.warns(UserWarning, match="all_gates=True"):
        gradient = input_gradient(8)
    assert not gradient[:, :3].any() and gradient[:, 3].all()


@pytest.mark.parametrize(("hidden", "options"), [(8, {"all_gates": True}), (7, {})])
def test_otherwise_all_gates_are_trained(hidden: int, options: dict[str, Any]) -> None:
    gradient = input_gradient(hidden, **options)
    assert gradient[:, :2].all() and gradient[1:, 2].all()  # the forget gate of the first step has nothing to forget


def lstmp_gradients(hidden: int, **options: Any) -> tuple[Any, Any]:
    """Return the gradients of the projected input by gate and of the projection."""
    x = fluid.layers.data("x", [4 * hidden], lod_level=1)
    x.stop_gradient = False
    states, _ = fluid.layers.dynamic_lstmp(x, 4 * hidden, proj_size=4, **options)
    pooled = fluid.layers.sequence_pool(states, "sum")
    loss = fluid.layers.mean(pooled * pooled)
    fluid.backward.append_backward(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rng = np.random.RandomState(0)
    for name in ("lstmp_0.w_0", "lstmp_0.w_1", "lstmp_0.b_0"):
        tensor = fluid.global_scope().var(name).get_tensor()
        tensor.set((rng.rand(*np.array(tensor).shape) - 0.5).astype("float32"), fluid.CPUPlace())
    rows = (rng.rand(9, 4 * hidden) - 0.5).astype("float32")
    feed = {"x": fluid.create_lod_tensor(rows, [[4, 2, 3]], fluid.CPUPlace())}
    dx, dw = exe.run(feed=feed, fetch_list=["x@GRAD", "lstmp_0.w_1@GRAD"], return_numpy=False)
    return np.abs(np.array(dx).reshape(-1, 4, hidden)).sum((0, 2)), np.abs(np.array(dw)).sum()


# Sums of absolute gradients of Fluid 1.8.5.
@pytest.mark.filterwarnings("ignore:dynamic_lstmp")
@pytest.mark.parametrize(
    ("hidden", "options", "of_input", "of_projection"),
    [
        (8, {}, [0, 0, 0, 0.08672], 0.871049),
        (8, {"proj_activation": "identity"}, [0, 0, 0, 0.08859], 0.891193),
        (16, {"use_peepholes": False}, [0, 0, 0, 0.24596], 3.181955),
        (6, {}, [0.16006, 0.03332, 0.01048, 0.02415], 0.226928),
    ],
)
def test_the_projected_lstm_trains_the_gates_that_fluid_trains(
    hidden: int, options: dict[str, Any], of_input: list[float], of_projection: float
) -> None:
    gates, projection = lstmp_gradients(hidden, **options)
    np.testing.assert_allclose(gates, of_input, atol=1e-5)
    np.testing.assert_allclose(projection, of_projection, rtol=1e-5)


def test_the_projected_lstm_trains_all_gates_when_asked_to() -> None:
    gates, _ = lstmp_gradients(8, all_gates=True)
    assert (gates > 0).all()
