"""Fetch lists with lists in them, tuples as feeds, and the thread of a FetchHandler."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import fluidio as fluid


def test_lists_in_a_fetch_list_count_as_their_items() -> None:
    x = fluid.layers.data("x", [3])
    y = fluid.layers.fc(x, 2, param_attr=fluid.initializer.Constant(0.1))
    loss = fluid.layers.mean(y)
    updates, pairs = fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())

    def fetch(fetch_list: Any) -> list[float]:
        found = exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=fetch_list)
        return [round(float(np.mean(value)), 5) for value in found]

    assert fetch([loss]) == [0.3]
    assert fetch([[], [loss]]) == [0.1]
    assert fetch([[y, loss]]) == [-0.1, -0.1]
    assert fetch([updates, loss]) == [-0.3]
    assert fetch([[loss], y.name]) == [-0.5, -0.5]
    with pytest.raises(TypeError, match="got tuple"):
        fetch([pairs, loss])


def test_a_tuple_is_fed_as_the_array_numpy_makes_of_it() -> None:
    with fluid.program_guard(fluid.Program()):
        x = fluid.layers.data("x", [2], dtype="int64", append_batch_size=False)
        y = fluid.layers.cast(x, "float32")
        exe = fluid.Executor(fluid.CPUPlace())
        assert exe.run(feed={"x": (3, 4)}, fetch_list=[y])[0].tolist() == [3, 4]
        with pytest.raises(RuntimeError, match="DataFeeder"):
            exe.run(feed={"x": [3, 4]}, fetch_list=[y])


class Heard(fluid.executor.FetchHandler):
    heard: queue.Queue[Mapping[str, Any]] = queue.Queue()

    def handler(self, res_dict: Mapping[str, Any]) -> None:
        self.heard.put(res_dict)


def test_a_monitor_hands_the_values_of_a_scope_to_its_handler() -> None:
    scope = fluid.Scope()
    scope.var("w").get_tensor().set(np.array([2.5], "float32"), fluid.CPUPlace())
    monitor = fluid.trainer_factory.FetchHandlerMonitor(scope, Heard({"weight": "w", "none": "v"}, period_secs=0.001))
    monitor.start()
    found = Heard.heard.get(timeout=60)
    monitor.stop()
    assert found["weight"].tolist() == [2.5]
    assert found["none"] is None
