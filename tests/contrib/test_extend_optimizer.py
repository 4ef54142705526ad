"""AdamW; the numbers are those of Fluid 1.8.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers
ALL = [-0.9549155, -0.4431905, 0.3291851, 0.2271954, 0.4885965, 0.0582727, -0.1564436, -0.0520420]
WEIGHT = [-1.1144396, -0.5096743, 0.3957877, 0.2787649, 0.5832710, 0.0800953, -0.1887186, -0.0435992]


def _loss() -> Any:
    y = L.fc(L.data("x", [3]), 2, param_attr="w1", bias_attr="b1")
    return L.reduce_mean(y * y)


@pytest.mark.parametrize(
    ("decay", "chosen", "wanted"), [(0.1, None, ALL), (0.05, lambda name: "w" in name, WEIGHT)], ids=["all", "weight"]
)
def test_adam_with_decoupled_decay_updates_as_fluid_does(
    decay: float, chosen: Callable[[str], bool] | None, wanted: list[float]
) -> None:
    fluid.use_era("1.8")
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    adamw = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.Adam)
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        loss = _loss()
        optimizer = adamw(learning_rate=0.1, weight_decay=decay, apply_decay_param_fun=chosen)
        optimizer.minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"x": np.ones((2, 3), "float32")}
        steps = [exe.run(main, feed=feed, fetch_list=["w1", "b1"]) for _ in range(3)]
    np.testing.assert_allclose(np.concatenate([part.ravel() for part in steps[-1]]), wanted, rtol=1e-5)
    assert str(optimizer) == "Weight Decay, params: " + ("b1,w1" if chosen is None else "w1")


def test_only_optimizers_are_extended_and_the_decay_is_a_float() -> None:
    with pytest.raises(TypeError, match="class of optimizers"):
        fluid.contrib.extend_with_decoupled_weight_decay(dict)
    adamw = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.Adam)
    with pytest.raises(TypeError, match="float or a Variable"):
        adamw(learning_rate=0.1, weight_decay="0.1")
