"""A sum adds up in place only where nobody else sees the memory of its first input."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluidio as fluid


def run(fetch: list[Any], feed: dict[str, Any]) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch)


def test_sums_of_temporaries_are_right_step_after_step() -> None:
    x = fluid.layers.data("x", [3])
    total = fluid.layers.sums([fluid.layers.scale(x, 2.0), fluid.layers.scale(x, 3.0), fluid.layers.scale(x, 4.0)])
    value = np.arange(6, dtype="float32").reshape(2, 3)
    for _ in range(3):
        assert np.array_equal(run([total], {"x": value})[0], 9 * value)
    assert np.array_equal(value, np.arange(6).reshape(2, 3))


def test_a_fed_array_is_not_added_to() -> None:
    x, y = fluid.layers.data("x", [3]), fluid.layers.data("y", [3])
    total = fluid.layers.sums([x, y])
    a, b = np.ones((2, 3), "float32"), np.full((2, 3), 2, "float32")
    assert np.array_equal(run([total], {"x": a, "y": b})[0], a + b)
    assert (a == 1).all() and (b == 2).all()


def test_a_view_of_the_first_input_that_lives_on_is_not_changed() -> None:
    x = fluid.layers.data("x", [4])
    doubled = fluid.layers.scale(x, 2.0)
    seen = fluid.layers.reshape(doubled, [-1, 2])  # shares memory with `doubled`
    total = fluid.layers.sums([doubled, x])
    later = fluid.layers.scale(seen, 1.0)
    value = np.arange(8, dtype="float32").reshape(2, 4)
    got, kept = run([total, later], {"x": value})
    assert np.array_equal(got, 3 * value)
    assert np.array_equal(kept, 2 * value.reshape(-1, 2))


def test_fetched_parts_and_equal_parts_are_not_changed() -> None:
    x = fluid.layers.data("x", [3])
    part = fluid.layers.scale(x, 2.0)
    twice = fluid.layers.sums([part, part])
    other = fluid.layers.scale(x, 5.0)
    total = fluid.layers.sums([other, part])
    value = np.ones((1, 3), "float32")
    got = run([part, twice, other, total], {"x": value})
    assert [float(a[0, 0]) for a in got] == [2, 4, 5, 7]
