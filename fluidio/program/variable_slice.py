"""`variable[1:3, 0]`: indexing appends `slice`, `strided_slice` and `squeeze2`-like ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidio.program import unique_name

if TYPE_CHECKING:
    from fluidio.program.variable import Variable

__all__ = ["slice_variable"]

_END = 2**31 - 1


def slice_variable(variable: Any, item: Any) -> Variable:
    """Append the ops for one index expression: integers, slices and an Ellipsis."""
    items = list(item) if isinstance(item, tuple) else [item]
    if any(i is Ellipsis for i in items):
        at = next(n for n, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [slice(None)] * (len(variable.shape) - len(items) + 1)
    if len(items) > len(variable.shape):
        raise IndexError(f"{variable.name} has {len(variable.shape)} dims, got {len(items)} indices")
    axes, starts, ends, strides, drop = [], [], [], [], []
    for axis, index in enumerate(items):
        if isinstance(index, int):
            drop.append(axis)
            axes.append(axis)
            starts.append(index)
            ends.append(index + 1 if index != -1 else _END)
            strides.append(1)
        elif isinstance(index, slice):
            if index == slice(None):
                continue
            step = 1 if index.step is None else index.step
            axes.append(axis)
            starts.append(index.start if index.start is not None else (0 if step > 0 else _END))
            ends.append(index.stop if index.stop is not None else (_END if step > 0 else -_END))
            strides.append(step)
        else:
            raise TypeError(f"a Variable is indexed by integers and slices, got {type(index).__name__}")
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
