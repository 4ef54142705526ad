"""The CPU kernel of Fluid 1.8.5 trains only the output gate of an LSTM whose hidden size is a multiple of 8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import lstm


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
    monkeypatch.setattr(lstm, "_told", False)
    with pytest.warns(UserWarning, match="all_gates=True"):
        gradient = input_gradient(8)
    assert not gradient[:, :3].any() and gradient[:, 3].all()


@pytest.mark.parametrize(("hidden", "options"), [(8, {"all_gates": True}), (7, {})])
def test_otherwise_all_gates_are_trained(hidden: int, options: dict[str, Any]) -> None:
    gradient = input_gradient(hidden, **options)
    assert gradient[:, :2].all() and gradient[1:, 2].all()  # the forget gate of the first step has nothing to forget
