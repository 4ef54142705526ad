"""WeightedAverage: a running mean in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["WeightedAverage"]


class WeightedAverage:
    """A weighted mean of values; results of `exe.run` can be added directly."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.numerator: Any = None
        self.denominator: Any = None

    def add(self, value: object, weight: object) -> None:
        if not isinstance(value, (int, float, np.ndarray, np.generic)):
            raise ValueError(
                f"WeightedAverage.add: value must be a number or a NumPy array, got {type(value).__name__}"
            )
        if not isinstance(weight, (int, float, np.generic)) and not (
            isinstance(weight, np.ndarray) and weight.shape == (1,)
        ):
            raise ValueError(f"WeightedAverage.add: weight must be a number, got {type(weight).__name__}")
        product: Any = np.multiply(value, weight)
        if self.numerator is None:
            self.numerator = product
            self.denominator = weight
        else:
            self.numerator = self.numerator + product
            self.denominator = self.denominator + weight

    def eval(self) -> Any:
        if self.numerator is None or self.denominator is None:
            raise ValueError("WeightedAverage.eval: nothing was added since reset()")
        return self.numerator / self.denominator
