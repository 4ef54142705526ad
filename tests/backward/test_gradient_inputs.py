"""Gradient ops read what Fluid's read."""

from __future__ import annotations

from typing import Any

import pytest

import fluidio as fluid


@pytest.mark.parametrize(
    ("given", "reads"), [({}, False), ({"use_global_stats": True}, True), ({"is_test": True}, False)]
)
def test_the_gradient_of_batch_norm_reads_moving_statistics_only_where_they_count_in_training(
    given: dict[str, Any], reads: bool
) -> None:
    x = fluid.layers.data("x", [3, 4, 4])
    x.stop_gradient = False
    loss = fluid.layers.mean(fluid.layers.batch_norm(x, **given))
    fluid.append_backward(loss)
    (found,) = (op for op in loss.block.ops if op.type == "batch_norm_grad")
    assert bool(found.input("Mean")) is reads
    assert bool(found.input("Variance")) is reads
