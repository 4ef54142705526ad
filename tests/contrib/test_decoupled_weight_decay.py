"""Decay beside the update gives the losses of 1.8.5."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio.era import use_era


def test_the_losses_are_those_of_the_original() -> None:
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 5
    guards = fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope())
    with use_era("1.8"), guards[0], guards[1], guards[2]:
        AdamW = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.Adam)
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [3]), 2))
        updates, pairs = AdamW(weight_decay=0.1, learning_rate=0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"x": np.random.RandomState(1).rand(2, 3).astype("float32")}
        found = [float(exe.run(main, feed=feed, fetch_list=[loss])[0][0]) for _ in range(3)]
    assert found == pytest.approx([-0.4406986, -0.5805729, -0.7064592], rel=1e-5)
    assert len(updates) == len(pairs) == 2


def test_parameters_can_be_left_out() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        SGDW = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.SGD)
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [3]), 2))
        SGDW(weight_decay=0.1, apply_decay_param_fun=lambda name: name.endswith("w_0"), learning_rate=0.1).minimize(
            loss
        )
        ops = fluid.default_main_program().global_block().ops
    assert [op.output("Out")[0] for op in ops if op.type == "assign"] == ["fc_0.w_0"]


def test_what_is_no_optimizer_is_refused() -> None:
    with pytest.raises(TypeError, match="class of optimizers"):
        fluid.contrib.extend_with_decoupled_weight_decay(dict)
