"""StaticRNN without outputs, as examples build it."""

from __future__ import annotations

import numpy as np

import fluidio as fluid
from fluidio import layers


def test_a_loop_may_have_no_output() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        x = layers.data("x", [3, 2, 4], append_batch_size=False)
        rnn = layers.StaticRNN()
        with rnn.step():
            word = rnn.step_input(x)
            memory = rnn.memory(shape=[-1, 4], batch_ref=word)
            rnn.update_memory(memory, layers.fc([memory, word], 4))
        assert fluid.default_main_program().global_block().ops[-1].output("outputs") == []
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert exe.run(feed={"x": np.ones((3, 2, 4), "float32")}) == []
