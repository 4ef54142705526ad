"""WeightedAverage: a running mean in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["WeightedAverage"]


class WeightedAverage:
    """Mean of values with weights; `exe.run`'s results can be added as they are."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.numerator: Any = None
        self.denominator: Any = None

    def add(self, value: object, weight: object) -> None:
        if not isinstance(value, (int, float, np.ndarray, np.generic)):
            raise ValueError("The 'value' must be a number(int, float) or a numpy ndarray.")
        if not isinstance(weight, (int, float, np.generic)) and not (
            isinstance(weight, np.ndarray) and weight.shape == (1,)
        ):
            raise ValueError("The 'weight' must be a number(int, float).")
        product: Any = np.multiply(value, weight)
        if self.numerator is None:
            self.numerator = product
            self.denominator = weight
        else:
            self.numerator = self.numerator + product
            self.denominator = self.denominator + weight

    def eval(self) -> Any:
        if self.numerator is None or self.denominator is None:
            raise ValueError("There is no data to be averaged in WeightedAverage.")
        return self.numerator / self.denominator
