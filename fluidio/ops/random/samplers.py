"""Draw classes as the original's samplers do, with the engine mt19937_64."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidio.ops.random import engine
from fluidio.tensor.array import Array

__all__ = ["AliasSampler", "LogUniformSampler", "UniformSampler", "alias_tables", "mt19937_64"]

_SIZE, _HALF = 312, 156
_UPPER, _LOWER = np.uint64(0xFFFFFFFF80000000), np.uint64(0x7FFFFFFF)
_TWIST = np.uint64(0xB5026F5AA96619E9)


def _twisted(words: Array, following: Array) -> Array:
    mixed = (words & _UPPER) | (following & _LOWER)
    return (mixed >> np.uint64(1)) ^ ((mixed & np.uint64(1)) * _TWIST)


def _tempered(y: Array) -> Array:
    y = y ^ ((y >> np.uint64(29)) & np.uint64(0x5555555555555555))
    y = y ^ ((y << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000))
    y = y ^ ((y << np.uint64(37)) & np.uint64(0xFFF7EEE000000000))
    return y ^ (y >> np.uint64(43))


def mt19937_64(seed: int) -> Iterator[int]:
    """Yield what C++'s std::mt19937_64 gives after this seed."""
    words = [seed & 0xFFFFFFFFFFFFFFFF]
    for i in range(1, _SIZE):
        words.append((6364136223846793005 * (words[-1] ^ (words[-1] >> 62)) + i) & 0xFFFFFFFFFFFFFFFF)
    state = np.array(words, np.uint64)
    while True:
        # Each half depends only on the other one, except the last word, which depends on the first.
        state[:_HALF] = state[_HALF:] ^ _twisted(state[:_HALF], state[1 : _HALF + 1])
        state[_HALF:-1] = state[: _HALF - 1] ^ _twisted(state[_HALF:-1], state[_HALF + 1 :])
        state[-1:] = state[_HALF - 1 : _HALF] ^ _twisted(state[-1:], state[:1])
        yield from _tempered(state).tolist()


def _words(seed: int, count: int) -> Array:
    """Return the first numbers of mt19937_64."""
    if engine.compiled is None:
        return np.fromiter(mt19937_64(seed), np.uint64, count)
    found = np.empty(count, np.uint64)
    engine.compiled.words(found, seed & 0xFFFFFFFFFFFFFFFF)
    return found


class UniformSampler:
    """Classes 0 ... largest, equally likely."""

    def __init__(self, largest: int, seed: int) -> None:
        self.largest = largest
        self._seed = seed
        self._words = mt19937_64(seed)

    def first(self, count: int) -> Array:
        """Return what the first `count` calls of `sample` give."""
        scaling = 0xFFFFFFFFFFFFFFFF // (self.largest + 1)
        asked = count
        while True:
            words = _words(self._seed, asked)
            words = words[words < np.uint64((self.largest + 1) * scaling)]
            if words.size >= count:
                return (words[:count] // np.uint64(scaling)).astype(np.int64)
            asked = 2 * asked + 16

    def sample(self) -> int:
        bound = self.largest + 1
        scaling = 0xFFFFFFFFFFFFFFFF // bound
        while (word := next(self._words)) >= bound * scaling:
            pass
        return word // scaling

    def probability(self, classes: Array) -> Array:
        return np.full(np.shape(classes), np.float32(1.0 / (self.largest + 1)))


def alias_tables(probabilities: Any) -> tuple[list[int], list[float]]:
    """Return the alias of each class (-1: none) and its probability of being kept, in Fluid's order of pairing."""
    shares = [float(p) * len(probabilities) for p in probabilities]
    large = [(i, p) for i, p in enumerate(shares) if p > 1.0]
    small = [(i, p) for i, p in enumerate(shares) if p < 1.0]
    alias, chance = [-1] * len(shares), [1.0] * len(shares)
    while large and small:
        big, rest = large.pop(0)
        little, share = small.pop(0)
        alias[little], chance[little] = big, share
        rest += share - 1.0
        if rest > 1.0:
            large.append((big, rest))
        elif rest < 1.0:
            small.append((big, rest))
    return alias, chance


class AliasSampler:
    """Classes with given probabilities: a uniformly drawn class is kept or replaced by its alias.

    Fluid: this sampler uses the 32-bit engine, whose numbers are those of NumPy's legacy generator.
    """

    def __init__(self, alias: Any, chance: Any, seed: int) -> None:
        self._alias, self._chance = np.asarray(alias, np.int64), np.asarray(chance, np.float64)
        self._seed = seed & 0xFFFFFFFF
        self._words = np.random.RandomState(self._seed)

    def first(self, count: int) -> Array:
        """Return what the first `count` calls of `sample` give."""
        bound, words = self._alias.size, np.random.RandomState(self._seed)
        drawn = words.randint(0, 1 << 32, (count, 3), np.uint32)
        scaling = 0xFFFFFFFF // bound
        if (drawn[:, 0] >= bound * scaling).any():  # one that is left out moves all the others
            return np.array([self.sample() for _ in range(count)], np.int64)
        number = (drawn[:, 0] // np.uint32(scaling)).astype(np.int64)
        share = (drawn[:, 1].astype(np.float64) + drawn[:, 2] * 4294967296.0) / 18446744073709551616.0
        other = self._alias[number]
        return np.where((share <= self._chance[number]) | (other == -1), number, other)

    def _word(self) -> int:
        return int(self._words.randint(0, 1 << 32, dtype=np.uint32))

    def sample(self) -> int:
        bound = self._alias.size
        scaling = 0xFFFFFFFF // bound
        while (word := self._word()) >= bound * scaling:
            pass
        number = word // scaling
        low = self._word()
        itself = (low + self._word() * 4294967296.0) / 18446744073709551616.0 <= self._chance[number]
        return number if itself or self._alias[number] == -1 else int(self._alias[number])


class LogUniformSampler:
    """Classes below `count`, low ones more likely: P(c) = log((c + 2) / (c + 1)) / log(count + 1)."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self._range = math.log(count + 1)
        self._seed = seed
        self._words = mt19937_64(seed)

    def first(self, count: int) -> Array:
        """Return what the first `count` calls of `sample` give."""
        powers = _words(self._seed, count).astype(np.float64) / 18446744073709551616.0 * self._range
        # The exponentials of the C library: NumPy's differ by an ulp now and then.
        found = np.fromiter(map(math.exp, powers.tolist()), np.float64, count)
        return (found.astype(np.int64) - 1) % self.count

    def sample(self) -> int:
        return (int(math.exp(next(self._words) / 18446744073709551616.0 * self._range)) - 1) % self.count

    def probability(self, classes: Array) -> Array:
        numbers = np.asarray(classes, np.float64)
        return (np.log((numbers + 2.0) / (numbers + 1.0)) / self._range).astype(np.float32)
