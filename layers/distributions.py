"""Distributions as variables of a program: sample, entropy, log_prob, kl_divergence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.layers._create.tensors import assign, cast
from fluidio.layers._math.elementwise import elementwise_add, elementwise_mul, elementwise_pow, exp, less_than, log
from fluidio.layers._math.reductions import reduce_max, reduce_prod, reduce_sum
from fluidio.layers._random.draws import (
    gaussian_random,
    gaussian_random_batch_size_like,
    uniform_random,
    uniform_random_batch_size_like,
)
from fluidio.layers._shape.manipulate import reshape, transpose
from fluidio.program import Variable

__all__ = ["Categorical", "MultivariateNormalDiag", "Normal", "Uniform"]


class Distribution:
    """Base class."""

    def sample(self, *args: Any, **options: Any) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} cannot be sampled in a program")

    def entropy(self) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} has no entropy here")

    def kl_divergence(self, other: Any) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} has no KL divergence here")

    def log_prob(self, value: Variable) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} has no log_prob here")


def _as_variable(value: object, name: str) -> Variable:
    if isinstance(value, Variable):
        return value
    if not isinstance(value, (int, float, list, tuple, np.ndarray)):
        raise TypeError(f"{name} must be a number, a list, an array or a Variable, got {type(value).__name__}")
    return assign(np.atleast_1d(np.asarray(value, np.float32)))


class _TwoParameters(Distribution):
    """Two numbers, arrays or variables that are broadcast against each other."""

    def __init__(self, first: object, second: object, names: tuple[str, str]) -> None:
        if isinstance(first, Variable) is not isinstance(second, Variable) and era().checks_layer_arguments:
            raise ValueError(f"if one of {names[0]} and {names[1]} is a Variable, both should be Variables")
        self._plain = all(isinstance(value, (int, float)) for value in (first, second))
        self._first = _as_variable(first, names[0])
        self._second = _as_variable(second, names[1])

    def _draw(self, shape: Sequence[int], seed: int, draw: Any, draw_like: Any) -> Variable:
        """Return standard random numbers of shape + batch shape."""
        total = self._first + self._second
        whole = [*shape, *total.shape]
        if -1 not in total.shape:
            drawn: Variable = draw(whole, seed=seed)
            return drawn
        # The batch is known at run time only: take it from the parameters, in front, where it can be copied from.
        columns = [-1, *shape, *total.shape[1:]]
        rows: Variable = draw_like(total, columns, seed=seed)
        axes = [*range(1, len(shape) + 1), 0, *range(len(shape) + 1, len(columns))]
        return transpose(rows, axes)

    def _shaped(self, out: Variable, shape: Sequence[int]) -> Variable:
        return reshape(out, list(shape)) if self._plain else out


def _moved(drawn: Variable, scale: Variable, shift: Variable) -> Variable:
    """Return drawn scale + shift, the parameters at the last dims (an operator would put a batch at the first)."""
    return elementwise_add(elementwise_mul(drawn, scale, axis=-1), shift, axis=-1)


class Uniform(_TwoParameters):
    """Uniform in [low, high).

    Fluid: 1.8 sampled from [low - (high - low), high); here samples stay in the interval.
    """

    def __init__(self, low: object, high: object) -> None:
        super().__init__(low, high, ("low", "high"))
        self.low, self.high = self._first, self._second

    def sample(self, shape: Sequence[int], seed: int = 0) -> Variable:
        """Return a sample of shape + the parameters' shape."""
        drawn = self._draw(
            shape,
            seed,
            lambda s, seed: uniform_random(s, min=0.0, max=1.0, seed=seed),
            lambda x, s, seed: uniform_random_batch_size_like(x, s, min=0.0, max=1.0, seed=seed),
        )
        return self._shaped(_moved(drawn, self.high - self.low, self.low), shape)

    def log_prob(self, value: Variable) -> Variable:
        above = cast(less_than(self.low, value), value.dtype)
        below = cast(less_than(value, self.high), value.dtype)
        result: Variable = log(above * below) - log(self.high - self.low)
        return result

    def entropy(self) -> Variable:
        return log(self.high - self.low)


