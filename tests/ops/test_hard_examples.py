"""mine_hard_examples compares losses as float32, whatever their dtype; of equal ones it takes the first."""

from __future__ import annotations

import numpy as np

import fluidio as fluid


def test_losses_that_differ_beyond_float32_are_equal() -> None:
    main = fluid.Program()
    arrays = {
        "ClsLoss": np.array([[0.05, 0.4735, 0.5265, 0.7382]]),
        "LocLoss": np.array([[0.95, 0.8441, 0.7912, 0.5794]]),  # the second and the last sum differ in their last bit
        "MatchIndices": np.array([[0, 2, 2, -1]], "int32"),
        "MatchDist": np.array([[0.9, 0.8, 0.4, 0.1]]),
    }
    with fluid.program_guard(main), fluid.scope_guard(fluid.Scope()):
        block = main.global_block()
        given = {name: fluid.data(name, value.shape, str(value.dtype)) for name, value in arrays.items()}
        made = {name: block.create_var(name=name, dtype="int32") for name in ("NegIndices", "UpdatedMatchIndices")}
        block.append_op(
            type="mine_hard_examples",
            inputs=given,
            outputs=made,
            attrs={"mining_type": "hard_example", "sample_size": 2, "neg_pos_ratio": 1.0, "neg_dist_threshold": 0.5},
        )
        found = fluid.Executor(fluid.CPUPlace()).run(main, feed=arrays, fetch_list=[made["UpdatedMatchIndices"]])
    np.testing.assert_array_equal(found[0], [[-1, 2, 2, -1]])
