"""Layers that reach out of the program: Print, py_func."""

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
    """The input itself, printed at every run (or the first_n ones); use the result, or nothing is printed.

    Args:
        summarize: print so many elements, -1 for all.
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
        skip_vars_in_backward_input: inputs and outputs that backward_func is not given.
    """
    if not callable(func):
        raise TypeError(f"Input func must be a function, it is a {type(func).__name__}")
    inputs, outputs = _listed(x), _listed(out)
    for variable in outputs:
        if not variable.shape and variable.op is None and backward_func is not None:
            raise ValueError(f"Output shapes of py_func op should be provided by users manually ({variable.name})")
    skipped = [v.name if isinstance(v, Variable) else str(v) for v in _listed(skip_vars_in_backward_input)]
    known = {v.name for v in (*inputs, *outputs)}
    for name in skipped:
        if name not in known:
            raise ValueError(f"Variable {name} is not found in forward inputs and outputs")
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
