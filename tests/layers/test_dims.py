"""Sizes that scripts give: whole numbers of any kind, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers
BUILDERS: list[Callable[[Any], Any]] = [
    lambda size: L.fc(L.data("x", [6]), size),
    lambda size: L.conv2d(L.data("x", [4, 8, 8]), size, 3),
    lambda size: L.embedding(L.data("i", [1], dtype="int64"), [5, size]),
    lambda size: L.data("x", [size, 3]),
    lambda size: fluid.data("x", [3, size]),
    lambda size: fluid.default_main_program().global_block().create_var(name="v", shape=[3, size], dtype="float32"),
]


@pytest.mark.parametrize("number", range(len(BUILDERS)))
def test_a_size_is_a_whole_number(number: int) -> None:
    for size in (2, 2.0, np.int64(2), np.array([2]), np.array(2)):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            assert 2 in BUILDERS[number](size).shape
    for wrong in (2.5, "2", np.float32(2.5)):
        with fluid.program_guard(fluid.Program(), fluid.Program()), pytest.raises(TypeError):
            BUILDERS[number](wrong)


def test_numbers_of_numpy_are_numbers() -> None:
    one: Any = lambda value: np.array([value])  # noqa: E731
    x = L.fill_constant([2, 3], "float32", one(2.0))
    dims: Any = [np.int64(1), np.int32(0)]
    total = L.reduce_sum(x, dim=dims[0])
    steps = L.arange(one(0), one(4), one(1), "int32")
    zeros = L.logsumexp(L.scale(x, scale=one(0.0)), dim=dims[1])
    found = fluid.Executor().run(fetch_list=[total, steps, zeros])
    assert [each.tolist() for each in found[:2]] == [[6.0, 6.0], [0, 1, 2, 3]]
    assert found[2] == pytest.approx(np.log([2.0] * 3))
