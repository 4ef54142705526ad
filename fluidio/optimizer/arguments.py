"""Argument types of optimizers."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.clip import GradientClipBase
from fluidio.program import Variable
from fluidio.regularizer import WeightDecayRegularizer

__all__ = ["Clip", "Decay", "Parameters", "Rate"]

Rate = float | Variable
"""A learning rate, or the variable of a schedule."""

Decay = WeightDecayRegularizer | str | None
"""Decay of weights; until Fluid 1.6 this position could hold the optimizer's name."""

Parameters = Sequence[Variable | str] | WeightDecayRegularizer | bool | None
"""What to update; until Fluid 1.6, this position held decay or a switch."""

Clip = GradientClipBase | float | None
"""How gradients are clipped; until Fluid 1.6, this position held numbers of the optimizer."""
