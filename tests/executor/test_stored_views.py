"""What a startup program draws becomes the parameter itself: a large table is not copied."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


@pytest.mark.parametrize(
    "initializer", [fluid.initializer.Uniform(-0.1, 0.1, seed=3), fluid.initializer.Normal(0.0, 1.0, seed=3)]
)
def test_a_drawn_table_takes_its_memory_once(initializer: Any) -> None:
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    with fluid.program_guard(main, startup), fluid.scope_guard(scope):
        word = L.data("word", [1], dtype="int64")
        L.embedding(word, [50_000, 16], param_attr=fluid.ParamAttr("table", initializer=initializer))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        size = np.asarray(scope.var("table").get_tensor()).nbytes
        scope.var("table").get_tensor().set(np.zeros((50_000, 16), np.float32), fluid.CPUPlace())
        tracemalloc.start()
        try:
            exe.run(startup)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 1.9 * size, (peak, size)


def test_a_parameter_assigned_from_a_view_of_another_has_memory_of_its_own() -> None:
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    with fluid.program_guard(main, startup), fluid.scope_guard(scope):
        source = L.create_parameter([2, 6], "float32", name="source")
        target = L.create_global_var([3, 4], 0.0, "float32", persistable=True, name="target")
        L.assign(L.reshape(source, [3, 4]), target)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        exe.run(main)
        before = np.array(scope.var("source").get_tensor())
        np.asarray(scope.var("target").get_tensor())[...] = 7
        np.testing.assert_array_equal(np.array(scope.var("source").get_tensor()), before)
