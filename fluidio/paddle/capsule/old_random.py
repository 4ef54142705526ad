"""Python 2.7's random: shuffle, sample, choice and randint drew other numbers from the same generator."""

from __future__ import annotations

import math
import numbers
import random
from collections.abc import Callable
from typing import Any, Protocol

from fluidio.paddle.capsule.old_hash import hash_of

__all__ = ["Random", "betavariate", "choice", "gammavariate", "randint", "randrange", "sample", "seed", "shuffle"]

_WIDEST = 1 << 53


class _Source(Protocol):
    """A generator of random numbers: random.Random, or the module itself."""

    def random(self) -> float: ...

    def getrandbits(self, k: int, /) -> int: ...


def _below(source: _Source, n: int) -> int:
    bits = int(1.00001 + math.log(n - 1, 2.0))
    found: int = source.getrandbits(bits)
    while found >= n:
        found = source.getrandbits(bits)
    return found


def _drawn(source: _Source, n: int) -> int:
    return _below(source, n) if n >= _WIDEST else int(source.random() * n)


def _randrange(source: _Source, start: object, stop: object = None, step: object = 1) -> int:
    first, last = (0, _whole(start)) if stop is None else (_whole(start), _whole(stop))
    stride = _whole(step)
    width = last - first
    count = width if stride == 1 else (width + stride - (1 if stride > 0 else -1)) // stride if stride else 0
    if count <= 0:
        raise ValueError("empty range for randrange()" if stride else "zero step for randrange()")
    return int(first + stride * _drawn(source, count))


def _whole(value: Any) -> int:
    if int(value) != value:
        raise ValueError(f"non-integer value for randrange(): {value}")
    return int(value)


def _sample(source: _Source, population: Any, k: int) -> list[Any]:
    n = len(population)
    if not 0 <= k <= n:
        raise ValueError("sample larger than population")
    size = 21 + (4 ** math.ceil(math.log(k * 3, 4)) if k > 5 else 0)
    if n <= size or hasattr(population, "keys"):
        pool = list(population)
        found = []
        for i in range(k):
            j = int(source.random() * (n - i))
            found.append(pool[j])
            pool[j] = pool[n - i - 1]
        return found
    values = population
    if not hasattr(population, "__getitem__"):
        source.random()  # a set was found to have no places after the first draw
        values = tuple(population)
    places: dict[int, None] = {}
    while len(places) < k:
        places[int(source.random() * n)] = None
    return [values[place] for place in places]


def _shuffle(source: _Source, x: Any, draw: Callable[[], float] | None = None) -> None:
    draw = draw or source.random
    for i in range(len(x) - 1, 0, -1):
        j = int(draw() * (i + 1))
        x[i], x[j] = x[j], x[i]


def _gamma(source: _Source, others: Callable[[float, float], float], alpha: float, beta: float) -> float:
    if alpha != 1.0:
        return others(alpha, beta)
    drawn = source.random()
    while drawn <= 1e-7:
        drawn = source.random()
    return -math.log(drawn) * beta


def _beta(gamma: Callable[[float, float], float], alpha: float, beta: float) -> float:
    first = gamma(alpha, 1.0)
    return first / (first + gamma(beta, 1.0)) if first else 0.0


def _seed_of(value: object) -> Any:
    """Return a seed as Python 2 made a number of it."""
    if isinstance(value, numbers.Integral):
        return int(value)
    return value if value is None else hash_of(value) & (1 << 64) - 1


class Random(random.Random):
    """random.Random of Python 2."""

    def seed(self, a: object = None, version: int = 2) -> None:
        """Begin a sequence."""
        super().seed(_seed_of(a))

    def choice(self, seq: Any) -> Any:
        """Return an element."""
        return seq[int(self.random() * len(seq))]

    def randint(self, a: Any, b: Any) -> int:
        """Return an integer in [a, b]."""
        return _randrange(self, a, b + 1)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """Return an element of range(...)."""
        return _randrange(self, start, stop, step)

    def sample(self, population: object, k: int, *, counts: object = None) -> list[Any]:
        """Return k elements, each at most once."""
        return _sample(self, population, k)

    def gammavariate(self, alpha: float, beta: float) -> float:
        """Return a number of a gamma distribution."""
        return _gamma(self, super().gammavariate, alpha, beta)

    def betavariate(self, alpha: float, beta: float) -> float:
        """Return a number of a beta distribution."""
        return _beta(self.gammavariate, alpha, beta)

    def shuffle(self, x: Any, random: Callable[[], float] | None = None) -> None:
        """Shuffle a list in place."""
        _shuffle(self, x, random)


def gammavariate(alpha: float, beta: float) -> float:
    """Return a number of a gamma distribution."""
    return _gamma(random, random.gammavariate, alpha, beta)


def betavariate(alpha: float, beta: float) -> float:
    """Return a number of a beta distribution."""
    return _beta(gammavariate, alpha, beta)


def seed(a: Any = None) -> None:
    """Begin a sequence of the shared generator."""
    random.seed(_seed_of(a))


def choice(seq: Any) -> object:
    """Return an element."""
    return seq[int(random.random() * len(seq))]


def randint(a: object, b: Any) -> int:
    """Return an integer in [a, b]."""
    return _randrange(random, a, b + 1)


def randrange(*args: object) -> int:
    """Return an element of range(...)."""
    return _randrange(random, *args)


def sample(population: object, k: int) -> list[object]:
    """Return k elements, each at most once."""
    return _sample(random, population, k)


def shuffle(x: object, random: Callable[[], float] | None = None) -> None:
    """Shuffle a list in place."""
    _shuffle(_SHARED, x, random)


_SHARED = random
