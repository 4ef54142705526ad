"""Layer-wise adaptive rates for any optimizer (Fluid's `append_LARS` of 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = ["append_LARS"]


def append_LARS(
    params_grads: Sequence[tuple[Any, Any]], learning_rate: Variable, weight_decay: float
) -> list[Variable]:
    """Give each parameter its own rate, lr * |p| / (|g| + weight_decay * |p|), and return these rates."""
    rates = []
    for param, grad in params_grads:
        if grad is None:
            continue
        with param.block.program._optimized_guard([param, grad]):
            p_norm, g_norm = _norm(param), _norm(grad)
            balanced = g_norm + (p_norm if weight_decay == 1.0 else p_norm * weight_decay)
            rate = learning_rate * p_norm / balanced
            factor = param.optimize_attr["learning_rate"]
            if isinstance(factor, Variable) or factor != 1.0:
                rate = rate * factor
        param.optimize_attr["learning_rate"] = rate
        rates.append(rate)
    return rates


def _norm(x: Variable) -> Variable:
    helper = LayerHelper("lars_norm")
    squared = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="squared_l2_norm", inputs={"X": [x]}, outputs={"Out": [squared]})
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="sqrt", inputs={"X": [squared]}, outputs={"Out": [out]})
    return out
