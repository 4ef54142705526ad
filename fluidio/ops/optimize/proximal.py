"""Proximal updates: proximal_gd, proximal_adagrad."""

from __future__ import annotations

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS = {"l1": 0.0, "l2": 0.0}


def _infer(c: InferContext) -> None:
    for slot in ("Param", "Moment"):
        if c.has(slot):
            c.same(f"{slot}Out", slot)


def _shrunk(k: Call, value: Array, rate: Array) -> Array:
    """Return the value shrunk by l1 and l2 at a rate."""
    l1, l2 = value.dtype.type(k.attrs["l1"]), value.dtype.type(k.attrs["l2"])
    size = k.xp.abs(value)
    if l1 > 0:
        size = k.xp.maximum(size - rate * l1, 0)
    return k.xp.sign(value) * size / (1 + rate * l2)


@op("proximal_gd", "Param Grad LearningRate", "ParamOut", _ATTRS, infer=_infer, grad=False)
def proximal_gd(k: Call, param: Array, grad: Array, rate: Array) -> Array:
    """ParamOut = a step of gradient descent, shrunk by l1 and l2."""
    step = rate.reshape(-1)[0]
    return _shrunk(k, param - step * grad, step)


@op("proximal_adagrad", "Param Moment Grad LearningRate", "ParamOut MomentOut", _ATTRS, infer=_infer, grad=False)
def proximal_adagrad(k: Call, param: Array, moment: Array, grad: Array, rate: Array) -> tuple[Array, Array]:
    """ParamOut = a step of Adagrad, shrunk by l1 and l2."""
    step = rate.reshape(-1)[0]
    total = moment + grad * grad
    return _shrunk(k, param - step * grad / k.xp.sqrt(total), step), total
