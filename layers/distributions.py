"""Distributions over variables of a program: sample, entropy, log_prob, kl_divergence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.layers._create.tensors import (
    assign,
    cast,
    create_tensor,
    diag,
    fill_constant_batch_size_like,
    ones,
    zeros,
)
from fluidio.layers._math.dense import matmul
from fluidio.layers._math.elementwise import elementwise_add, elementwise_mul, elementwise_pow, exp, less_than, log
from fluidio.layers._math.reductions import reduce_max, reduce_prod, reduce_sum
from fluidio.layers._random.draws import (
    gaussian_random,
    gaussian_random_batch_size_like,
    uniform_random,
    uniform_random_batch_size_like,
)
from fluidio.layers._shape.manipulate import reshape, transpose
from fluidio.layers._shape.manipulate import shape as shape_of
from fluidio.program import Variable

__all__ = ["Categorical", "MultivariateNormalDiag", "Normal", "Uniform"]


class Distribution:
    """Base class."""

    def sample(self, *args: Any, **options: Any) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} does not support sample()")

    def entropy(self) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} does not support entropy()")

    def kl_divergence(self, other: Any) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} does not support kl_divergence()")

    def log_prob(self, value: Variable) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} does not support log_prob()")


def _as_variables(**values: object) -> list[Variable]:
    """Return float32 Variables for numbers, lists and arrays, broadcast against each other."""
    for name, value in values.items():
        if not isinstance(value, (int, float, list, tuple, np.ndarray)):
            raise TypeError(f"{name} must be a number, a list, an array or a Variable, got {type(value).__name__}")
    arrays = [np.atleast_1d(np.asarray(value, np.float32)) for value in values.values()]
    made = []
    for array in np.broadcast_arrays(*arrays):
        made.append(create_tensor("float32"))
        assign(np.ascontiguousarray(array), made[-1])
    return made


_warned: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, stacklevel=4)


class _TwoParameters(Distribution):
    """Two numbers, arrays or variables that are broadcast against each other."""

    def __init__(self, first: object, second: object, names: tuple[str, str]) -> None:
        given = [isinstance(value, Variable) for value in (first, second)]
        if any(given) and not all(given) and era().checks_layer_arguments:
            raise ValueError(f"{names[0]} and {names[1]} must both be Variables, or both numbers")
        self.batch_size_unknown = all(given)
        self.all_arg_is_float = all(isinstance(value, (int, float)) for value in (first, second))
        if any(given):
            pair = [v if isinstance(v, Variable) else _as_variables(value=v)[0] for v in (first, second)]
        else:
            pair = _as_variables(**dict(zip(names, (first, second))))
        self._first, self._second = pair

    def _right(self, shape: Sequence[int], seed: int, draw: Any, draw_like: Any) -> Variable:
        """Return standard random numbers of shape + batch shape."""
        total = self._first + self._second
        whole = [*shape, *total.shape]
        if -1 not in total.shape:
            drawn: Variable = draw(whole, seed=seed)
            return drawn
        # The batch is known only at run time: take it from the parameters' first dim, where it can be copied from.
        columns = [-1, *shape, *total.shape[1:]]
        rows: Variable = draw_like(total, columns, seed=seed)
        axes = [*range(1, len(shape) + 1), 0, *range(len(shape) + 1, len(columns))]
        return transpose(rows, axes)

    def _shaped(self, out: Variable, shape: Sequence[int]) -> Variable:
        return reshape(out, list(shape)) if self.all_arg_is_float else out

    def _zeros(self, sizes: Sequence[int]) -> Variable:
        """Return zeros of this shape; the batch size comes from the parameters at run time."""
        return fill_constant_batch_size_like(self._first + self._second, list(sizes), self._first.dtype, 0.0)

    def _mixed(self, shape: Sequence[int]) -> None:
        if len(shape) and -1 in (*self._first.shape, *self._second.shape):
            _warn_once(
                f"{type(self).__name__}.sample: like Fluid 1.8.5, fluidio draws the samples of a row side by "
                "side and then reshapes them, which mixes rows; sample(..., right_samples=True) keeps rows "
                "apart"
            )


def _moved(drawn: Variable, scale: Variable, shift: Variable) -> Variable:
    """Return drawn * scale + shift, aligning parameters with the last dims (operators align a batch with the first)."""
    return elementwise_add(elementwise_mul(drawn, scale, axis=-1), shift, axis=-1)


class Uniform(_TwoParameters):
    """Uniform in [low, high).

    Fluid: samples for numbers and arrays lie in [low - (high - low), high). The same happens here, with a warning.
    """

    def __init__(self, low: object, high: object) -> None:
        super().__init__(low, high, ("low", "high"))
        self.low, self.high = self._first, self._second

    def sample(self, shape: Sequence[int], seed: int = 0, *, right_samples: bool = False) -> Variable:
        """Return a sample of shape + the parameters' shape; `right_samples` keeps it in the interval, row by row."""
        if right_samples:
            drawn = self._right(
                shape,
                seed,
                lambda s, seed: uniform_random(s, min=0.0, max=1.0, seed=seed),
                lambda x, s, seed: uniform_random_batch_size_like(x, s, min=0.0, max=1.0, seed=seed),
            )
            return self._shaped(_moved(drawn, self.high - self.low, self.low), shape)
        batch = (self.low + self.high).shape
        whole = [*shape, *batch]
        if self.batch_size_unknown:
            self._mixed(shape)
            zeros_ = self._zeros([*batch, *shape])
            like = uniform_random_batch_size_like(zeros_, list(zeros_.shape), min=0.0, max=1.0, seed=seed)
            return reshape(like * (zeros_ + self.high - self.low) + self.low, whole)
        _warn_once(
            "Uniform.sample: like Fluid 1.8.5, fluidio draws from [low - (high - low), high); sample(..., "
            "right_samples=True) draws from [low, high)"
        )
        drawn = uniform_random(whole, seed=seed)
        width = zeros(whole, self.low.dtype) + (self.high - self.low)
        return self._shaped(drawn * width + self.low, shape)

    def log_prob(self, value: Variable) -> Variable:
        inside = [less_than(self.low, value), less_than(value, self.high)]
        above, below = (cast(one, value.dtype) for one in inside)
        result: Variable = log(above * below) - log(self.high - self.low)
        return result

    def entropy(self) -> Variable:
        return log(self.high - self.low)


