"""`minimize` inside a branch: parameters move only when the branch is taken, by the numbers of 1.8.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers

MAKERS: dict[str, Callable[[], Any]] = {
    "adam": lambda: fluid.optimizer.Adam(0.1),
    "momentum": lambda: fluid.optimizer.Momentum(0.1, 0.9),
    "l2": lambda: fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L2Decay(0.1)),
    "schedule": lambda: fluid.optimizer.SGD(L.exponential_decay(0.1, 1, 0.5)),
}
# Sums of the weight after steps with the condition true, false, true, true, false.
OBSERVED = {
    "adam": [-0.5791, -0.5791, -0.3447, -0.083, -0.083],
    "momentum": [-0.5252, -0.5252, -0.4346, -0.3309, -0.3309],
    "l2": [-0.5194, -0.5194, -0.4727, -0.436, -0.436],
    "schedule": [-0.5252, -0.5252, -0.5147, -0.5097, -0.5097],
}


def _weights(signs: tuple[int, ...]) -> list[float]:
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    batch = np.random.RandomState(0).uniform(0.1, 1, (2, 3)).astype("float32")
    seen = []
    for sign in signs:
        exe.run(main, feed={"x": batch * np.float32(sign)})
        seen.append(float(fluid.fetch_var("fc_0.w_0").sum()))
    return seen


def _start() -> tuple[Any, Any]:
    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 1
    x = fluid.data("x", [None, 3])
    return x, L.reduce_sum(x) > 0.0


@pytest.mark.parametrize("loss_inside", [False, True])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_branch_that_is_not_taken_trains_nothing(maker: str, loss_inside: bool) -> None:
    x, positive = _start()
    outer = None if loss_inside else L.reduce_mean(L.square(L.fc(x, 2)))

    def branch() -> None:
        loss = L.reduce_mean(L.square(L.fc(x, 2))) if outer is None else outer
        MAKERS[maker]().minimize(loss)

    with fluid.use_era("1.8"):
        L.cond(positive, branch)
    assert _weights((1, -1, 1, 1, -1)) == pytest.approx(OBSERVED[maker], abs=1e-4)


def test_each_case_trains_by_its_own_rate() -> None:
    x, positive = _start()
    loss = L.reduce_mean(L.fc(x, 2))
    with L.Switch() as switch:
        with switch.case(positive):
            fluid.optimizer.SGD(0.1).minimize(loss)
        with switch.default():
            fluid.optimizer.SGD(0.01).minimize(loss)
    assert _weights((1, -1, 1, -1)) == pytest.approx([-0.76578, -0.74712, -0.93377, -0.91511], abs=1e-4)


def test_gradients_reach_parameters_around_the_branch() -> None:
    x, positive = _start()
    hidden = L.fc(x, 2, bias_attr=False)
    L.cond(positive, lambda: fluid.optimizer.SGD(0.1).minimize(L.reduce_sum(hidden)) and None)
    before, after, kept = _weights((-1, 1, -1))
    assert before != after and after == kept


def test_a_loss_inside_a_branch_is_not_minimized_outside() -> None:
    x, positive = _start()
    inside: list[Any] = []
    L.cond(positive, lambda: inside.append(L.reduce_mean(L.fc(x, 2))))
    with pytest.raises(ValueError, match="computed inside a branch or a loop.*call minimize inside"):
        fluid.optimizer.SGD(0.1).minimize(inside[0])
