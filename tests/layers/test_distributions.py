"""Distributions beside the golden case: samples, batches known at run time, mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid


def run(out: Any, **feed: Any) -> Any:
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out])[0]


def test_uniform_samples_stay_in_their_intervals() -> None:
    got = run(fluid.layers.Uniform([0.0, 5.0], [1.0, 6.0]).sample([200], seed=3))
    assert got.shape == (200, 2)
    assert (got >= [0, 5]).all() and (got < [1, 6]).all() and got[:, 0].std() > 0.2


def test_plain_numbers_give_the_shape_asked_for() -> None:
    assert run(fluid.layers.Normal(0.0, 1.0).sample([2, 3], seed=1)).shape == (2, 3)


def test_a_batch_known_at_run_time_only() -> None:
    loc = fluid.layers.data("loc", [2])
    scale = fluid.layers.fill_constant([1], "float32", 1e-3)
    sample = fluid.layers.Normal(loc, scale).sample([5], seed=2)
    value = np.arange(6, dtype="float32").reshape(3, 2)
    got = run(sample, loc=value)
    assert got.shape == (5, 3, 2)
    np.testing.assert_allclose(got, np.broadcast_to(value, (5, 3, 2)), atol=0.01)


def test_the_divergence_of_diagonal_normals_is_one_number() -> None:
    def made(loc: list[float], variance: list[float]) -> Any:
        return fluid.layers.MultivariateNormalDiag(np.array(loc, "float32"), np.diag(variance).astype("float32"))

    got = run(made([0.3, 0.5], [0.4, 0.5]).kl_divergence(made([0.2, 0.4], [0.3, 0.4])))
    assert float(got) == pytest.approx(0.0654205, rel=1e-4)


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
    with pytest.raises(NotImplementedError, match="Categorical cannot be sampled"):
        fluid.layers.Categorical([[0.1, 0.2]]).sample()
