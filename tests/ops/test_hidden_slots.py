"""Slots of data_norm that begin with zero: 1.8.5 hides their values, and their gradients where it scales and shifts."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


@pytest.mark.parametrize(("shifts", "hidden"), [(False, 1.0), (True, 0.0)])
def test_a_hidden_slot_has_a_gradient_unless_it_is_scaled_and_shifted(shifts: bool, hidden: float) -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        x = fluid.data("x", [2, 4])
        x.stop_gradient = False
        y = fluid.layers.data_norm(x, slot_dim=2, enable_scale_and_shift=shifts)
        (dx,) = fluid.gradients([y], [x])
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"x": np.array([[0, 0.7, 1, 0], [1, 0.2, 0, 3]], "float32")}
        values, gradients = exe.run(main, feed=feed, fetch_list=[y, dx])
    np.testing.assert_allclose(values, np.array([[0, 0, 1, 0], [1, 0.2, 0, 0]]), rtol=1e-6)
    expected = np.array([[hidden, hidden, 1, 1], [1, 1, hidden, hidden]])
    np.testing.assert_allclose(gradients, expected, rtol=1e-6)
