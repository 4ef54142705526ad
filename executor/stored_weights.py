"""Weights that a model stores as whole numbers, with their scales on the ops that read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fluidio.program import Operator

__all__ = ["with_values"]

_SUFFIX = "_quant_scale"


def with_values(op: Operator, slots: Sequence[str], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that computes with the values of an op's weights.

    Fluid: 1.8.5 refuses to run what `WeightQuantization` stored; Paddle Lite did.

    Args:
        slots: the slots of the kernel's arguments, in order.
    """
    if not str(op.attrs.get("quantization_type", "")).startswith("post_weight_"):
        return kernel
    scales = {
        i: op.attrs[f"{names[0]}{_SUFFIX}"]
        for i, names in enumerate(op.input(slot) for slot in slots)
        if len(names) == 1 and f"{names[0]}{_SUFFIX}" in op.attrs
    }

    def run(call: Any, *arguments: Any) -> Any:
        given = list(arguments)
        for i, scale in scales.items():
            weight = given[i]
            if weight.dtype.kind == "i":  # the model for tests has its values already
                wide = call.xp.asarray(scale, "float32")
                if op.type != "mul":
                    wide = wide.reshape(-1, *(1,) * (weight.ndim - 1))
                given[i] = weight * wide
        return kernel(call, *given)

    return run
