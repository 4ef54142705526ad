"""What classes of layers, initializers and optimizers refuse when they are made or called, as 1.8.5 does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.era import use_era

NOTHING: Any = None


@pytest.fixture(autouse=True)
def era_1_8() -> Iterator[None]:
    with use_era("1.8"):
        yield


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Uniform(1, 2.0),
        lambda: layers.Uniform(1.0, 2),
        lambda: layers.Normal((1.0,), 2.0),
        lambda: layers.Categorical(1.0),
        lambda: layers.MultivariateNormalDiag(1.0, [1.0]),
        lambda: layers.GRUCell("a"),  # type: ignore[arg-type]
        lambda: layers.GRUCell(3, dtype="int64"),
        lambda: layers.LSTMCell(1.5),  # type: ignore[arg-type]
        lambda: layers.LSTMCell(3, dtype="float16"),
        lambda: layers.GRUCell(3).get_initial_states(fluid.data("x", [2, 3]), shape="a"),
        lambda: layers.Uniform(0.0, 1.0).log_prob(fluid.data("i", [2], "int64")),
        lambda: fluid.clip.set_gradient_clip(None),
        lambda: fluid.nets.scaled_dot_product_attention(3, 3, 3),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_type_errors(make: Any) -> None:
    with pytest.raises(TypeError):
        make()


def test_distributions_take_two_variables_or_none() -> None:
    with pytest.raises(ValueError, match="both be Variables"):
        layers.Normal(fluid.data("x", [1]), 1.0)
    drawn = layers.Normal(np.zeros(2, "float32"), 1.0).sample([3])
    assert drawn.shape == (3, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fluid.initializer.Constant(NOTHING),
        lambda: fluid.initializer.Uniform(0.0, 1.0, NOTHING),
        lambda: fluid.initializer.Normal(NOTHING),
        lambda: fluid.initializer.Normal(0.0, 1.0, NOTHING),
        lambda: fluid.initializer.TruncatedNormal(0.0, NOTHING),
    ],
)
def test_initializers_need_their_numbers(make: Any) -> None:
    with pytest.raises(AssertionError, match="None"):
        make()


@pytest.mark.parametrize("options", [{"learning_rate": None}, {"epsilon": None}, {"rho": None}])
def test_adadelta_says_what_is_not_set(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be given"):
        fluid.optimizer.Adadelta(**{"learning_rate": 0.1, **options})


def test_a_static_rnn_has_memories_of_a_listed_shape() -> None:
    rnn = layers.StaticRNN()
    with pytest.raises(TypeError, match="shape must be list, tuple or None"), rnn.step():
        rnn.memory(shape=3)  # type: ignore[arg-type]
