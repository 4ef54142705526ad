"""In era 1.8 gradients read what a variable holds at last; the numbers are those of the real 1.8.5."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.program import Variable


def _weight(name: str | None = None) -> fluid.ParamAttr:
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.Constant(0.1))


def _hidden(x: Variable, size: int) -> Variable:
    return layers.fc(x, size, param_attr=_weight(), bias_attr=False)


def queue_of_keys(x: Variable) -> Variable:
    keys = layers.create_global_var([3, 4], 1.0, "float32", persistable=True)
    loss = layers.mean(layers.matmul(_hidden(x, 3), keys))
    layers.assign(layers.scale(keys, 2.0), keys)
    return loss


def parameter(x: Variable) -> Variable:
    weight = layers.create_parameter([3, 4], "float32", attr=_weight("p"))
    loss = layers.mean(layers.matmul(_hidden(x, 3), weight))
    layers.assign(layers.scale(weight, 0.5), weight)
    return loss


def centers(x: Variable) -> Variable:
    centers = layers.create_global_var([4, 4], 0.3, "float32", persistable=True)
    ids = layers.assign(np.array([1, 3], "int64"))
    near = layers.gather(centers, ids)
    apart = layers.elementwise_sub(_hidden(x, 4), near)
    moved = layers.elementwise_add(near, layers.scale(apart, 0.5))
    moved.stop_gradient = True
    layers.assign(layers.scatter(centers, ids, moved), centers)
    return layers.mean(layers.square(apart))


def counter(x: Variable) -> Variable:
    count = layers.create_global_var([1], 2.0, "float32", persistable=True)
    first = layers.elementwise_mul(_hidden(x, 4), count)
    layers.increment(count, 1.0)
    return layers.mean(layers.elementwise_mul(first, count))


def reshaped(x: Variable) -> Variable:
    hidden = _hidden(x, 4)
    squares = layers.square(hidden)
    layers.reshape(hidden, [4, 2], inplace=True)
    return layers.mean(squares)


def named_twice(x: Variable) -> Variable:
    """Make two values of one name, as layers do whose unique names start again."""
    with fluid.unique_name.guard():
        first = layers.square(_hidden(x, 4))
    losses = layers.mean(layers.tanh(first))
    with fluid.unique_name.guard():
        fluid.unique_name.generate("fc_0.w")
        second = layers.square(layers.scale(_hidden(x, 4), 2.0))
    return layers.elementwise_add(losses, layers.mean(second))


def assigned(x: Variable) -> Variable:
    hidden = _hidden(x, 4)
    before = layers.mean(layers.tanh(hidden))
    layers.assign(layers.square(hidden), hidden)
    return layers.elementwise_add(before, layers.mean(hidden))


def _losses(net: Callable[[Variable], Variable]) -> list[float]:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        loss = net(fluid.data("x", [2, 3]))
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"x": np.arange(6, dtype="float32").reshape(2, 3)}
        return [float(exe.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(2)]


REAL = [
    (queue_of_keys, [2.25, -20.4]),
    (parameter, [0.225, 0.0605859]),
    (centers, [0.405, 0.277425]),
    (counter, [4.5, -47.025]),
    (reshaped, [0.765, 0.0944157]),
    (named_twice, [3.551728, 60.17847]),
    (assigned, [1.327484, 1.0192497]),
]


@pytest.mark.filterwarnings("ignore:op .* overwrites")
@pytest.mark.parametrize(("net", "losses"), REAL)
def test_gradients_read_the_last_value(net: Callable[[Variable], Variable], losses: list[float]) -> None:
    with fluid.use_era("1.8"):
        np.testing.assert_allclose(_losses(net), losses, rtol=1e-5)


def test_other_eras_read_the_value_that_the_op_saw() -> None:
    with fluid.use_era("1.5"):
        np.testing.assert_allclose(_losses(queue_of_keys), [2.25, -7.95], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:op mul.* overwrites")
def test_two_values_of_one_name_have_a_warning() -> None:
    with (
        fluid.use_era("1.8"),
        pytest.warns(UserWarning, match=r"op square, built at .* overwrites .*a name of its own"),
    ):
        _losses(named_twice)
