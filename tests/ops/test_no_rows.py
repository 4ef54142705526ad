"""Batches without a row go through ops that look at their inputs row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid

FLOATS, WHOLE = "float32", "int64"


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "outputs", "shape"),
    [
        ("squared_l2_distance", {"X": (0, 3), "Y": (0, 3)}, {}, ["Out", "sub_result"], (0, 1)),
        ("smooth_l1_loss", {"X": (0, 3), "Y": (0, 3)}, {}, ["Out", "Diff"], (0, 1)),
        ("bpr_loss", {"X": (0, 3), "Label": (0, 1)}, {}, ["Y"], (0, 1)),
        ("cos_sim", {"X": (0, 3), "Y": (0, 3)}, {}, ["Out", "XNorm", "YNorm"], (0, 1)),
        (
            "unpool",
            {"X": (0, 2, 2, 2), "Indices": (0, 2, 2, 2)},
            {"ksize": [2, 2], "strides": [2, 2], "unpooling_type": "max"},
            ["Out"],
            (0, 2, 4, 4),
        ),
        ("affine_grid", {"Theta": (0, 2, 3)}, {"output_shape": [0, 1, 2, 3]}, ["Output"], (0, 2, 3, 2)),
    ],
)
def test_an_empty_batch_gives_an_empty_result_and_gradient(
    op: str, inputs: dict[str, tuple[int, ...]], attrs: dict[str, Any], outputs: list[str], shape: tuple[int, ...]
) -> None:
    with fluid.program_guard(fluid.Program()):
        block = fluid.default_main_program().global_block()
        feed = {
            name: np.zeros(size, {"Label": WHOLE, "Indices": "int32"}.get(name, FLOATS))
            for name, size in inputs.items()
        }
        given = {
            name: [fluid.layers.data(name, [-1, *array.shape[1:]], dtype=array.dtype.name, append_batch_size=False)]
            for name, array in feed.items()
        }
        first = given[next(iter(given))][0]
        first.stop_gradient = False
        made = {name: [block.create_var(name=f"out {name}", dtype=FLOATS)] for name in outputs}
        block.append_op(type=op, inputs=given, outputs=made, attrs=attrs)
        out = made[outputs[0]][0]
        gradient = fluid.gradients([fluid.layers.reduce_sum(out)], [first])
        found = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out, *gradient])
    assert [value.shape for value in found] == [shape, next(iter(inputs.values()))]


def test_tree_conv_takes_nodes_with_an_open_number_of_features() -> None:
    with fluid.program_guard(fluid.Program()):
        nodes = fluid.layers.data("nodes", [1, 5, -1], append_batch_size=False)
        edges = fluid.layers.data("edges", [1, 4, 2], dtype="int32", append_batch_size=False)
        weight = fluid.layers.data("weight", [2, 3, 1, 2], append_batch_size=False)
        block = fluid.default_main_program().global_block()
        out = block.create_var(name="out", dtype=FLOATS)
        given = {"NodesVector": [nodes], "EdgeSet": [edges], "Filter": [weight]}
        block.append_op(type="tree_conv", inputs=given, outputs={"Out": [out]}, attrs={"max_depth": 2})
        feed = {
            "nodes": np.ones((1, 5, 2), FLOATS),
            "edges": np.array([[[1, 2], [1, 3], [2, 4], [2, 5]]], "int32"),
            "weight": np.ones((2, 3, 1, 2), FLOATS),
        }
        found = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out])
    assert found[0].shape == (1, 5, 1, 2)
