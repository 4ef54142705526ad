"""Arithmetic on variables: `a + b`, `1.0 - a`, `a < b` append ops to the current block."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidio.dtypes import VarType, to_vartype
from fluidio.era import era
from fluidio.program import unique_name

if TYPE_CHECKING:
    from fluidio.program.variable import Variable

__all__ = ["VariableMath"]

_AS_SCALE = frozenset({"elementwise_add", "elementwise_sub", "elementwise_mul"})
_DIVIDES = frozenset({"elementwise_div", "elementwise_floordiv", "elementwise_mod"})
_INTEGERS = frozenset({VarType.BOOL, VarType.INT8, VarType.UINT8, VarType.INT16, VarType.INT32, VarType.INT64})


class VariableMath:
    """The operators of Variable.

    Fluid: results are named `tmp_N`. A number becomes a `fill_constant` of shape [1], or of the full shape if it is the
    left operand; from 1.6 on, `+ - *` with a number, and `/` of floats by one, are a `scale` op instead.
    """

    def __add__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_add")

    def __radd__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_add", reverse=True)

    def __sub__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_sub")

    def __rsub__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_sub", reverse=True)

    def __mul__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_mul")

    def __rmul__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_mul", reverse=True)

    def __truediv__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_div")

    __div__ = __truediv__

    def __rtruediv__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_div", reverse=True)

    __rdiv__ = __rtruediv__

    def __floordiv__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_floordiv")

    def __mod__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_mod")

    def __pow__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_pow")

    def __rpow__(self, other: object) -> Variable:
        return _binary(self, other, "elementwise_pow", reverse=True)

    def __neg__(self) -> Variable:
        return _scaled(self, -1.0)

    def __lt__(self, other: object) -> Variable:
        return _binary(self, other, "less_than")

    def __le__(self, other: object) -> Variable:
        return _binary(self, other, "less_equal")

    def __gt__(self, other: object) -> Variable:
        return _binary(self, other, "greater_than")

    def __ge__(self, other: object) -> Variable:
        return _binary(self, other, "greater_equal")

    def astype(self, dtype: Any) -> Variable:
        """Return the variable cast to `dtype`."""
        return _cast(self, to_vartype(dtype))

    def __getitem__(self, item: object) -> Variable:
        from fluidio.program.variable_slice import slice_variable

        return slice_variable(self, item)

    def __iter__(self) -> Iterator[Variable]:
        """Yield the rows if their number is known.

        Fluid: a loop over a variable never ended, because every index appended another op.
        """
        variable: Any = self
        if not variable.shape or variable.shape[0] < 0:
            raise TypeError(f"cannot iterate over {variable!r}: its number of rows is known only when the program runs")
        return (variable[row] for row in range(variable.shape[0]))

    def __eq__(self, other: object) -> Any:
        """Append `equal` for a number or another Variable; anything else is simply not equal."""
        return _binary(self, other, "equal") if isinstance(other, (VariableMath, int, float)) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return _binary(self, other, "not_equal") if isinstance(other, (VariableMath, int, float)) else NotImplemented

    __hash__ = object.__hash__


def _current_block(variable: Any) -> Any:
    return variable.block.program.current_block()


def _output(block: Any, dtype: VarType, lod_level: int | None = None) -> Variable:
    created: Variable = block.create_var(name=unique_name.generate("tmp"), dtype=dtype, lod_level=lod_level)
    return created


def _scaled(variable: Any, factor: float, bias: float = 0.0) -> Variable:
    block = _current_block(variable)
    out = _output(block, variable.dtype)
    attrs = {"scale": factor, "bias": bias}
    block.append_op(type="scale", inputs={"X": [variable]}, outputs={"Out": [out]}, attrs=attrs)
    return out


def _cast(variable: Any, dtype: VarType) -> Variable:
    block = _current_block(variable)
    out = _output(block, dtype)
    block.append_op(
        type="cast",
        inputs={"X": [variable]},
        outputs={"Out": [out]},
        attrs={"in_dtype": variable.dtype, "out_dtype": dtype},
    )
    return out


def _constant(like: Any, value: float, full: bool) -> Variable:
    """Append the scalar as a tensor: [1], or of the full shape when it is the left operand."""
    block = _current_block(like)
    out = _output(block, like.dtype)
    out.stop_gradient = True
    if full and any(d < 0 for d in like.shape):
        axis = next(i for i, d in enumerate(like.shape) if d < 0)
        shape = [d if d > 0 or i == axis else 1 for i, d in enumerate(like.shape)]  # Fluid: the others broadcast
        block.append_op(
            type="fill_constant_batch_size_like",
            inputs={"Input": [like]},
            outputs={"Out": [out]},
            attrs={
                "shape": shape,
                "dtype": like.dtype,
                "value": float(value),
                "input_dim_idx": axis,
                "output_dim_idx": axis,
            },
        )
    else:
        shape = list(like.shape) if full else [1]
        block.append_op(
            type="fill_constant",
            outputs={"Out": [out]},
            attrs={"shape": shape, "dtype": like.dtype, "value": float(value)},
        )
    return out


def _is_variable(value: object) -> bool:
    return isinstance(value, VariableMath)


def _binary(left: Any, right: Any, op_type: str, reverse: bool = False) -> Variable:
    if _is_variable(right):
        if left.dtype != right.dtype:
            right = _cast(right, left.dtype)
        return _append(left, right, op_type)
    number = _number(right, op_type)
    if left.dtype in _INTEGERS and not number.is_integer():
        refused = era().numbers_scale and op_type in _AS_SCALE and left.dtype is not VarType.BOOL
        if refused and _is_plain(right, reverse):
            raise AssertionError(
                f"{left.name} is {left.dtype.name}, so the number {number} would lose its decimals: write "
                f'{left.name}.astype("float32")'
            )
        left = left if _keeps_integers(left, number, op_type, reverse) else _cast(left, VarType.FP32)
    if _is_plain(right, reverse) and era().numbers_scale and _is_scale(left, number, op_type, reverse):
        return _scaled(left, *_factor_and_bias(op_type, number, reverse))
    constant = _constant(left, number, full=reverse)
    return _append(constant, left, op_type) if reverse else _append(left, constant, op_type)


def _number(value: Any, op_type: str) -> float:
    """Return a number, or the only element of an array, as a float."""
    if isinstance(value, (list, tuple, str)) or value is None:
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{op_type} of a Variable and {value!r} is not possible: use a number or another Variable")
    return float(value.item() if isinstance(value, np.ndarray) and value.size == 1 else value)


def _is_plain(value: object, reverse: bool) -> bool:
    """Return whether Fluid accepts a value as a number; on the right, of NumPy's only float64."""
    return reverse or isinstance(value, (int, float))


