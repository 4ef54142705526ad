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
        raise NotImplementedError(f"{type(self).__name__} does not say how to decay")


class L2DecayRegularizer(WeightDecayRegularizer):
    """Adds coeff * parameter to the gradient."""

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        if regularization_coeff is None:
            raise AssertionError("regularization_coeff must be a number, it is None")
        self._regularization_coeff = regularization_coeff

    def __call__(self, param: Parameter, grad: Variable, block: Block) -> Variable:
        decay = block.create_var(dtype=param.dtype, shape=param.shape, lod_level=param.lod_level)
        block.append_op(
            type="scale", inputs={"X": [param]}, outputs={"Out": [decay]}, attrs={"scale": self._regularization_coeff}
        )
        return decay

    def __str__(self) -> str:
        return f"L2Decay, regularization_coeff={self._regularization_coeff:f}"


class L1DecayRegularizer(WeightDecayRegularizer):
    """Adds coeff * sign(parameter) to the gradient."""

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        if regularization_coeff is None:
            raise AssertionError("regularization_coeff must be a number, it is None")
        self._regularization_coeff = regularization_coeff

    def __call__(self, param: Parameter, grad: Variable, block: Block) -> Variable:
        decay = block.create_var(dtype=param.dtype, shape=param.shape, lod_level=param.lod_level)
        block.append_op(type="sign", inputs={"X": [param]}, outputs={"Out": [decay]})
        block.append_op(
            type="scale", inputs={"X": [decay]}, outputs={"Out": [decay]}, attrs={"scale": self._regularization_coeff}
        )
        return decay

    def __str__(self) -> str:
        return f"L1Decay, regularization_coeff={self._regularization_coeff:f}"


def append_regularization_ops(
    parameters_and_grads: Sequence[tuple[Parameter, Variable | None]], regularization: Any = None
) -> list[tuple[Parameter, Variable | None]]:
    """Add each parameter's own decay, or `regularization` where it has none, to its gradient."""
    with name_scope("regularization"):
        return [(param, _decayed(param, grad, regularization)) for param, grad in parameters_and_grads]


def _decayed(param: Parameter, grad: Variable | None, regularization: Any) -> Variable | None:
    regularizer = param.regularizer or regularization
    if grad is None or regularizer is None:
        return grad
    block = grad.block
    with block.program._optimized_guard([param, grad]):
        decay = regularizer(param, grad, block)
        total = grad  # Fluid: what is fetched as w@GRAD includes the decay
        if grad.type is VarType.SELECTED_ROWS:
            total = block.create_var(name=f"{grad.name}@NEWGRAD@", dtype=param.dtype, shape=param.shape)
        block.append_op(type="sum", inputs={"X": [grad, decay]}, outputs={"Out": [total]})
    return total


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
