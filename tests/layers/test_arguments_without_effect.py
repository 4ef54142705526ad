"""Arguments that have no effect in Fluid 1.8.5 have none here; a warning says so, and a keyword lets them count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.layers import arguments
from fluidio.testing import fresh

L = fluid.layers
ROW = np.array([[1.0, -1.0]], "float32")


@pytest.fixture(autouse=True)
def _untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "_WARNED", set())


def swished(**options: Any) -> Any:
    with fresh() as (main, _):
        out = L.swish(L.data("x", [2]), beta=2.0, **options)
        return np.array(fluid.Executor(fluid.CPUPlace()).run(main, feed={"x": ROW}, fetch_list=[out])[0])


def test_the_beta_of_swish_is_one() -> None:
    with pytest.warns(UserWarning, match="beta is 1.0 instead of 2.0"):
        np.testing.assert_allclose(swished(), ROW / (1 + np.exp(-ROW)), rtol=1e-6)


def test_own_beta_lets_it_count() -> None:
    np.testing.assert_allclose(swished(own_beta=True), ROW / (1 + np.exp(-2 * ROW)), rtol=1e-6)


def activations(**options: Any) -> tuple[Any, Any]:
    with fresh() as (main, _):
        L.gru_unit(L.data("x", [6]), L.data("h", [2]), 6, activation="relu", gate_activation="tanh", **options)
        op = main.global_block().ops[-1]
        return op.attr("activation"), op.attr("gate_activation")


def test_a_gru_unit_has_tanh_and_sigmoid() -> None:
    with pytest.warns(UserWarning, match="own_activations=True"):
        assert activations() == (2, 1)


def test_own_activations_lets_them_count() -> None:
    assert activations(own_activations=True) == (3, 2)


def test_uniform_numbers_are_float32() -> None:
    with fresh() as (main, _):
        with pytest.warns(UserWarning, match="float32 whatever dtype says"):
            out = L.uniform_random([2], dtype="float64")
        assert fluid.Executor(fluid.CPUPlace()).run(main, fetch_list=[out])[0].dtype == np.float32


def test_bicubic_interpolation_is_for_interpolate_alone() -> None:
    with fresh() as (main, _):
        x = L.data("x", [1, 2, 2])
        L.interpolate(x, [3, 3], resample="BICUBIC")
        assert main.global_block().ops[-1].type == "bicubic_interp"
        with pytest.raises(ValueError, match="resample"):
            L.image_resize(x, [3, 3], resample="BICUBIC")


def test_hsigmoid_says_that_the_gradient_of_a_default_tree_is_dense() -> None:
    x, y = fluid.data("x", [3, 4]), fluid.data("y", [3, 1], "int64")
    with pytest.warns(UserWarning, match="only the gradient of a custom tree can be sparse"):
        fluid.layers.hsigmoid(x, y, 6, is_sparse=True)


def test_smooth_l1_says_that_an_outside_weight_alone_is_ignored() -> None:
    x, y, weight = (fluid.data(name, [3, 4]) for name in "xyw")
    with pytest.warns(UserWarning, match="pass ones as inside_weight"):
        fluid.layers.smooth_l1(x, y, outside_weight=weight)
