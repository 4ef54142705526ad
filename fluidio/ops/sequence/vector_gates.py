"""Sigmoid and tanh as Fluid's vector kernels of recurrent ops compute them, to the last bit.

Fluid: both use an exp made of float32 operations, and tanh(x) is 2 / (1 + exp(-2x)) - 1. The error of up to 1e-7 is
large for small states, and optimizers that divide by the size of the gradient amplify it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.tensor.array import Array, ArrayLibrary

compiled: Any
try:
    from fluidio.ops.compiled import _gates as compiled
except ImportError:  # no C compiler at installation
    compiled = None

__all__ = ["sigmoid", "tanh"]

_F = np.float32
_LARGEST, _LOG2E = _F(88.3762626647949), _F(1.44269504088896341)
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)
_TERMS = [_F(c) for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)]


def tanh(xp: ArrayLibrary | ModuleType, x: Array) -> None:
    """Replace float32 numbers by their tanh."""
    _apply("tanh", _tanh, x)


def sigmoid(xp: ArrayLibrary | ModuleType, x: Array) -> None:
    """Replace float32 numbers by their sigmoid; they are clipped to [-40, 13]."""
    _apply("sigmoid", _sigmoid, x)


def _apply(name: str, plain: Callable[[Any], Any], x: Array) -> None:
    if compiled is not None and x.flags.c_contiguous:
        getattr(compiled, name)(x)
    elif compiled is None or x.ndim < 2:
        x[...] = plain(x)
    else:
        for part in x:
            _apply(name, plain, part)


def _tanh(x: Array) -> Array:
    return _F(2) / (_F(1) + _exp(_F(-2) * x)) - _F(1)


def _sigmoid(x: Array) -> Array:
    return _F(1) / (_F(1) + _exp(-np.clip(x, _F(-40), _F(13))))


def _exp(x: Array) -> Array:
    """Return 2^n times a polynomial of the remainder."""
    x = np.clip(x, -_LARGEST, _LARGEST)
    n = np.floor(x * _LOG2E + _F(0.5))
    rest = x - n * _LN2_HIGH
    rest = rest - n * _LN2_LOW
    total = np.full_like(rest, 1.9875691500e-4)
    for term in _TERMS:
        total = total * rest + term
    return np.ldexp(total * (rest * rest) + rest + _F(1), n.astype(np.int32))
