"""Gradients through loops: 1.8.5's own in its era, the right ones on request, in other eras, and where 1.8.5 fails."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio.program import Variable
from tests.backward.loop_cases import X, names, run

REAL = json.loads((Path(__file__).parents[1] / "data" / "loops" / "gradients.json").read_text("utf-8"))
FAILS = [name for name in names() if REAL[name] is None]


def _close(found: object, expected: object) -> None:
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-5, atol=1e-6)


def _slope(name: str) -> dict[str, list[float]]:
    """Return how the loss changes with x and w, from values of the loss alone."""
    step = 0.01

    def loss(x: list[float], w: float) -> float:
        return run(fluid, name, x, w, right_gradient=True)["loss"][0]

    by_x = []
    for at in range(len(X)):
        up, down = ([v + sign * step * (i == at) for i, v in enumerate(X)] for sign in (1, -1))
        by_x.append((loss(up, 0.7) - loss(down, 0.7)) / (2 * step))
    return {"x@GRAD": by_x, "w": [(loss(X, 0.7 + step) - loss(X, 0.7 - step)) / (2 * step)]}


def _is_right(found: dict[str, list[float]], name: str) -> None:
    slope = _slope(name)
    np.testing.assert_allclose(found["x@GRAD"], slope["x@GRAD"], rtol=5e-3, atol=5e-3)
    if "w@GRAD" in found:
        np.testing.assert_allclose(sum(found["w@GRAD"]), slope["w"][0], rtol=5e-3, atol=5e-3)


@pytest.mark.filterwarnings("ignore:.*right_gradient")
@pytest.mark.parametrize("name", [name for name in names() if REAL[name] is not None])
def test_a_loop_has_the_gradients_of_1_8(name: str) -> None:
    with fluid.use_era("1.8"):
        found = run(fluid, name)
    assert set(found) == set(REAL[name])
    for one, value in found.items():
        _close(value, REAL[name][one])


@pytest.mark.parametrize("name", names())
def test_a_loop_has_the_right_gradients_on_request(name: str) -> None:
    with fluid.use_era("1.8"), warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*right_gradient")
        found = run(fluid, name, right_gradient=True)
    _is_right(found, name)


@pytest.mark.parametrize("name", FAILS)
def test_a_loop_that_fails_in_1_8_has_the_right_gradients(name: str) -> None:
    with fluid.use_era("1.8"):
        _is_right(run(fluid, name), name)


@pytest.mark.parametrize("name", ["squared While 3", "array 3", "after 2"])
def test_a_loop_of_new_code_has_the_right_gradients(name: str) -> None:
    _is_right(run(fluid, name), name)


@pytest.mark.parametrize(("name", "which"), [("squared While 2", "assign_0.tmp_0"), ("array 2", "array_write_0.out")])
def test_a_loop_tells_which_gradient_is_lost_and_how_to_have_it(name: str, which: str) -> None:
    with fluid.use_era("1.8"), pytest.warns(UserWarning, match=f"{which}.*right_gradient=True"):
        run(fluid, name)


@pytest.mark.parametrize("name", ["scaled While 2", "scaled while_loop 3"])
def test_a_gradient_that_is_lost_is_never_lost_silently(name: str) -> None:
    with fluid.use_era("1.8"), pytest.warns(UserWarning, match="right_gradient=True"):
        run(fluid, name)


def _with_idle_parameters() -> Variable:
    """Build a loss that 1.8.5 drops the loop's gradient for: it pairs the loop's parameters with None."""
    layers = fluid.layers
    x = layers.data("x", [3])
    h, g = layers.fc(x, 3), layers.assign(x)
    i, n = (layers.fill_constant([1], "int64", value) for value in (0, 2))
    goes_on = layers.less_than(i, n)
    with layers.While(goes_on).block():
        inner = layers.fc(g, 3, act="tanh", param_attr="inner_w")
        layers.assign(inner * 0.3, h)
        layers.assign(layers.elementwise_sub(g, h * 0.4), g)
        layers.increment(i, in_place=True)
        layers.less_than(i, n, cond=goes_on)
    return layers.mean(layers.square(layers.fc(h, 2)))


def test_parameters_of_a_dropped_loop_have_no_gradient_but_accumulators_and_a_warning() -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.use_era("1.8"), fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss = _with_idle_parameters()
        with pytest.warns(UserWarning, match=r"fc_0\.tmp_1 does not go through the loop at .*right_gradient=True"):
            _, pairs = fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    assert {p.name: g for p, g in pairs}["inner_w"] is None
    assert "inner_w_velocity_0" in main.global_block().vars


@pytest.mark.filterwarnings("ignore:.*right_gradient")
def test_mixed_precision_trains_what_has_a_gradient() -> None:
    with fluid.use_era("1.8"), fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        optimizer = fluid.contrib.mixed_precision.decorate(fluid.optimizer.SGD(0.1))
        _, pairs = optimizer.minimize(_with_idle_parameters())
    assert "inner_w" not in {p.name for p, _ in pairs}
    assert pairs


def test_a_loop_that_writes_a_variable_first_does_not_read_it_from_outside() -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        i, n = (fluid.layers.fill_constant([1], "int64", value) for value in (0, 2))
        h = fluid.layers.fill_constant([1], "float32", 1.0)
        goes_on = fluid.layers.less_than(i, n)
        with fluid.layers.While(goes_on).block():
            fluid.layers.assign(fluid.layers.cast(i, "float32"), h)
            fluid.layers.tanh(h)
            fluid.layers.increment(i)
            fluid.layers.less_than(i, n, cond=goes_on)
    assert isinstance(h, Variable)
    (loop,) = [op for op in main.global_block().ops if op.type == "while"]
    assert h.name not in loop.input("X")
    assert h.name in loop.output("Out")
