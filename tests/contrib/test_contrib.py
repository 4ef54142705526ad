"""The rest of fluid.contrib."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import contrib


def network() -> Any:
    x = fluid.data("x", [None, 6])
    return fluid.layers.fc(fluid.layers.fc(x, 5, act="relu"), 3)


def test_memory_usage_is_that_of_the_real_framework() -> None:
    network()
    low, high, unit = contrib.memory_usage(fluid.default_main_program(), batch_size=10)
    assert low == pytest.approx(882) and high == pytest.approx(924) and unit == "B"
    low, _, unit = contrib.memory_usage(program=fluid.default_main_program(), batch_size=100000)
    assert low == pytest.approx(8.411407470703125) and unit == "MB"
    with pytest.raises(ValueError, match="above 0"):
        contrib.memory_usage(fluid.default_main_program(), 0)
    with pytest.raises(TypeError, match="Program"):
        contrib.memory_usage("main", 1)  # type: ignore[arg-type]


def test_ops_are_counted() -> None:
    network()
    single, pairs = contrib.op_freq_statistic(fluid.default_main_program())
    assert dict(single) == {"mul": 2, "elementwise_add": 2, "relu": 1}
    assert dict(pairs)["mul->elementwise_add"] == 2


@pytest.mark.parametrize("name", ["HDFSClient"])
def test_what_is_not_built_says_what_to_do(name: str) -> None:
    with pytest.raises(NotImplementedError, match=name):
        getattr(contrib, name)()


def test_batches_are_shared_between_trainers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    assert list(contrib.reader.distributed_batch_reader(lambda: iter(range(5)))()) == [1, 3]
    monkeypatch.setenv("PADDLE_TRAINER_ID", "2")
    with pytest.raises(AssertionError, match="PADDLE_TRAINER_ID"):
        contrib.reader.distributed_batch_reader(list)


@pytest.mark.parametrize(
    ("functors", "expected"),
    [(["elementwise_add", "relu"], [1.0, 0.0]), (["relu", "elementwise_add"], [0.0, 0.0])],
)
def test_fused_activations_are_the_two_ops(functors: list[str], expected: list[float]) -> None:
    x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [2])
    out = contrib.fused_elemwise_activation(x, y, functors)
    feed = {"x": np.array([[1, -2]], "float32"), "y": np.array([[-3, 2]], "float32")}
    (got,) = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out])
    assert got.tolist() == [expected]
    with pytest.raises(ValueError, match="two names"):
        contrib.fused_elemwise_activation(x, y, ["relu"])
