"""`variable[1:3, 0]`: indexing appends a `slice` or a `strided_slice` op, then a `reverse` for `[::-1]`."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fluidio.dtypes import DTypeLike, VarType
from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.program import unique_name
from fluidio.program.variable_math import VariableMath

if TYPE_CHECKING:
    from fluidio.program.variable import Variable

__all__ = ["slice_variable"]

_END = 10000000  # Fluid's number for "to the end"
_FAR = 2**31 - 1


def slice_variable(variable: Any, item: Any) -> Variable:
    """Append the ops for one index expression: whole numbers, slices of numbers or Variables, and an Ellipsis."""
    cut = _Cut(variable.block.program.current_block())
    for axis, index in enumerate(_full(variable, item)):
        cut.add(axis, index)
    return cut.append(variable)


def _full(variable: Any, item: Any) -> list[Any]:
    """Return the indices with the Ellipsis expanded."""
    items = list(item) if isinstance(item, tuple) else [item]
    if any(i is Ellipsis for i in items):
        at = next(n for n, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [slice(None)] * (len(variable.shape) - len(items) + 1)
    if len(items) > len(variable.shape):
        error = EnforceNotMet if era().checks_layer_arguments else IndexError
        raise error(f"{variable.name} has {len(variable.shape)} dims, but got {len(items)} indices")
    return items


@dataclass
class _Cut:
    """One index expression, axis by axis; the numbers may be Variables."""

    block: Any
    axes: list[int] = field(default_factory=list)
    starts: list[Any] = field(default_factory=list)
    ends: list[Any] = field(default_factory=list)
    strides: list[Any] = field(default_factory=list)
    drop: list[int] = field(default_factory=list)
    backwards: list[int] = field(default_factory=list)
    has_steps: bool = False

    def add(self, axis: int, index: object) -> None:
        if isinstance(index, slice):
            self._add_slice(axis, index)
            return
        self.drop.append(axis)
        if _is_variable(index):
            self._add(axis, index, self._sum(index, self._constant(1)), 1)
        else:
            start = _whole(index)
            self._add(axis, start, start + 1 if start != -1 else _END, 1)

    def _add_slice(self, axis: int, index: slice) -> None:
        step = 1 if index.step is None else index.step if _is_variable(index.step) else _whole(index.step)
        if index.start is None and index.stop is None and self._is_whole(axis, step):
            return
        # Fluid: a step that is a Variable is compared with 1 by ops whose result is unused.
        self.has_steps |= bool(step != 1)
        forward = _is_variable(step) or step > 0
        start = (0 if forward else _FAR) if index.start is None else _bound(index.start)
        stop = (_END if forward else -_FAR) if index.stop is None else _bound(index.stop)
        self._add(axis, start, stop, step)

    def _is_whole(self, axis: int, step: Any) -> bool:
        """Return whether `[::step]` takes all of a dim, in either order.

        Fluid: compares a step that is a Variable with -1, by ops whose result is unused, and takes it for equal.
        """
        if _is_variable(step) and era().checks_layer_arguments:
            warnings.warn(
                f"[::{step.name}]: like Fluid 1.8.5, a Variable as the only number of a slice reverses the dim; "
                f"write [0::{step.name}] for steps",
                stacklevel=5,
            )
            _ = step == -1  # appends the ops
        elif _is_variable(step) or step not in (1, -1):
            return False
        if _is_variable(step) or step == -1:
            self.backwards.append(axis)
        return True

    def _add(self, axis: int, start: object, end: object, stride: object) -> None:
        self.axes.append(axis)
        self.starts.append(start)
        self.ends.append(end)
        self.strides.append(stride)

    def append(self, variable: Variable) -> Variable:
        """Append the ops; if there are none, return the variable itself."""
        out = variable
        if self.axes:
            out = self._append_slice(variable)
        if self.backwards:
            axes = [axis - sum(dropped < axis for dropped in self.drop) for axis in self.backwards]
            source, out = out, self._made(f"{variable.name}_slice_reverse", variable.dtype)
            self.block.append_op(type="reverse", inputs={"X": [source]}, outputs={"Out": [out]}, attrs={"axis": axes})
        return out

    def _append_slice(self, variable: Variable) -> Variable:
        kind = "strided_slice" if self.has_steps else "slice"
        inputs: dict[str, Any] = {"Input": [variable]}
        bounds = {"starts": self.starts, "ends": self.ends}
        if self.has_steps:
            bounds["strides"] = self.strides
        attrs: dict[str, Any] = {"axes": self.axes, "decrease_axis": self.drop}
        for name, values in bounds.items():
            for value in values:
                if _is_variable(value):
                    value.stop_gradient = True
            attrs[name] = [-1 if _is_variable(value) else value for value in values]
            if any(_is_variable(value) for value in values):
                inputs[f"{name.capitalize()}TensorList"] = [
                    value if _is_variable(value) else self._constant(value) for value in values
                ]
        known = zip(*bounds.values())
        attrs["infer_flags"] = [-1 if any(_is_variable(value) for value in each) else 1 for each in known]
        out = self._made(f"{variable.name}_{kind}", variable.dtype)
        self.block.append_op(type=kind, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
        return out

    def _made(self, name: str, dtype: DTypeLike) -> Variable:
        made: Variable = self.block.create_var(name=unique_name.generate(name), dtype=dtype)
        made.stop_gradient = name == "_generated_var"  # bounds of a slice
        return made

    def _constant(self, value: int) -> Variable:
        out = self._made("_generated_var", VarType.INT32)
        attrs = {"shape": [1], "dtype": VarType.INT32, "value": float(value), "force_cpu": True}
        self.block.append_op(type="fill_constant", outputs={"Out": [out]}, attrs=attrs)
        return out

    def _sum(self, left: Any, right: Any) -> Variable:
        if left.dtype != right.dtype:
            right = right.astype(left.dtype)
        out = self._made("_generated_var", left.dtype)
        inputs = {"X": [left], "Y": [right]}
        self.block.append_op(type="elementwise_add", inputs=inputs, outputs={"Out": [out]}, attrs={"axis": -1})
        return out


def _is_variable(value: object) -> bool:
    return isinstance(value, VariableMath)


def _bound(value: object) -> Any:
    return value if _is_variable(value) else _whole(value)


def _whole(index: Any) -> int:
    try:
        return operator.index(index)
    except TypeError:
        raise TypeError(
            f"a Variable is indexed by ints, slices and Variables of one int, got {type(index).__name__}"
        ) from None
