"""Fluid's random numbers on the CPU, bit for bit: every op has a new `minstd_rand` engine.

s <- 48271 s mod (2^31 - 1); the first number uses the state after one step. Vectorised by jumping ahead in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from os import urandom
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.ops.random.logarithm import log32
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _draws as compiled
except ImportError:
    compiled = None

__all__ = ["canonical", "compiled", "draws", "normal", "os_seed", "state_after", "truncated_normal", "uniform"]

_MULTIPLIER = 48271
_MODULUS = 2147483647
_BLOCK = 4096
_CACHED = 1 << 15
"""Numbers that are worked on at once: they and what is made of them stay in the cache."""


def os_seed() -> int:
    """Return a seed from the operating system, for ops whose seed is 0."""
    return int.from_bytes(urandom(4), "little")


@cache
def _powers() -> npt.NDArray[np.uint64]:
    powers = np.empty(_BLOCK, np.uint64)
    power = 1
    for index in range(_BLOCK):
        power = power * _MULTIPLIER % _MODULUS
        powers[index] = power
    return powers


def state_after(seed: int, skip: int = 0) -> int:
    """Return the state after `skip` steps of the engine seeded with `seed` (as an unsigned 32-bit number)."""
    return ((int(seed) & 0xFFFFFFFF) % _MODULUS or 1) * pow(_MULTIPLIER, skip, _MODULUS) % _MODULUS


def draws(seed: int, count: int, skip: int = 0) -> npt.NDArray[np.uint64]:
    """Return `count` states of an engine after skipping `skip`."""
    state = state_after(seed, skip)
    rows = -(-count // _BLOCK)
    # The states at block starts follow by jumping _BLOCK steps; each factor is below 2^31, so products fit 62 bits.
    starts = np.empty(rows, np.uint64)
    jump = pow(_MULTIPLIER, _BLOCK, _MODULUS)
    for row in range(rows):
        starts[row] = state
        state = state * jump % _MODULUS
    states: npt.NDArray[np.uint64] = (starts[:, None] * _powers() % np.uint64(_MODULUS)).reshape(-1)[:count]
    return states


def canonical(seed: int, count: int, dtype: npt.DTypeLike = np.float32, skip: int = 0) -> Array:
    """Return `count` numbers in [0, 1] after skipping `skip`; a float32 takes one draw, a float64 two.

    Fluid: 62 states give exactly 1.0 in float32; neither Fluid nor fluidio clamps them.
    """
    if np.dtype(dtype) == np.float32:
        return _interval(seed, count, np.float32(1), np.float32(0), skip)
    pairs = (draws(seed, 2 * count, 2 * skip) - np.uint64(1)).astype(np.float64).reshape(count, 2)
    span = np.float64(2147483646.0)
    mixed: Array = (pairs[:, 0] + pairs[:, 1] * span) / (span * span)
    return mixed


def _interval(seed: int, count: int, span: np.float32, low: np.float32, skip: int = 0) -> npt.NDArray[np.float32]:
    """Return `count` float32 numbers in [low, low + span], rounded after the product and after the sum."""
    if compiled is not None:
        filled = np.empty(count, np.float32)
        compiled.uniform(filled, state_after(seed, skip), span, low)
        return filled
    drawn = (draws(seed, count, skip) - np.uint64(1)).astype(np.float32) / np.float32(2147483648.0)
    return drawn * span + low


def _working(dtype: npt.DTypeLike) -> Any:
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


def uniform(seed: int, shape: Sequence[int], low: float, high: float, dtype: npt.DTypeLike, skip: int = 0) -> Array:
    """Return uniform numbers in [low, high] after skipping `skip`."""
    kind = _working(dtype)
    lo, hi = kind(np.float32(low)), kind(np.float32(high))  # op attributes are float32
    count = math.prod(shape)
    drawn: Array
    if kind is np.float32:
        drawn = _interval(seed, count, hi - lo, lo, skip)
    else:
        drawn = canonical(seed, count, kind, skip) * (hi - lo) + lo
    return drawn.astype(dtype, copy=False).reshape(shape)


def normal(seed: int, shape: Sequence[int], mean: float, std: float, dtype: npt.DTypeLike) -> Array:
    """Return normal numbers by the polar method: y*m, then x*m of each accepted pair."""
    kind = _working(dtype)
    count = math.prod(shape)
    pairs = np.empty(((count + 1) // 2, 2), kind)
    filled = skip = 0
    while filled < pairs.shape[0]:
        block = min(_CACHED, int((pairs.shape[0] - filled) * 1.35) + 64)  # a pair is accepted with probability pi / 4
        made = _polar(canonical(seed, 2 * block, kind, skip).reshape(block, 2), kind)[: pairs.shape[0] - filled]
        pairs[filled : filled + made.shape[0]] = made
        filled, skip = filled + made.shape[0], skip + 2 * block
    z = pairs.reshape(-1)[:count]
    z *= kind(np.float32(std))
    z += kind(np.float32(mean))
    return z.astype(dtype, copy=False).reshape(shape)


def _polar(u: Array, kind: Any) -> Array:
    """Return normal pairs made from pairs of numbers in [0, 1]; not every pair gives one."""
    x, y = kind(2) * u[:, 0] - kind(1), kind(2) * u[:, 1] - kind(1)
    r2 = x * x + y * y
    accepted = (r2 <= 1) & (r2 != 0)
    x, y, r2 = x[accepted], y[accepted], r2[accepted]
    m = np.sqrt(kind(-2) * _log(r2) / r2)
    return np.stack([y * m, x * m], axis=1)


def _log(values: Array) -> npt.NDArray[Any]:
    """Return logarithms as the C library computes them; NumPy's differ by an ulp now and then."""
    if values.dtype == np.float64:
        return np.fromiter(map(math.log, values.tolist()), np.float64, values.size)
    return log32(values)


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


def _polynomial(coefficients: tuple[float, ...], r: Array) -> Array:
    total = np.full_like(r, np.float32(coefficients[0]))
    for coefficient in coefficients[1:]:
        total *= r
        total += np.float32(coefficient)
    return total


def truncated_normal(seed: int, shape: Sequence[int], mean: float, std: float) -> Array:
    """Return float32 normal numbers truncated at two standard deviations, one draw each, by the inverse CDF.

    Fluid: its inverse error function uses the formula for the centre everywhere; so does this one, for equal bits.
    """
    count = math.prod(shape)
    result = np.empty(count, np.float32)
    for start in range(0, count, _CACHED):
        part = result[start : start + _CACHED]
        part[:] = _truncated(canonical(seed, part.size, np.float32, start), mean, std)
    return result.reshape(shape)


def _truncated(u: Array, mean: float, std: float) -> Array:
    """Map numbers in [0, 1] to a truncated normal distribution."""
    tiny = np.float32(1.17549435e-38)
    v = u * (np.float32(1) - tiny) + tiny
    low = np.float32((1.0 + math.erf(-2.0 / math.sqrt(2.0))) / 2.0)
    high = np.float32((1.0 + math.erf(2.0 / math.sqrt(2.0))) / 2.0)
    q = np.float32(2) * (low + (high - low) * v) - np.float32(1)
    wide = q.astype(np.float64)
    r = (0.180625 - 0.25 * wide * wide).astype(np.float32)
    e = q * _polynomial(_NUMERATOR, r) / _polynomial(_DENOMINATOR, r)
    scaled: Array = math.sqrt(2.0) * e.astype(np.float64) * np.float64(np.float32(std))
    scaled += np.float64(np.float32(mean))
    return scaled
