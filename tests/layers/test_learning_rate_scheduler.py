"""Schedules beside the golden case: counters, mistakes, who shares what."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


def rates(rate: fluid.Variable, steps: int = 5) -> list[float]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return [float(exe.run(fetch_list=[rate])[0]) for _ in range(steps)]


def test_the_decay_counter_starts_at_begin_and_is_shared() -> None:
    first = fluid.layers._decay_step_counter(1)
    second = fluid.layers._decay_step_counter(1)
    assert rates(first + second) == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert [op.type for op in fluid.default_main_program().global_block().ops].count("increment") == 1


def test_a_step_counter_of_its_own_counts_by_its_step() -> None:
    counter = fluid.layers.autoincreased_step_counter(counter_name="mine", begin=10, step=5)
    assert rates(counter, 3) == [14.0, 19.0, 24.0]  # Fluid starts from begin - 1


def test_piecewise_wants_one_value_more_than_boundaries() -> None:
    with pytest.raises(ValueError, match="should be 1"):
        fluid.layers.piecewise_decay([1, 2], [0.1])


def test_a_schedule_trains() -> None:
    x = fluid.layers.data("x", [2])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1, bias_attr=False))
    rate = fluid.layers.exponential_decay(learning_rate=1.0, decay_steps=1, decay_rate=0.5)
    fluid.optimizer.SGD(learning_rate=rate).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    weights = []
    for _ in range(3):
        exe.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[])
        weights.append(fluid.fetch_var("fc_0.w_0")[0, 0])
    np.testing.assert_allclose(np.diff(weights), [-0.5, -0.25], rtol=1e-5)


def test_lars_gives_rates_by_norms() -> None:
    x = fluid.layers.data("x", [2])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1, bias_attr=False))
    pairs = fluid.backward.append_backward(loss)
    base = fluid.layers.fill_constant([1], "float32", 0.5)
    (rate,) = fluid.layers.append_LARS(pairs, base, weight_decay=0.1)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    (got,) = exe.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[rate])
    norm = np.linalg.norm(fluid.fetch_var("fc_0.w_0"))
    assert float(got) == pytest.approx(0.5 * norm / (np.sqrt(2) + 0.1 * norm), rel=1e-5)
