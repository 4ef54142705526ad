"""Fluid's random numbers on the CPU, bit for bit: every op owns a fresh `minstd_rand`.

s <- 48271 s mod (2^31 - 1); the first number uses the state after one step. Vectorised by jumping ahead in blocks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["canonical", "draws", "normal", "os_seed", "truncated_normal", "uniform"]

_MULTIPLIER = 48271
_MODULUS = 2147483647
_BLOCK = 4096


def os_seed() -> int:
    """Return a seed from the operating system, for ops whose seed is 0."""
    return int.from_bytes(os.urandom(4), "little")


@cache
def _powers() -> npt.NDArray[np.uint64]:
    powers = np.empty(_BLOCK, np.uint64)
    power = 1
    for index in range(_BLOCK):
        power = power * _MULTIPLIER % _MODULUS
        powers[index] = power
    return powers


def draws(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """Return the first `count` states of the engine seeded with `seed` (as an unsigned 32-bit number)."""
    state = (int(seed) & 0xFFFFFFFF) % _MODULUS or 1
    rows = -(-count // _BLOCK)
    # The states at block starts follow by jumping _BLOCK steps; each factor is below 2^31, so products fit 62 bits.
    starts = np.empty(rows, np.uint64)
    jump = pow(_MULTIPLIER, _BLOCK, _MODULUS)
    for row in range(rows):
        starts[row] = state
        state = state * jump % _MODULUS
    states: npt.NDArray[np.uint64] = (starts[:, None] * _powers() % np.uint64(_MODULUS)).reshape(-1)[:count]
    return states


def canonical(seed: int, count: int, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """Return `count` numbers in [0, 1]: float32 takes one draw each, float64 two.

    Fluid: 62 states give exactly 1.0 in float32; they are not clamped there, nor here.
    """
    if np.dtype(dtype) == np.float32:
        return (draws(seed, count) - np.uint64(1)).astype(np.float32) / np.float32(2147483648.0)
    pairs = (draws(seed, 2 * count) - np.uint64(1)).astype(np.float64).reshape(count, 2)
    span = np.float64(2147483646.0)
    mixed: npt.NDArray[Any] = (pairs[:, 0] + pairs[:, 1] * span) / (span * span)
    return mixed


def _working(dtype: npt.DTypeLike) -> Any:
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


def uniform(seed: int, shape: Sequence[int], low: float, high: float, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return uniform numbers in [low, high]."""
    kind = _working(dtype)
    lo, hi = kind(np.float32(low)), kind(np.float32(high))  # op attributes are float32
    drawn: npt.NDArray[Any] = canonical(seed, math.prod(shape), kind) * (hi - lo) + lo
    return drawn.astype(dtype).reshape(shape)


def normal(seed: int, shape: Sequence[int], mean: float, std: float, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return normal numbers by the polar method: of each accepted pair y*m comes first, then x*m."""
    kind = _working(dtype)
    count = math.prod(shape)
    need = (count + 1) // 2
    pairs = int(need * 1.35) + 64  # a pair is accepted with probability pi / 4
    while True:
        u = canonical(seed, 2 * pairs, kind).reshape(pairs, 2)
        x, y = kind(2) * u[:, 0] - kind(1), kind(2) * u[:, 1] - kind(1)
        r2 = x * x + y * y
        accepted = (r2 <= 1) & (r2 != 0)
        if np.count_nonzero(accepted) >= need:
            break
        pairs *= 2
    x, y, r2 = x[accepted][:need], y[accepted][:need], r2[accepted][:need]
    # float32 np.log is off by 1 ulp in a tenth of its results: go through float64.
    m = np.sqrt(kind(-2) * _log(r2).astype(kind) / r2)
    z = np.stack([y * m, x * m], axis=1).reshape(-1)[:count]
    scaled: npt.NDArray[Any] = (z * kind(np.float32(std)) + kind(np.float32(mean))).astype(dtype).reshape(shape)
    return scaled


def _log(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return logarithms in float64; of float64 numbers those of the C library, from which NumPy's differ by an ulp."""
    if values.dtype == np.float64:
        return np.fromiter(map(math.log, values.tolist()), np.float64, values.size)
    logs: npt.NDArray[np.float64] = np.log(values.astype(np.float64))
    return logs


_NUMERATOR = (
    8.8709406962545514830200e2,
    1.1819493347062294404278e4,
    2.3782041382114385731252e4,
    1.6235862515167575384252e4,
    4.8548868893843886794648e3,
    6.9706266534389598238465e2,
    4.7072688112383978012285e1,
    1.1975323115670912564578e0,
)
_DENOMINATOR = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)


def _polynomial(coefficients: tuple[float, ...], r: npt.NDArray[Any]) -> npt.NDArray[Any]:
    total = np.full_like(r, np.float32(coefficients[0]))
    for coefficient in coefficients[1:]:
        total = total * r + np.float32(coefficient)
    return total


def truncated_normal(seed: int, shape: Sequence[int], mean: float, std: float) -> npt.NDArray[Any]:
    """Return float32 normal numbers cut at two standard deviations, by the inverse distribution of one draw each.

    Fluid: its inverse error function uses the formula for the centre everywhere; so do we, for equal bits.
    """
    tiny = np.float32(1.17549435e-38)
    v = canonical(seed, math.prod(shape)) * (np.float32(1) - tiny) + tiny
    low = np.float32((1.0 + math.erf(-2.0 / math.sqrt(2.0))) / 2.0)
    high = np.float32((1.0 + math.erf(2.0 / math.sqrt(2.0))) / 2.0)
    q = np.float32(2) * (low + (high - low) * v) - np.float32(1)
    wide = q.astype(np.float64)
    r = (0.180625 - 0.25 * wide * wide).astype(np.float32)
    e = q * _polynomial(_NUMERATOR, r) / _polynomial(_DENOMINATOR, r)
    scaled = math.sqrt(2.0) * e.astype(np.float64) * np.float64(np.float32(std)) + np.float64(np.float32(mean))
    result: npt.NDArray[Any] = scaled.astype(np.float32).reshape(shape)
    return result
