"""Norms of whole tensors and of differences: l1_norm, p_norm, frobenius_norm, squared_l2_distance, minus."""

from __future__ import annotations

from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext

__all__: list[str] = []


def _infer_one(c: InferContext) -> None:
    c.set("Out", (1,), c.dtype("X"))


@op("l1_norm", "X", "Out", infer=_infer_one, grad=True, lod="none")
def l1_norm(k: Call, x: Any) -> Any:
    """Out = the sum of |X|."""
    return k.xp.abs(x).sum().reshape(1)


@gradient("l1_norm", "X Out@GRAD", "X@GRAD")
def l1_norm_grad(k: Call, x: Any, dout: Any) -> Any:
    return k.xp.sign(x) * dout.reshape(())
