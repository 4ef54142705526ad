"""The activations of recurrent ops have the bits of Fluid's vector kernels, in C and in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.ops.sequence import vector_gates

_NUMBERS = np.concatenate(
    [np.random.RandomState(0).randn(301) * scale for scale in (1e-4, 1.0, 10.0, 100.0)] + [np.array([np.inf, -np.inf])]
).astype("float32")
# What 1.8.5 makes of four numbers of 2e-5 ... 6e-4 in a layer of 8: all of them multiples of 2 ** -24.
_SMALL = np.linspace(1e-5, 3e-4, 8).astype("float32")
_STATES = [5.006790161e-06, 2.574920654e-05, 4.643201828e-05, 6.711483002e-05]


@pytest.mark.parametrize("apply", [vector_gates.tanh, vector_gates.sigmoid], ids=lambda apply: apply.__name__)
def test_c_and_numpy_give_the_same_bits(apply: Callable[[Any, Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    found, plain = _NUMBERS.copy(), _NUMBERS.copy()
    apply(np, found)
    monkeypatch.setattr(vector_gates, "compiled", None)
    apply(np, plain)
    assert found.tobytes() == plain.tobytes()


def test_they_are_near_the_true_values() -> None:
    small, gates = _NUMBERS.copy(), _NUMBERS.copy()
    vector_gates.tanh(np, small)
    vector_gates.sigmoid(np, gates)
    np.testing.assert_allclose(small, np.tanh(_NUMBERS), atol=2e-7)
    np.testing.assert_allclose(gates, 1 / (1 + np.exp(-np.clip(_NUMBERS, -40, 13).astype(float))), atol=2e-7)


def test_parts_of_an_array_are_replaced_in_place() -> None:
    numbers = np.random.RandomState(1).randn(3, 5, 8).astype("float32")
    expected = numbers.copy()
    vector_gates.tanh(np, expected)
    view = numbers[:, 1:4]
    vector_gates.tanh(np, view)
    assert (numbers[:, 1:4] == expected[:, 1:4]).all()
    assert (numbers[:, 0] != expected[:, 0]).all()
    column = numbers[0, :, 0]
    vector_gates.sigmoid(np, column)
    assert (numbers[0, :, 0] > 0).all()


def test_small_states_of_a_gru_and_an_lstm_are_those_of_the_original() -> None:
    weight = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.0))
    x, x4 = layers.data("x", [24], lod_level=1), layers.data("x4", [32], lod_level=1)
    state = layers.dynamic_gru(x, 8, param_attr=weight, bias_attr=False, origin_mode=True)
    _, cell = layers.dynamic_lstm(x4, 32, use_peepholes=False, param_attr=weight)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    values, values4 = np.zeros((1, 24), "float32"), np.zeros((1, 32), "float32")
    values[0, 16:] = values4[0, :8] = _SMALL
    feed = {
        "x": fluid.create_lod_tensor(values, [[1]], fluid.CPUPlace()),
        "x4": fluid.create_lod_tensor(values4, [[1]], fluid.CPUPlace()),
    }
    found = exe.run(feed=feed, fetch_list=[state, cell], return_numpy=False)
    for states in found:
        np.testing.assert_allclose(np.array(states)[0, :4], _STATES, rtol=1e-6)
