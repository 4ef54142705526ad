"""Gradients of what is computed from constants alone: 1.8.5 makes them, unless the variable is marked itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluidio as fluid


def _penalty() -> tuple[fluid.Program, list[Any]]:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        real, fake = fluid.layers.data("real", [3]), fluid.layers.data("fake", [3])
        share = fluid.layers.uniform_random_batch_size_like(real, [-1], min=0.0, max=1.0, seed=7)
        between = fluid.layers.elementwise_mul(fake - real, share, axis=0) + real
        found = fluid.gradients([fluid.layers.reduce_sum(fluid.layers.square(between))], between)
    return main, [between, *found]


def test_a_mix_of_data_has_a_gradient() -> None:
    main, (between, gradient) = _penalty()
    feed = {"real": np.ones((2, 3), "float32"), "fake": np.arange(6.0, dtype="float32").reshape(2, 3)}
    value, found = fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=[between, gradient])
    np.testing.assert_allclose(found, 2 * value, rtol=1e-6)


def test_gradients_end_at_the_inputs_asked_for() -> None:
    main, _ = _penalty()
    ops = [op.type for op in main.global_block().ops]
    assert [name for name in ops if name.endswith("_grad")] == ["reduce_sum_grad", "square_grad"]


def test_training_makes_the_gradients_of_values_computed_from_data() -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x, share = fluid.layers.data("x", [3]), fluid.layers.data("share", [1])
        rest = 1 - share
        loss = fluid.layers.mean(fluid.layers.fc(x, 1) * rest)
        fluid.optimizer.SGD(0.1).minimize(loss)
    assert main.global_block().has_var(rest.name + "@GRAD")
    assert not main.global_block().has_var("share@GRAD")
