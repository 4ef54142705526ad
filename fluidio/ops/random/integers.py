"""Random integers from the original's engine: randint, randperm."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.ops.kernel import Call
from fluidio.ops.random import engine
from fluidio.ops.random.engine import draws, os_seed, state_after
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__ = ["Integers", "c_rand", "integers", "permutation"]

_RANGE = 2147483645  # the engine's largest state minus its smallest


class Integers:
    """Integers from one engine, each below its own bound, as C++'s uniform_int_distribution draws them."""

    def __init__(self, seed: int) -> None:
        self._states = self._stream(seed)

    @staticmethod
    def _stream(seed: int) -> Iterator[int]:
        count = 64
        start = 0
        while True:
            states = draws(seed, count)
            yield from (int(s) - 1 for s in states[start:])
            start, count = count, count * 2

    def below(self, bound: int) -> int:
        """Return a number in [0, bound)."""
        if bound > _RANGE:  # two draws are the digits of a number in a larger base
            return self._wide(bound)
        scaling = _RANGE // bound
        while (state := next(self._states)) >= bound * scaling:
            pass
        return state // scaling

    def _wide(self, bound: int) -> int:
        if bound == _RANGE + 1:
            return next(self._states)
        while True:
            high = self.below((bound - 1) // (_RANGE + 1) + 1) * (_RANGE + 1)
            found = high + next(self._states)
            if found < bound:
                return found


def integers(seed: int, count: int, low: int, high: int) -> Array:
    """Return `count` numbers of one engine in [low, high)."""
    bound = high - low
    if engine.compiled is None or not 0 < bound <= _RANGE:
        found = Integers(seed)
        return np.array([found.below(bound) + low for _ in range(count)], np.int64)
    numbers = np.empty(count, np.int64)
    engine.compiled.below(numbers, state_after(seed), bound, low)
    return numbers


def _c_state(seed: int) -> list[int]:
    """Return the numbers that srand(seed) gives glibc's generator."""
    word = seed & 0xFFFFFFFF or 1
    state = [word - (1 << 32) if word >> 31 else word]
    for _ in range(30):
        following = math.fmod(16807 * state[-1], 2147483647)
        state.append(int(following) + (2147483647 if following < 0 else 0))
    return [n & 0xFFFFFFFF for n in state]


def c_rand(seed: int) -> Iterator[int]:
    """Yield what glibc's rand() gives after srand(seed)."""
    state = _c_state(seed)
    # An additive generator over the last 31 numbers; the first 310 are discarded.
    for count in itertools.count():
        place = (count + 3) % 31
        state[place] = (state[place] + state[(place + 28) % 31]) & 0xFFFFFFFF
        if count >= 310:
            yield state[place] >> 1


def permutation(count: int, seed: int) -> Array:
    """Return 0 ... count-1 shuffled: each number in turn is swapped with itself or one before it."""
    if engine.compiled is not None:
        shuffled = np.empty(max(count, 0), np.int64)
        engine.compiled.shuffle(shuffled, np.array(_c_state(seed), np.uint32))
        return shuffled
    order, numbers = list(range(count)), c_rand(seed)
    for i in range(1, count):
        j = next(numbers) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _infer_randint(c: InferContext) -> None:
    if c.has("ShapeTensor") and not c.attrs["shape"]:
        c.set("Out", (-1,) * c.shape("ShapeTensor")[0], lod_level=0)
    elif c.has("ShapeTensorList"):
        c.set("Out", (-1,) * len(c.inputs("ShapeTensorList")), lod_level=0)
    else:
        c.set("Out", c.attrs["shape"], lod_level=0)


@op(
    "randint",
    "ShapeTensor? ShapeTensorList*?",
    "Out",
    {"shape": [], "low": 0, "high": 0, "seed": 0, "dtype": VarType.INT64},
    infer=_infer_randint,
    grad=False,
    lod="none",
)
def randint(k: Call, shape_tensor: Array | None, shape_list: list[Array]) -> Array:
    """Out = random integers in [low, high)."""
    a = k.attrs
    shape = list(a["shape"])
    if shape_tensor is not None:
        shape = [int(n) for n in k.dev.download(shape_tensor).reshape(-1)]
    elif shape_list:
        shape = [int(k.dev.download(n).reshape(-1)[0]) for n in shape_list]
    numbers = integers(a["seed"] or os_seed(), math.prod(shape), a["low"], a["high"])
    return k.dev.upload(numbers.astype(to_numpy(a["dtype"]), copy=False).reshape(shape))


def _infer_randperm(c: InferContext) -> None:
    c.set("Out", (c.attrs["n"],), c.attrs["dtype"], 0)


@op(
    "randperm",
    "",
    "Out",
    {"n": -1, "seed": 0, "dtype": VarType.INT64},
    infer=_infer_randperm,
    grad=False,
    lod="none",
)
def randperm(k: Call) -> Array:
    """Out = 0 ... n-1 in random order."""
    order = permutation(k.attrs["n"], k.attrs["seed"] or os_seed())
    return k.dev.upload(order.astype(to_numpy(k.attrs["dtype"])))