def _is_scale(variable: Any, number: float, op_type: str, reverse: bool) -> bool:
    if op_type == "elementwise_div":
        return number != 0 and not reverse and variable.dtype not in _INTEGERS
    return op_type in _AS_SCALE


def _keeps_integers(variable: Any, number: float, op_type: str, reverse: bool) -> bool:
    """Return whether a fraction is truncated because the variable is an integer; warn if so.

    Fluid: does so, except for `+ - *`, which refuse it, and where the result would be a division by zero.
    """
    if op_type in _AS_SCALE or (op_type in _DIVIDES and not reverse and abs(number) < 1):
        return False
    warnings.warn(
        f"{op_type} of {variable.name} ({variable.dtype.name}) and {number}: like Fluid, fluidio uses "
        f'{int(number)}, without the decimals; write {variable.name}.astype("float32") to keep them',
        stacklevel=4,
    )
    return True


def _factor_and_bias(op_type: str, number: float, reverse: bool) -> tuple[float, float]:
    if op_type == "elementwise_add":
        return 1.0, number
    if op_type == "elementwise_sub":
        return (-1.0, number) if reverse else (1.0, -number)
    return (number, 0.0) if op_type == "elementwise_mul" else (1.0 / number, 0.0)


def _append(left: Any, right: Any, op_type: str) -> Variable:
    # Fluid: the right operand aligns with the first dim if its own first dim is the batch, else with the last dims.
    axis = 0 if right.shape and right.shape[0] == -1 else -1
    block = _current_block(left)
    out = _output(block, left.dtype if op_type.startswith("elementwise_") else VarType.BOOL)
    try:
        block.append_op(type=op_type, inputs={"X": [left], "Y": [right]}, outputs={"Out": [out]}, attrs={"axis": axis})
    except Exception:
        block._remove_var(out.name)
        raise
    return out
