"""RandomData: uniform random float32 tensors without end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Source, Spec, Tensors
from fluidio.tensor.lod import NO_LOD

__all__ = ["RandomData"]


class RandomData(Source):
    """Draws every slot from [low, high); the numbers depend only on the seed and the epoch.

    Fluid: the seed came from the operating system.
    """

    def __init__(
        self, name: str, low: float, high: float, shapes: Sequence[Sequence[int]], seed: int = 0, spec: Spec = ()
    ) -> None:
        super().__init__(name, spec)
        if low > high:
            raise EnforceNotMet(f"random_data_generator {name}: low ({low}) must not be above high ({high})")
        for shape in shapes:
            if len(shape) < 2 or any(d < 0 for d in shape):
                raise EnforceNotMet(
                    f"random_data_generator {name}: a shape needs at least two dims and no -1, got {list(shape)}"
                )
        self._low, self._high = low, high
        self._shapes = [tuple(shape) for shape in shapes]
        self._seed = seed
        self._begin()

    def _begin(self) -> None:
        self._rng = np.random.default_rng((self._seed, self.epoch))

    def _next(self) -> Tensors | None:
        span = np.float32(self._high - self._low)
        return [(self._rng.random(shape, np.float32) * span + np.float32(self._low), NO_LOD) for shape in self._shapes]
