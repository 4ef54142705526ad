"""Gradients go back through select_output to its input."""

from __future__ import annotations

import numpy as np

import fluidio as fluid
from fluidio import layers as L
from fluidio.layers.control_flow import select_input, select_output


def test_the_gradient_comes_from_the_branch_that_was_taken() -> None:
    x, mask = L.data("x", [2]), L.data("mask", [1], dtype="int32")
    x.stop_gradient = False
    block = fluid.default_main_program().global_block()
    branches = [block.create_var(dtype="float32") for _ in range(3)]
    select_output(x, branches, mask)
    chosen = select_input(branches, mask)
    fluid.backward.append_backward(L.mean(chosen))
    assert block.ops[-1].type == "select_input"
    exe = fluid.Executor(fluid.CPUPlace())
    fed = np.array([1.3, -1.4], "float32")
    for index in range(3):
        value, gradient = exe.run(
            feed={"x": fed, "mask": np.array([index], "int32")}, fetch_list=[chosen.name, x.grad_name]
        )
        np.testing.assert_array_equal(value, fed)
        np.testing.assert_array_equal(gradient, [0.5, 0.5])
