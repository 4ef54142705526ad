"""Random numbers are the same bits in C and in NumPy, in one piece and in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fluidio.ops.random import engine

SEEDS = [0, 1, 3, 2147483646, 2147483647, 12345678901]
COUNTS = [0, 1, 7, 8, 9, 4097, engine._CACHED + 3]


def made(seed: int, count: int) -> list[bytes]:
    """Return the bits of every distribution."""
    arrays: list[Any] = [engine.canonical(seed, count), engine.canonical(seed, count, np.float64)]
    for dtype in ("float32", "float64", "float16"):
        arrays.append(engine.uniform(seed, [count], -0.3, 0.7, dtype))
    arrays += [engine.normal(seed, [count], 0.1, 0.7, "float32"), engine.truncated_normal(seed, [count], 0.1, 0.7)]
    return [array.tobytes() for array in arrays]


@pytest.mark.skipif(engine.compiled is None, reason="there was no C compiler when fluidio was installed")
@pytest.mark.parametrize("seed", SEEDS)
def test_c_and_numpy_draw_the_same_bits(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_c = [made(seed, count) for count in COUNTS]
    monkeypatch.setattr(engine, "compiled", None)
    assert [made(seed, count) for count in COUNTS] == in_c


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_left_out_are_drawn_all_the_same(dtype: Any) -> None:
    whole = engine.canonical(5, 9000, dtype)
    np.testing.assert_array_equal(engine.canonical(5, 100, dtype, 5000), whole[5000:5100])


def in_one_piece(monkeypatch: pytest.MonkeyPatch, draw: Callable[[], Any]) -> Any:
    monkeypatch.setattr(engine, "_CACHED", 1 << 24)
    return draw()


def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3 * engine._CACHED + 5
    normal = engine.normal(7, [count], 0.0, 1.0, "float32")
    cut = engine.truncated_normal(7, [count], 0.0, 1.0)
    np.testing.assert_array_equal(
        in_one_piece(monkeypatch, lambda: engine.normal(7, [count], 0.0, 1.0, "float32")), normal
    )
    np.testing.assert_array_equal(engine.truncated_normal(7, [count], 0.0, 1.0), cut)


@pytest.mark.skipif(engine.compiled is None, reason="there was no C compiler when fluidio was installed")
def test_c_refuses_what_is_no_state_and_no_float32() -> None:
    for out, state in ((np.zeros(3, np.uint8), 1), (np.zeros(4, np.float32), 0), (np.zeros(4, np.float32), 2**31 - 1)):
        with pytest.raises(ValueError, match="needs a buffer of float32 and a state"):
            engine.compiled.uniform(out, state, 1.0, 0.0)
