"""Weight decay as ops on the gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.program import Block, Parameter, Variable, name_scope

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer", "append_regularization_ops"]


class WeightDecayRegularizer:
    """Base class: `regularizer(parameter, gradient, block)` appends the decay and returns it."""

    is_regularizer = True

    def __call__(self, param: Parameter, grad: Variable, block: Block) -> Variable:
        raise NotImplementedError(f"{type(self).__name__} must define its decay")


class _ScaledDecay(WeightDecayRegularizer):
    """A decay with a coefficient."""

    _name = ""

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        if regularization_coeff is None:
            raise AssertionError("regularization_coeff must be a number, got None")
        self._regularization_coeff = regularization_coeff

    def _times_coefficient(self, source: Variable, result: Variable, block: Block) -> Variable:
        attrs = {"scale": self._regularization_coeff}
        block.append_op(type="scale", inputs={"X": [source]}, outputs={"Out": [result]}, attrs=attrs)
        return result

    def __str__(self) -> str:
        return f"{self._name}, regularization_coeff={self._regularization_coeff:f}"


class L2DecayRegularizer(_ScaledDecay):
    """Adds coeff * parameter to the gradient."""

    _name = "L2Decay"

    def __call__(self, param: Parameter, grad: Variable, block: Block) -> Variable:
        return self._times_coefficient(param, _like(param, block), block)


class L1DecayRegularizer(_ScaledDecay):
    """Adds coeff * sign(parameter) to the gradient."""

    _name = "L1Decay"

    def __call__(self, param: Parameter, grad: Variable, block: Block) -> Variable:
        sign = _like(param, block)
        block.append_op(type="sign", inputs={"X": [param]}, outputs={"Out": [sign]})
        return self._times_coefficient(sign, sign, block)


def _like(param: Parameter, block: Block) -> Variable:
    return block.create_var(**{name: getattr(param, name) for name in ("dtype", "shape", "lod_level")})


def append_regularization_ops(
    parameters_and_grads: Sequence[tuple[Parameter, Variable | None]], regularization: Any = None
) -> list[tuple[Parameter, Variable | None]]:
    """Add each parameter's own decay, or else `regularization`, to its gradient."""
    with name_scope("regularization"):
        return [(param, _decayed(param, grad, regularization)) for param, grad in parameters_and_grads]


def _decayed(param: Parameter, grad: Variable | None, regularization: Any) -> Variable | None:
    regularizer = param.regularizer or regularization
    if grad is None or regularizer is None:
        return grad
    block = grad.block
    with block.program._optimized_guard([param, grad]):
        decay = regularizer(param, grad, block)
        total = grad  # Fluid: a fetched w@GRAD includes the decay
        if grad.type is VarType.SELECTED_ROWS:
            total = block.create_var(name=f"{grad.name}@NEWGRAD@", dtype=param.dtype, shape=param.shape)
        block.append_op(type="sum", inputs={"X": [grad, decay]}, outputs={"Out": [total]})
    return total


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