class Normal(_TwoParameters):
    """Normal with mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: object, scale: object) -> None:
        super().__init__(loc, scale, ("loc", "scale"))
        self.loc, self.scale = self._first, self._second

    def sample(self, shape: Sequence[int], seed: int = 0, *, right_samples: bool = False) -> Variable:
        """Return a sample of shape + the parameters' shape; `right_samples` do not mix rows."""
        if right_samples:
            drawn = self._right(
                shape,
                seed,
                lambda s, seed: gaussian_random(s, mean=0.0, std=1.0, seed=seed),
                lambda x, s, seed: gaussian_random_batch_size_like(x, s, mean=0.0, std=1.0, seed=seed),
            )
            return self._shaped(_moved(drawn, self.scale, self.loc), shape)
        batch = (self.loc + self.scale).shape
        whole = [*shape, *batch]
        if self.batch_size_unknown:
            self._mixed(shape)
            zeros_ = self._zeros([*batch, *shape])
            drawn = gaussian_random(shape_of(zeros_), mean=0.0, std=1.0, seed=seed)
            return reshape(drawn * (zeros_ + self.scale) + self.loc, whole)
        drawn = gaussian_random(whole, mean=0.0, std=1.0, seed=seed)
        return self._shaped(drawn * (zeros(whole, self.loc.dtype) + self.scale) + self.loc, shape)

    def entropy(self) -> Variable:
        constant = 0.5 + 0.5 * math.log(2 * math.pi)
        zeros_ = self._zeros((self.loc + self.scale).shape)
        result: Variable = constant + log(self.scale + zeros_)
        return result

    def log_prob(self, value: Variable) -> Variable:
        variance = self.scale * self.scale
        scale = log(self.scale)
        squared = (value - self.loc) * (value - self.loc)
        result: Variable = -1.0 * squared / (2.0 * variance) - scale - math.log(math.sqrt(2.0 * math.pi))
        return result

    def kl_divergence(self, other: Normal) -> Variable:
        if not isinstance(other, Normal):
            raise TypeError(f"kl_divergence of a Normal takes another Normal, got {type(other).__name__}")
        ratio = self.scale / other.scale
        ratio = ratio * ratio
        shift = (self.loc - other.loc) / other.scale
        shift = shift * shift
        result: Variable = 0.5 * (ratio + shift - 1.0 - log(ratio))
        return result


