"""A program twice as long costs twice as much: counted in calls of functions, which do not depend on the machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.executor.devices import backend_for
from fluidio.executor.plan import Plan
from fluidio.program.collector import without_collections


def deep(size: int) -> Any:
    h = layers.data("x", [4])
    for _ in range(size):
        h = layers.fc(h, 4)
    return h


def joined(size: int) -> Any:
    """Every layer's result is used twice, so that its gradient has two parts."""
    h = layers.data("x", [4])
    parts = []
    for _ in range(size):
        h = layers.fc(h, 4)
        parts.append(h)
    return layers.concat(parts, axis=1)


def branching(size: int) -> Any:
    h = layers.fc(layers.data("x", [4]), 4)
    for _ in range(size):
        h = layers.cond(
            layers.less_than(layers.reduce_sum(h), layers.fill_constant([1], "float32", 0.0)),
            partial(layers.scale, h, 2.0),
            partial(layers.scale, h, 3.0),
        )
    return h


def constant(size: int) -> Any:
    """Ops that have no gradient stand beside each layer."""
    h = layers.data("x", [4])
    for _ in range(size):
        h = layers.elementwise_add(layers.fc(h, 4), layers.fill_constant([4], "float32", 1.0))
    return h


def whole_program(network: Callable[[int], Any], size: int) -> None:
    main, startup = fluid.Program(), fluid.Program()
    for _ in range(2):  # the second program shares the parameters that the startup program makes
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            loss = layers.mean(network(size))
            fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
        Plan(main, ["x"], [loss.name], backend_for(fluid.CPUPlace()))
        main = fluid.Program()
    Plan(startup, [], [], backend_for(fluid.CPUPlace()))


def calls(action: Callable[[], object]) -> int:
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("network", [deep, joined, branching, constant])
def test_each_layer_costs_the_same_in_a_longer_program(network: Callable[[int], Any]) -> None:
    whole_program(network, 2)  # what is loaded once is not counted
    short, long = (calls(partial(whole_program, network, size)) / size for size in (12, 48))
    assert long < 1.15 * short


def test_the_collector_is_as_it_was_after_a_pause() -> None:
    with without_collections():
        assert not gc.isenabled()
        with without_collections():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_failure_does_not_leave_the_collector_off() -> None:
    with pytest.raises(KeyError), without_collections():
        raise KeyError
    assert gc.isenabled()


def test_an_op_removed_by_hand_is_not_counted_as_an_initializer() -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        layers.create_parameter([2], "float32", name="w")
        del startup.global_block().ops[0]
    with fluid.program_guard(fluid.Program(), startup):
        layers.create_parameter([2], "float32", name="w")
    assert [op.type for op in startup.global_block().ops] == ["uniform_random"]
