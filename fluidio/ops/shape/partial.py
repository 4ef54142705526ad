"""The same columns of several matrices: partial_concat, partial_sum."""

from __future__ import annotations

from typing import Any

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS = {"start_index": 0, "length": -1}


def _columns(attrs: dict[str, Any], width: int) -> slice:
    start = attrs["start_index"]
    first = start + width if start < 0 else start
    return slice(first, width if attrs["length"] < 0 else first + attrs["length"])


def _infer(times: bool) -> Any:
    def infer(c: InferContext) -> None:
        inputs = c.inputs("X")
        rows, width = inputs[0].shape
        c.check(all(v.shape[1] == width for v in inputs), "all inputs X must have the same number of columns")
        part = _columns(c.attrs, width)
        c.check(
            0 <= part.start < part.stop <= width,
            f"columns {part.start} to {part.stop} reach outside the {width} columns of X",
        )
        found = (part.stop - part.start) * (len(inputs) if times else 1)
        c.set("Out", (rows, found), inputs[0].dtype)

    return infer


@op("partial_concat", "X*", "Out", _ATTRS, infer=_infer(True), grad=True, lod="none")
def partial_concat(k: Call, parts: list[Any]) -> Any:
    """Out = `length` columns of each matrix from start_index on, side by side."""
    chosen = _columns(k.attrs, parts[0].shape[1])
    return k.xp.concatenate([part[:, chosen] for part in parts], axis=1)


@gradient("partial_concat", "X Out@GRAD", "X@GRAD")
def partial_concat_grad(k: Call, parts: list[Array], dout: Array) -> KernelResult:
    chosen = _columns(k.attrs, parts[0].shape[1])
    size = chosen.stop - chosen.start
    found = []
    for n, part in enumerate(parts):
        dx = k.xp.zeros_like(part)
        dx[:, chosen] = dout[:, n * size : (n + 1) * size]
        found.append(dx)
    return found


@op("partial_sum", "X*", "Out", _ATTRS, infer=_infer(False), grad=True, lod="none")
def partial_sum(k: Call, parts: list[Any]) -> Any:
    """Out = the sum of `length` columns of each matrix from start_index on."""
    chosen = _columns(k.attrs, parts[0].shape[1])
    return sum(part[:, chosen] for part in parts)


@gradient("partial_sum", "X Out@GRAD", "X@GRAD")
def partial_sum_grad(k: Call, parts: list[Array], dout: Array) -> KernelResult:
    chosen = _columns(k.attrs, parts[0].shape[1])
    found = []
    for part in parts:
        dx = k.xp.zeros_like(part)
        dx[:, chosen] = dout
        found.append(dx)
    return found
