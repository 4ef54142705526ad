"""What 1.8 refuses when objects are made and their methods are called; older eras let it pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers

WRONG: Any = 3
WRONG_NAME: Any = "a"
NOTHING: Any = None


def _floats(name: str = "x", *shape: int) -> Any:
    return fluid.data(name, list(shape or (2, 3)))


def _in_static_rnn(call: Callable[[Any], Any]) -> None:
    rnn = layers.StaticRNN()
    with rnn.step():
        call(rnn)


def _in_dynamic_rnn(call: Callable[[Any], Any]) -> None:
    rnn = layers.DynamicRNN()
    words = fluid.data("words", [-1, 3], lod_level=1)
    with rnn.block():
        rnn.step_input(words)
        call(rnn)


REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "static memory": (TypeError, lambda: _in_static_rnn(lambda rnn: rnn.memory(init=3))),
    "static batch": (TypeError, lambda: _in_static_rnn(lambda rnn: rnn.memory(shape=[2], batch_ref=3))),
    "static name": (TypeError, lambda: layers.StaticRNN(name=WRONG)),
    "dynamic memory": (TypeError, lambda: _in_dynamic_rnn(lambda rnn: rnn.memory(init=3))),
    "dynamic update": (TypeError, lambda: _in_dynamic_rnn(lambda rnn: rnn.update_memory(3, 4))),
    "gru state": (TypeError, lambda: layers.GRUCell(4)(_floats(), fluid.data("h", [2, 4], "int32"))),
    "lstm states": (TypeError, lambda: layers.LSTMCell(4)(_floats(), _floats("h", 2, 4))),
    "initial states": (TypeError, lambda: layers.GRUCell(4).get_initial_states(_floats(), [4], dtype="int32")),
    "normal of ints": (TypeError, lambda: layers.Normal(0, 1)),
    "normal seed": (TypeError, lambda: layers.Normal(0.0, 1.0).sample([3], seed=WRONG_NAME)),
    "normal value": (TypeError, lambda: layers.Normal(0.0, 1.0).log_prob(WRONG)),
    "uniform shape": (TypeError, lambda: layers.Uniform(0.0, 1.0).sample(WRONG_NAME)),
    "case outside": (ValueError, lambda: layers.Switch().case(fluid.data("b", [1], "bool"))),
    "py_func": (TypeError, lambda: layers.py_func(WRONG, _floats(), _floats("y"))),
    "grad_clip": (TypeError, lambda: fluid.optimizer.SGD(0.1, grad_clip=WRONG)),
    "dtype": (TypeError, lambda: fluid.data("a", [2], "int3")),
    "no_grad_set": (TypeError, lambda: fluid.backward.append_backward(layers.mean(_floats()), no_grad_set={3})),
    "xavier": (AssertionError, lambda: fluid.initializer.Xavier(uniform=NOTHING)),
    "decay": (AssertionError, lambda: fluid.regularizer.L2Decay(NOTHING)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_1_8_refuses_is_refused_with_its_kind_of_error(name: str) -> None:
    fluid.use_era("1.8")
    kind, call = REFUSED[name]
    with pytest.raises(kind):
        call()


def test_older_eras_take_whole_numbers_for_a_distribution() -> None:
    normal = layers.Normal(0, 1)
    (found,) = fluid.Executor(fluid.CPUPlace()).run(fetch_list=[normal.entropy()])
    np.testing.assert_allclose(found, 0.5 + 0.5 * np.log(2 * np.pi), rtol=1e-6)
