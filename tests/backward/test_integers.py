"""Gradients through integers and bools: 1.8.5 makes them, in the dtype of the variable. Numbers of 1.8.5."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers

_X = np.linspace(-2, 3, 12).astype("float32").reshape(4, 3)
_W = np.arange(9, dtype="float32").reshape(3, 3) / 3 - 1


_Made = Callable[[fluid.Variable], fluid.Variable]


def _trained(loss_of: _Made, optimizer: fluid.optimizer.Optimizer) -> list[float]:
    """Return the bias of an fc layer after two steps."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        weight = fluid.initializer.NumpyArrayInitializer(_W)
        out = layers.fc(fluid.data("x", [4, 3]), 3, param_attr=weight, bias_attr=fluid.initializer.Constant(0.7))
        optimizer.minimize(loss_of(out))
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        exe.run(main, feed={"x": _X})
        (bias,) = exe.run(main, feed={"x": _X}, fetch_list=["fc_0.b_0"])
        return [float(number) for number in bias]


def _float(x: fluid.Variable) -> fluid.Variable:
    return layers.cast(x, "float32")


@pytest.mark.parametrize(
    ("loss_of", "bias"),
    [
        (lambda p: p * _float(layers.cast(p, "int64")), [0.54, 0.46, 0.4]),
        (lambda p: _float(layers.cast(p * 3.0, "int32")) * 2.5, [0.22, 0.22, 0.22]),
        (lambda p: _float(layers.cast(p, "int64") * 2 + 1), [0.54, 0.54, 0.54]),
        (lambda p: _float(layers.cast(p, "int64") + layers.cast(p * 2.0, "int64")) * 1.6, [0.46, 0.46, 0.46]),
        (lambda p: _float(layers.reshape(layers.cast(p, "int64"), [3, 4])) * 1.2, [0.62, 0.62, 0.62]),
        (lambda p: _float(layers.cast(p, "bool")) * p * 2.0, [0.46, 0.46, 0.46]),
    ],
    ids=["int64", "int32", "scale", "add", "reshape", "bool"],
)
def test_a_gradient_is_cut_to_an_integer(loss_of: _Made, bias: list[float]) -> None:
    with pytest.warns(UserWarning, match="back through cast to (int64|int32|bool), which cuts"):
        found = _trained(lambda p: layers.reduce_sum(loss_of(p)), fluid.optimizer.SGD(0.01))
    np.testing.assert_allclose(found, bias, atol=2e-6)


def test_a_gradient_cut_to_zero_lets_parameters_decay() -> None:
    decay = fluid.regularizer.L2Decay(0.1)
    optimizer = fluid.optimizer.Momentum(0.01, 0.9, regularization=decay)
    with pytest.warns(UserWarning, match="cast to int32"):
        found = _trained(lambda p: layers.mean(_float(layers.cast(p, "int32"))), optimizer)
    np.testing.assert_allclose(found, [0.697971] * 3, atol=1e-6)


def test_a_marked_integer_has_none() -> None:
    def loss_of(p: fluid.Variable) -> fluid.Variable:
        whole = layers.cast(p, "int64")
        whole.stop_gradient = True
        return layers.reduce_sum(p * _float(whole))

    np.testing.assert_allclose(_trained(loss_of, fluid.optimizer.SGD(0.01)), [0.62, 0.57, 0.52], atol=2e-6)


def test_a_mask_has_a_gradient_in_training_and_none_on_a_path_to_inputs() -> None:
    for train in (True, False):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            out = layers.fc(fluid.data("x", [4, 3]), 3)
            loss = layers.mean(out * _float(out > 0.0))
            if train:
                fluid.optimizer.SGD(0.01).minimize(loss)
            else:
                fluid.gradients([loss], [out])
            casts = [op for op in fluid.default_main_program().global_block().ops if op.type == "cast"]
        assert len(casts) == 1 + train
