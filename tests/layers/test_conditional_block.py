"""`ConditionalBlock` and `BlockGuard`, which layers of old scripts are made of."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.layers.control_flow import BlockGuard, ConditionalBlock


def test_a_block_runs_while_its_condition_holds() -> None:
    count = layers.create_global_var([1], 0, "int64", persistable=True)
    rate = layers.create_global_var([1], 0.8, "float32", persistable=True)
    layers.increment(count, 1)
    early = layers.less_than(count, layers.fill_constant([1], "int64", 3))
    with ConditionalBlock([early], is_scalar_condition=True).block():
        layers.assign(rate * 0.5, rate)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    found = [float(exe.run(fetch_list=[rate])[0][0]) for _ in range(4)]
    np.testing.assert_allclose(found, [0.4, 0.2, 0.2, 0.2], rtol=1e-6)


def test_a_guard_builds_a_sub_block_and_lets_errors_out() -> None:
    program = fluid.default_main_program()
    with BlockGuard(program):
        layers.fill_constant([1], "float32", 1.0)
        assert program.current_block().parent_idx == 0
    assert program.current_block() is program.global_block()
    assert [len(block.ops) for block in program.blocks] == [0, 1]
    with pytest.raises(KeyError), BlockGuard(program):
        raise KeyError
    with pytest.raises(TypeError, match="takes a Program"):
        BlockGuard("main")  # type: ignore[arg-type]
