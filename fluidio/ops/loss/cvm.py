"""cvm: the show and click counts of an embedding."""

from __future__ import annotations

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    rows, width = c.shape("X")
    c.set("Y", (rows, width if c.attrs["use_cvm"] else width - 2), c.dtype("X"), c.input("X").lod_level)


@op("cvm", "X CVM", "Y", {"use_cvm": True}, infer=_infer, grad=True)
def cvm(k: Call, x: Array, counts: Array) -> Array:
    """Y = X with log(show + 1) and log(click + 1) - log(show + 1) in its first two columns, or without them."""
    if not k.attrs["use_cvm"]:
        return k.xp.ascontiguousarray(x[:, 2:])
    y = x.copy()
    y[:, 0] = k.xp.log(x[:, 0] + 1)
    y[:, 1] = k.xp.log(x[:, 1] + 1) - y[:, 0]
    return y


@gradient("cvm", "X CVM Y@GRAD", "X@GRAD", lod="kernel")
def cvm_grad(k: Call, x: Array, counts: Array, dy: Array) -> Array:
    # Fluid: the first two columns of the gradient are the counts themselves, because servers read them there.
    xp = k.xp
    dx = xp.empty_like(x)
    dx[:, 2:] = dy[:, 2:] if k.attrs["use_cvm"] else dy
    lod = k.lod("X")
    if lod:
        owner = np.repeat(np.arange(len(lod[-1]) - 1), np.diff(lod[-1]))
        dx[:, :2] = counts[xp.asarray(owner)]
    else:
        dx[:, :2] = counts
    return dx
