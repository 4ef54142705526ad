"""Distributions beside the golden case: samples, batches known at run time, mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.layers import distributions


def run(out: Any, **feed: Any) -> Any:
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out])[0]


def test_right_uniform_samples_stay_in_their_intervals() -> None:
    got = run(fluid.layers.Uniform([0.0, 5.0], [1.0, 6.0]).sample([200], seed=3, right_samples=True))
    assert got.shape == (200, 2)
    assert (got >= [0, 5]).all() and (got < [1, 6]).all() and got[:, 0].std() > 0.2


def test_plain_numbers_give_the_shape_asked_for() -> None:
    assert run(fluid.layers.Normal(0.0, 1.0).sample([2, 3], seed=1)).shape == (2, 3)


def test_a_batch_known_at_run_time_only() -> None:
    loc = fluid.layers.data("loc", [2])
    scale = fluid.layers.fill_constant([1], "float32", 1e-3)
    sample = fluid.layers.Normal(loc, scale).sample([5], seed=2, right_samples=True)
    value = np.arange(6, dtype="float32").reshape(3, 2)
    got = run(sample, loc=value)
    assert got.shape == (5, 3, 2)
    np.testing.assert_allclose(got, np.broadcast_to(value, (5, 3, 2)), atol=0.01)


def test_uniform_samples_of_numbers_are_those_of_1_8_5_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="right_samples"):
        sample = fluid.layers.Uniform(1.0, 2.0).sample([200], seed=3)
    got = run(sample)
    assert (got >= 0).all() and (got < 2).all() and (got < 1).any()


@pytest.fixture(autouse=True)
def _warns_again() -> None:
    distributions._warned.clear()


def test_the_divergence_of_diagonal_normals_is_a_matrix_of_copies() -> None:
    def made(loc: list[float], variance: list[float]) -> Any:
        return fluid.layers.MultivariateNormalDiag(np.array(loc, "float32"), np.diag(variance).astype("float32"))

    got = run(made([0.3, 0.5], [0.4, 0.5]).kl_divergence(made([0.2, 0.4], [0.3, 0.4])))
    np.testing.assert_allclose(got, np.full((2, 2), 0.0654205), rtol=1e-4)  # loc is broadcast to the shape of scale


@pytest.mark.parametrize(
    "call",
    [
        lambda: fluid.layers.Normal("zero", 1.0),
        lambda: fluid.layers.Normal(0.0, 1.0).kl_divergence(3),  # type: ignore[arg-type]
        lambda: fluid.layers.Categorical([[0.1, 0.2]]).kl_divergence(3),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_refused(call: Any) -> None:
    with pytest.raises(TypeError):
        call()


def test_what_a_distribution_cannot_do_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Categorical does not support sample"):
        fluid.layers.Categorical([[0.1, 0.2]]).sample()
