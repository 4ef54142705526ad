"""Gradients of a loop that reads and writes an array which is read behind it."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("read", ["all", "last", "first"])
def test_each_element_passes_its_gradient_back_once(times: int, read: str) -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        x = fluid.data("x", [-1, 2], "float32")
        x.stop_gradient = False
        at, limit = (layers.fill_constant([1], "int64", n) for n in (0, times))
        array = layers.array_write(layers.scale(x, 2.0), at)
        goes_on = layers.less_than(at, limit)
        loop = layers.While(goes_on)
        with loop.block():
            made = layers.scale(layers.array_read(array, at), 3.0)
            layers.increment(at, in_place=True)
            layers.array_write(made, at, array)
            layers.less_than(at, limit, cond=goes_on)
        joined = layers.tensor_array_to_tensor(array, axis=1)[0]
        start, end = {"all": (0, 2 * times + 2), "last": (2 * times, 2 * times + 2), "first": (0, 2)}[read]
        loss = layers.reduce_sum(layers.slice(joined, [1], [start], [end]))
        fluid.backward.append_backward(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        (found,) = exe.run(main, feed={"x": np.ones((1, 2), "float32")}, fetch_list=["x@GRAD"])
    powers = [2.0 * 3.0**n for n in range(times + 1)]
    right = {"all": sum(powers), "last": powers[-1], "first": powers[0]}[read]
    np.testing.assert_array_equal(found, [[right, right]])
