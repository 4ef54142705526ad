"""`variable[1:3, 0]`: indexing appends `slice` and `strided_slice` ops."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from fluidio.program import unique_name

if TYPE_CHECKING:
    from fluidio.program.variable import Variable

__all__ = ["slice_variable"]

_END = 2**31 - 1


def slice_variable(variable: Any, item: Any) -> Variable:
    """Append the ops for one index expression: whole numbers, slices and an Ellipsis."""
    items = list(item) if isinstance(item, tuple) else [item]
    if any(i is Ellipsis for i in items):
        at = next(n for n, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [slice(None)] * (len(variable.shape) - len(items) + 1)
    if len(items) > len(variable.shape):
        raise IndexError(f"{variable.name} has {len(variable.shape)} dims, got {len(items)} indices")
    items = [index if isinstance(index, slice) else _whole(index) for index in items]
    if any(isinstance(index, slice) and index.step not in (None, 1) for index in items):
        numbers = tuple(slice(None) if isinstance(index, slice) else index for index in items)
        rest = [index for index in items if isinstance(index, slice)]
        return _cut(slice_variable(variable, numbers), rest)
    return _cut(variable, items)


def _whole(index: Any) -> int:
    try:
        return operator.index(index)
    except TypeError:
        raise TypeError(f"a Variable is indexed by integers and slices, got {type(index).__name__}") from None


def _cut(variable: Any, items: list[Any]) -> Variable:
    """Append one op: `slice`, which also drops dims, or `strided_slice` where there are steps."""
    axes, starts, ends, strides, drop = [], [], [], [], []
    for axis, index in enumerate(items):
        if index == slice(None):
            continue
        axes.append(axis)
        if isinstance(index, int):
            drop.append(axis)
            starts.append(index)
            ends.append(index + 1 if index != -1 else _END)
            strides.append(1)
        else:
            step = 1 if index.step is None else index.step
            starts.append(index.start if index.start is not None else (0 if step > 0 else _END))
            ends.append(index.stop if index.stop is not None else (_END if step > 0 else -_END))
            strides.append(step)
    block = variable.block.program.current_block()
    if not axes:
        return variable  # type: ignore[no-any-return]
    out: Variable = block.create_var(name=unique_name.generate(f"{variable.name}_slice"), dtype=variable.dtype)
    attrs: dict[str, Any] = {"axes": axes, "starts": starts, "ends": ends}
    if all(step == 1 for step in strides):
        attrs["decrease_axis"] = drop
        block.append_op(type="slice", inputs={"Input": [variable]}, outputs={"Out": [out]}, attrs=attrs)
        return out
    attrs["strides"] = strides
    block.append_op(type="strided_slice", inputs={"Input": [variable]}, outputs={"Out": [out]}, attrs=attrs)
    return out
