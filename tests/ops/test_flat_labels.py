"""cross_entropy takes ids of one dim less than the probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid


def costs_and_gradient(label_shape: list[int]) -> tuple[list[int], Any, Any]:
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        x = fluid.data("x", [None, None, 5])
        x.stop_gradient = False
        label = fluid.data("label", [None, None, 1][: len(label_shape)], "int64")
        cost = fluid.layers.cross_entropy(x, label)
        (slope,) = fluid.gradients(fluid.layers.reduce_sum(cost * cost), x)
    feed = {
        "x": (np.arange(30) % 7 + 1).reshape(2, 3, 5).astype("float32") / 7,
        "label": (np.arange(6) % 5).reshape(label_shape),
    }
    costs, slopes = fluid.Executor(fluid.CPUPlace()).run(program, feed=feed, fetch_list=[cost, slope])
    return list(costs.shape), costs.ravel(), slopes


def test_ids_without_a_last_dim_give_the_same_costs() -> None:
    shape, costs, slopes = costs_and_gradient([2, 3])
    other_shape, others, other_slopes = costs_and_gradient([2, 3, 1])
    assert shape == [2, 3] and other_shape == [2, 3, 1]
    np.testing.assert_array_equal(costs, others)
    np.testing.assert_array_equal(slopes, other_slopes)
    np.testing.assert_allclose(slopes.sum(), -31.445322, rtol=1e-6)  # Fluid 1.8.5


def test_labels_of_fewer_dims_are_refused() -> None:
    x, label = fluid.data("x", [None, 4, 5]), fluid.data("label", [None], "int64")
    with pytest.raises(fluid.core.EnforceNotMet, match="one less"):
        fluid.layers.cross_entropy(x, label)


def test_softmax_with_cross_entropy_refuses_ids_without_a_last_dim_as_1_8_5_does() -> None:
    x, label = fluid.data("x", [None, 4, 5]), fluid.data("label", [None, 4], "int64")
    with pytest.raises(fluid.core.EnforceNotMet, match="Logits has 3 dims and Label 2"):
        fluid.layers.softmax_with_cross_entropy(x, label)