class Normal(_TwoParameters):
    """Normal with mean `loc` and deviation `scale`."""

    def __init__(self, loc: object, scale: object) -> None:
        super().__init__(loc, scale, ("loc", "scale"))
        self.loc, self.scale = self._first, self._second

    def sample(self, shape: Sequence[int], seed: int = 0) -> Variable:
        """Return a sample of shape + the parameters' shape."""
        drawn = self._draw(
            shape,
            seed,
            lambda s, seed: gaussian_random(s, mean=0.0, std=1.0, seed=seed),
            lambda x, s, seed: gaussian_random_batch_size_like(x, s, mean=0.0, std=1.0, seed=seed),
        )
        return self._shaped(_moved(drawn, self.scale, self.loc), shape)

    def entropy(self) -> Variable:
        result: Variable = log(self.scale + self.loc * 0.0) + (0.5 + 0.5 * math.log(2 * math.pi))
        return result

    def log_prob(self, value: Variable) -> Variable:
        difference = value - self.loc
        variance = self.scale * self.scale
        scaled = -1.0 * (difference * difference) / (2.0 * variance)
        result: Variable = scaled - log(self.scale) - math.log(math.sqrt(2.0 * math.pi))
        return result

    def kl_divergence(self, other: Normal) -> Variable:
        if not isinstance(other, Normal):
            raise TypeError(f"kl_divergence of a Normal takes another Normal, got {type(other).__name__}")
        ratio = self.scale / other.scale
        ratio = ratio * ratio
        shift = (self.loc - other.loc) / other.scale
        result: Variable = 0.5 * (ratio + shift * shift - 1.0 - log(ratio))
        return result


class Categorical(Distribution):
    """Classes with unnormalised log probabilities in the last dimension."""

    def __init__(self, logits: object) -> None:
        self.logits = _as_variable(logits, "logits")

    def _normalised(self) -> tuple[Variable, Variable, Variable]:
        """Return shifted logits, their sum of exponentials, and the probabilities."""
        shifted = self.logits - reduce_max(self.logits, dim=-1, keep_dim=True)
        exponentials = exp(shifted)
        total = reduce_sum(exponentials, dim=-1, keep_dim=True)
        return shifted, total, exponentials / total

    def entropy(self) -> Variable:
        shifted, total, probabilities = self._normalised()
        result: Variable = -1.0 * reduce_sum(probabilities * (shifted - log(total)), dim=-1, keep_dim=True)
        return result

    def kl_divergence(self, other: Categorical) -> Variable:
        if not isinstance(other, Categorical):
            raise TypeError(f"kl_divergence of a Categorical takes another one, got {type(other).__name__}")
        shifted, total, probabilities = self._normalised()
        other_shifted, other_total, _ = other._normalised()
        difference = shifted - log(total) - other_shifted + log(other_total)
        return reduce_sum(probabilities * difference, dim=-1, keep_dim=True)


class MultivariateNormalDiag(Distribution):
    """Normal in several dimensions; `scale` is a diagonal matrix of variances.

    Fluid: `kl_divergence` gave its one number as a matrix of copies; here it has shape [1].
    """

    def __init__(self, loc: object, scale: object) -> None:
        self.loc = _as_variable(loc, "loc")
        self.scale = _as_variable(scale, "scale")

    def _size(self) -> int:
        return int(self.scale.shape[0])

    def _off_diagonal(self) -> Variable:
        """Return ones beside the diagonal."""
        return assign(1.0 - np.eye(self._size(), dtype=np.float32))

    def _determinant(self) -> Variable:
        return reduce_prod(self.scale + self._off_diagonal())

    def _inverse(self) -> Variable:
        # x^-1 on the diagonal, and 0^1 beside it.
        powers = assign(1.0 - 2.0 * np.eye(self._size(), dtype=np.float32))
        return elementwise_pow(self.scale, powers)

    def entropy(self) -> Variable:
        result: Variable = 0.5 * (self._size() * (1.0 + math.log(2 * math.pi)) + log(self._determinant()))
        return result

    def kl_divergence(self, other: MultivariateNormalDiag) -> Variable:
        if not isinstance(other, MultivariateNormalDiag):
            raise TypeError(f"kl_divergence takes another MultivariateNormalDiag, got {type(other).__name__}")
        inverse = other._inverse()
        trace = reduce_sum(inverse * self.scale)
        shift = other.loc - self.loc
        weighted = reduce_sum(reduce_sum(inverse, dim=0) * shift * shift)
        logs = log(other._determinant()) - log(self._determinant())
        result: Variable = 0.5 * (trace + weighted - float(self._size()) + logs)
        return result