class Categorical(Distribution):
    """Classes with unnormalised log probabilities along the last dim."""

    def __init__(self, logits: object) -> None:
        self.logits = logits if isinstance(logits, Variable) else _as_variables(logits=logits)[0]

    def _shifted(self) -> Variable:
        result: Variable = self.logits - reduce_max(self.logits, dim=-1, keep_dim=True)
        return result

    def entropy(self) -> Variable:
        shifted = self._shifted()
        exponentials = exp(shifted)
        total = reduce_sum(exponentials, dim=-1, keep_dim=True)
        probabilities = exponentials / total
        result: Variable = -1.0 * reduce_sum(probabilities * (shifted - log(total)), dim=-1, keep_dim=True)
        return result

    def kl_divergence(self, other: Categorical) -> Variable:
        if not isinstance(other, Categorical):
            raise TypeError(f"kl_divergence of a Categorical takes another Categorical, got {type(other).__name__}")
        shifts = [self._shifted(), other._shifted()]
        exponentials = [exp(shift) for shift in shifts]
        totals = [reduce_sum(one, dim=-1, keep_dim=True) for one in exponentials]
        probabilities = exponentials[0] / totals[0]
        difference = shifts[0] - log(totals[0]) - shifts[1] + log(totals[1])
        return reduce_sum(probabilities * difference, dim=-1, keep_dim=True)


class MultivariateNormalDiag(Distribution):
    """Normal in several dimensions; `scale` is a diagonal matrix of variances."""

    def __init__(self, loc: object, scale: object) -> None:
        given = [isinstance(value, Variable) for value in (loc, scale)]
        if any(given) and not all(given) and era().checks_layer_arguments:
            raise ValueError("loc and scale must both be Variables, or both arrays")
        if not any(given):
            loc, scale = _as_variables(loc=loc, scale=scale)
        self.loc = loc if isinstance(loc, Variable) else _as_variables(loc=loc)[0]
        self.scale = scale if isinstance(scale, Variable) else _as_variables(scale=scale)[0]

    def _units(self, value: Variable) -> tuple[Variable, Variable]:
        """Return a matrix of ones and the identity matrix."""
        whole = ones(list(value.shape), self.loc.dtype)
        return whole, diag(ones([value.shape[0]], self.loc.dtype))

    def _determinant(self, value: Variable) -> Variable:
        whole, unit = self._units(value)
        return reduce_prod(value + whole - unit)

    def _inverse(self, value: Variable) -> Variable:
        whole, unit = self._units(value)
        return elementwise_pow(value, whole - 2 * unit)  # x^-1 on the diagonal, and 0^1 beside it

    def entropy(self) -> Variable:
        size = int(self.scale.shape[0])
        result: Variable = 0.5 * (size * (1.0 + math.log(2 * math.pi)) + log(self._determinant(self.scale)))
        return result

    def kl_divergence(self, other: MultivariateNormalDiag) -> Variable:
        """Return the divergence. Fluid: where `loc` was broadcast to a matrix, it is a matrix of copies."""
        if not isinstance(other, MultivariateNormalDiag):
            raise TypeError(f"kl_divergence of a MultivariateNormalDiag takes another one, got {type(other).__name__}")
        trace = reduce_sum(self._inverse(other.scale) * self.scale)
        weighted = matmul(other.loc - self.loc, self._inverse(other.scale))
        distance = matmul(weighted, other.loc - self.loc)
        logs = log(self._determinant(other.scale)) - log(self._determinant(self.scale))
        result: Variable = 0.5 * (trace + distance - int(self.scale.shape[0]) + logs)
        return result
