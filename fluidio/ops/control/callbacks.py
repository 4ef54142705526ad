"""Ops that act outside the program: print, py_func."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op, same_as
from fluidio.program.consent import check_consent
from fluidio.program.infer import InferContext
from fluidio.program.op_def import EMPTY, GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor import LoDTensor
from fluidio.tensor.array import Array

__all__ = ["RAISED"]

_PRINT: dict[str, Any] = {
    "first_n": -1,
    "message": "",
    "summarize": 20,
    "print_tensor_name": True,
    "print_tensor_type": True,
    "print_tensor_shape": True,
    "print_tensor_lod": True,
    "print_phase": "BOTH",
    "is_forward": True,
}


def _print_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("In")[0]
    if x in no_grad:
        return []
    attrs = {**{name: forward.attr(name) for name in _PRINT}, "is_forward": False}
    return [GradOp("print", {"In": [grad_name(forward.output("Out")[0])]}, {"Out": [grad_name(x)]}, attrs)]


@op("print", "In", "Out", _PRINT, infer=same_as("In"), grad=_print_grad, lod="kernel", side_effect=True)
def print_(k: Call, x: Array) -> Array:
    """Out = In; print the values, and in the backward pass their gradients."""
    a = k.attrs
    k.out_lods["Out"] = k.lod("In")
    wanted = a["print_phase"].upper() in ("BOTH", "FORWARD" if a["is_forward"] else "BACKWARD")
    printed = k.state.get("printed", 0)
    if wanted and not 0 <= a["first_n"] <= printed:
        k.state["printed"] = printed + 1
        print("\n".join(_lines(k, x)), flush=True)
    return x[...]


def _lines(k: Call, x: Array) -> list[str]:
    a = k.attrs
    lines = [a["message"]] if a["message"] else []
    name = k.op.input("In")[0]
    if a["print_tensor_name"]:
        lines.append(f"Variable: {name}")
    lod = k.lod("In")
    if a["print_tensor_lod"] and lod:
        lines.append(f"  - lod: {[level.tolist() for level in lod]}")
    if a["print_tensor_shape"]:
        lines.append(f"  - shape: {list(x.shape)}")
    if a["print_tensor_type"]:
        lines.append(f"  - dtype: {x.dtype}")
    values = k.dev.download(x).reshape(-1)
    shown = values if a["summarize"] < 0 else values[: a["summarize"]]
    lines.append(f"  - data: [{' '.join(str(v) for v in shown)}{' ...' if shown.size < values.size else ''}]")
    return lines


RAISED = "raised"
"""Where the state of a call holds the exception of the user's function."""

FUNCTIONS: list[Callable[..., Any]] = []
"""Functions that `py_func` ops call, by number."""


def register_function(function: Callable[..., object]) -> int:
    """Register a function for the lifetime of the process and return its number."""
    FUNCTIONS.append(function)
    return len(FUNCTIONS) - 1


def _py_func_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    backward = forward.attr("backward_callable_id")
    if backward < 0:
        return []
    skip = set(forward.attr("backward_skip_vars"))
    inputs, outputs = forward.input("X"), forward.output("Out")
    given = [n for n in (*inputs, *outputs) if n not in skip]
    wanted = [EMPTY if n in no_grad else grad_name(n) for n in inputs]
    if all(n == EMPTY for n in wanted):
        return []
    attrs = {"forward_callable_id": backward, "backward_callable_id": -1, "backward_skip_vars": []}
    return [GradOp("py_func", {"X": [*given, *(grad_name(n) for n in outputs)]}, {"Out": wanted}, attrs)]


def _declared(c: InferContext) -> None:
    """Leave the outputs as the user declared them; a gradient is like its variable."""
    for index, name in enumerate(c.op.output("Out")):
        base, found, _ = name.partition("@GRAD")
        source = c.block._find_var_recursive(base) if found else None
        if source is not None:
            c.set("Out", source.shape, source.dtype, source.lod_level, index)


@op(
    "py_func",
    "X*?",
    "Out*?",
    {"forward_callable_id": -1, "backward_callable_id": -1, "backward_skip_vars": []},
    infer=_declared,
    grad=_py_func_grad,
    lod="kernel",
    side_effect=True,
)
def py_func(k: Call, xs: list[Array]) -> Any:
    """Out = the result of the user's function for the inputs, passed as LoDTensors."""
    check_consent(k.op, "call a function of this process by its number")
    function = FUNCTIONS[k.attrs["forward_callable_id"]]
    lods = k.lods.get("X") or [()] * len(xs)
    given = [LoDTensor.wrap(k.dev.download(x), lod) if x is not None else None for x, lod in zip(xs, lods)]
    try:
        results = function(*given)
    except Exception as error:
        k.state[RAISED] = error  # it travels to the caller of `run` as it is
        raise
    listed = list(results) if isinstance(results, (list, tuple)) else [results]
    wanted = k.outs.get("Out", [])
    if wanted and len(listed) != len(wanted):
        raise ValueError(f"py_func: the function gave {len(listed)} results, {len(wanted)} outputs are declared")
    k.out_lods["Out"] = [r.levels if isinstance(r, LoDTensor) else () for r in listed]
    return [_array(k, r) for r in listed]


def _array(k: Call, result: Array | None) -> Array | None:
    if result is None:
        return None
    return k.dev.upload(np.array(result.array if isinstance(result, LoDTensor) else result))
