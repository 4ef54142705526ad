"""Layers with effects outside the program: Print, py_func."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.ops.control.callbacks import register_function
from fluidio.program import Variable, default_main_program

__all__ = ["Print", "py_func"]


def Print(
    input: Variable,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Variable:
    """Return the input and print it in every run (or the first_n runs); unless the result is used, nothing is printed.

    Args:
        summarize: how many elements to print, -1 for all.
        print_phase: "forward" prints values, "backward" gradients, "both" both.
    """
    helper = LayerHelper(f"print_{input.name}")
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="print",
        inputs={"In": [input]},
        outputs={"Out": [out]},
        attrs={
            "first_n": first_n,
            "summarize": summarize,
            "message": message or "",
            "print_tensor_name": print_tensor_name,
            "print_tensor_type": print_tensor_type,
            "print_tensor_shape": print_tensor_shape,
            "print_tensor_lod": print_tensor_lod,
            "print_phase": print_phase.upper(),
        },
    )
    return out


def _listed(value: Any) -> list[Variable]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def py_func(
    func: Callable[..., object],
    x: Variable,
    out: object,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: object = None,
) -> Any:
    """Call a Python function in the program.

    Args:
        func: takes LoDTensors, returns arrays or LoDTensors.
        out: declared Variables for its results (`program.current_block().create_var`), or None.
        backward_func: takes inputs, outputs and gradients of outputs, returns gradients of the inputs.
        skip_vars_in_backward_input: inputs and outputs not passed to backward_func.
    """
    if not callable(func):
        raise TypeError(f"py_func: func must be a function, got {type(func).__name__}")
    inputs, outputs = _listed(x), _listed(out)
    for variable in outputs:
        if not variable.shape and variable.op is None and backward_func is not None:
            raise ValueError(
                f"py_func: the output {variable.name} needs a shape, because backward_func is given: create "
                "it with create_variable(shape=...) before the call"
            )
    skipped = [v.name if isinstance(v, Variable) else str(v) for v in _listed(skip_vars_in_backward_input)]
    known = {v.name for v in (*inputs, *outputs)}
    for name in skipped:
        if name not in known:
            raise ValueError(f"py_func: skip_vars_in_backward_input names {name}, which is neither in x nor in out")
    default_main_program().current_block().append_op(
        type="py_func",
        inputs={"X": inputs},
        outputs={"Out": outputs},
        attrs={
            "forward_callable_id": register_function(func),
            "backward_callable_id": -1 if backward_func is None else register_function(backward_func),
            "backward_skip_vars": skipped,
        },
    )
    return out
