"""Random numbers are the same bits in C and in NumPy, in one piece and in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fluidio.ops.random import engine, integers, samplers

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


@pytest.mark.parametrize("in_c", [True, False])
@pytest.mark.parametrize("seed", [1, 2147483647, 12345678901])
def test_many_integers_are_those_drawn_one_by_one(seed: int, in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_c:
        monkeypatch.setattr(engine, "compiled", None)
    for low, high in ((0, 1), (-5, 7), (0, 1 << 30), (3, 1500000003), (0, 2147483645), (-10, 2147483640)):
        one = integers.Integers(seed)
        wanted = [one.below(high - low) + low for _ in range(200)]
        assert integers.integers(seed, 200, low, high).tolist() == wanted
    drawn, order = integers.c_rand(seed), list(range(50))
    for i in range(1, 50):
        j = next(drawn) % (i + 1)
        order[i], order[j] = order[j], order[i]
    assert integers.permutation(50, seed).tolist() == order
    assert integers.permutation(0, seed).tolist() == []


@pytest.mark.parametrize("in_c", [True, False])
def test_many_classes_are_those_drawn_one_by_one(in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_c:
        monkeypatch.setattr(engine, "compiled", None)
    alias, chance = samplers.alias_tables([0.1, 0.5, 0.05, 0.3, 0.05])
    kinds: list[Callable[[], Any]] = [
        lambda: samplers.UniformSampler(12, 7),
        lambda: samplers.UniformSampler((1 << 63) + 5, 7),  # almost half of the numbers are left out
        lambda: samplers.LogUniformSampler(1000, 7),
        lambda: samplers.AliasSampler(alias, chance, 7),
    ]
    for make in kinds[:1] + kinds[2:]:
        one = make()
        assert make().first(700).tolist() == [one.sample() for _ in range(700)]
    one = kinds[1]()
    wanted = np.array([one.sample() for _ in range(700)], np.uint64).astype(np.int64)
    np.testing.assert_array_equal(kinds[1]().first(700), wanted)


@pytest.mark.skipif(engine.compiled is None, reason="there was no C compiler when fluidio was installed")
def test_c_refuses_bounds_and_buffers_that_do_not_fit() -> None:
    for state, bound in ((0, 5), (1, 0), (1, 2147483646), (2147483647, 5)):
        with pytest.raises(ValueError, match="a bound below"):
            engine.compiled.below(np.zeros(3, np.int64), state, bound, 0)
    with pytest.raises(ValueError):
        engine.compiled.below(np.zeros(3, np.int8), 1, 5, 0)
    with pytest.raises(ValueError, match="31 words"):
        engine.compiled.shuffle(np.zeros(3, np.int64), np.zeros(30, np.uint32))
    with pytest.raises(ValueError, match="uint64"):
        engine.compiled.words(np.zeros(3, np.int8), 1)
