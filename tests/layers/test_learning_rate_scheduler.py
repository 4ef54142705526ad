"""Schedules beside the golden case: counters, mistakes, who shares what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
    with pytest.raises(ValueError, match="one entry more"):
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


L = fluid.layers
SCHEDULES: dict[str, Callable[[], fluid.Variable]] = {
    "noam": lambda: L.noam_decay(64, 100),
    "noam2": lambda: L.noam_decay(64, 100, learning_rate=2.0),
    "exp": lambda: L.exponential_decay(0.1, 10, 0.5),
    "exps": lambda: L.exponential_decay(0.1, 10, 0.5, True),
    "nat": lambda: L.natural_exp_decay(0.1, 10, 0.5),
    "nats": lambda: L.natural_exp_decay(0.1, 10, 0.5, True),
    "inv": lambda: L.inverse_time_decay(0.1, 10, 0.5),
    "invs": lambda: L.inverse_time_decay(0.1, 10, 0.5, True),
    "poly": lambda: L.polynomial_decay(0.1, 10, 0.01, 2.0),
    "polyc": lambda: L.polynomial_decay(0.1, 10, 0.01, 2.0, True),
    "piece": lambda: L.piecewise_decay([3, 5], [1.0, 0.5, 0.1]),
    "cos": lambda: L.cosine_decay(0.1, 4, 7),
    "warm": lambda: L.linear_lr_warmup(0.1, 4, 0.0, 0.1),
    "warmi": lambda: L.linear_lr_warmup(1, 4, 0, 1),
    "warmp": lambda: L.linear_lr_warmup(L.piecewise_decay([3, 5], [1.0, 0.5, 0.1]), 4, 0.01, 1.0),
    "warmc": lambda: L.linear_lr_warmup(L.cosine_decay(0.1, 2, 7), 4, 0.01, 0.1),
    "expvar": lambda: L.exponential_decay(L.create_global_var([1], 0.1, "float32", True, name="base"), 10, 0.5),
}
OBSERVED = [
    line.split(" ", 2)
    for line in (Path(__file__).parents[1] / "data/observed/schedules.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("case", "name", "ops"), OBSERVED, ids=[case for case, *_ in OBSERVED])
def test_ops_and_names_of_a_schedule_are_those_of_1_8_5(case: str, name: str, ops: str) -> None:
    with fluid.use_era("1.8"):
        rate = SCHEDULES[case]()
    made = [op for block in fluid.default_main_program().blocks for op in block.ops]
    assert " ".join(f"{op.type}>{op.output('Out')[0]}" for op in made) == ops
    assert rate.name == name


def test_two_piecewise_rates_share_one_variable() -> None:
    first = L.piecewise_decay([2], [1.0, 0.5])
    L.piecewise_decay([1, 3], [4.0, 3.0, 2.0])
    assert rates(first) == [4.0, 3.0, 3.0, 2.0, 2.0]  # Fluid: the last to write wins


def test_the_rate_of_a_schedule_is_known_before_minimize() -> None:
    rate = L.piecewise_decay([2], [1.0, 0.5])
    assert fluid.optimizer.SGD(rate)._global_learning_rate() is rate
    assert fluid.optimizer.SGD(0.1)._global_learning_rate() is None
