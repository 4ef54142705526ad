"""Parts of a gradient: a variable that several ops read gets one from each, under separate names."""

from __future__ import annotations

from collections import Counter, defaultdict

from fluidio.backward.grad_vars import array_gradient, create_grad
from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.program import Block, Operator
from fluidio.program.op_def import EMPTY, GRAD_SUFFIX

__all__ = ["partial_name"]


def partial_name(
    name: str,
    block: Block,
    target: Block,
    pending: defaultdict[str, list[str]],
    counts: Counter[str],
    outputs: dict[str, list[str]],
) -> str:
    """Return the name under which a gradient op writes: `x@GRAD`, or one of several parts of it.

    `counts` are the parts so far, and `outputs` the op's output names so far: x * x has two parts in one op.
    """
    if name == EMPTY or not name.endswith(GRAD_SUFFIX):
        return name
    base = name.removesuffix(GRAD_SUFFIX)
    variable = block._find_var_recursive(base)
    if variable is not None and variable.type is VarType.LOD_TENSOR_ARRAY:
        # The gradient of an array is one array that all ops add to, entry by entry.
        array_gradient(block, target, variable)
        pending[base] = [name]
        return name
    parts = pending[base]
    if len(parts) == 1 and parts[0] == name:
        # A second part: the first one gives up the plain name.
        renamed = _part_name(name, block, counts)
        create_grad(target, variable, renamed).type = target.var(name).type
        _rename_last_writer(target, name, renamed, outputs)
        parts[0] = renamed
    if parts:
        name = _part_name(name, block, counts)
    parts.append(name)
    create_grad(target, variable, name)
    return name


def _part_name(name: str, block: Block, counts: Counter[str]) -> str:
    counts[name] += 1
    where = f"block{block.idx}@" if era().parts_name_their_block else ""
    return f"{name}@RENAME@{where}{counts[name] - 1}"


def _rename_last_writer(target: Block, old: str, new: str, outputs: dict[str, list[str]]) -> None:
    for names in outputs.values():
        if old in names:
            names[names.index(old)] = new
            return
    writer = _last_writer(target, old)
    if writer is not None:
        for op in reversed(target.ops):  # in a loop, the gradient of what a state becomes is a part of the state's
            if op is writer:
                break
            op._rename_input(old, new)
        writer._rename_output(old, new)
        return
    # No op here wrote it: it was put into this block, so first assign it to the new name.
    target._insert_op(0, type="assign", inputs={"X": [old]}, outputs={"Out": [new]})


def _last_writer(block: Block, name: str) -> Operator | None:
    """Return the last op of a block that writes a name; the variable knows it, unless it was renamed."""
    variable = block.vars.get(name)
    op = None if variable is None else variable.op
    if op is not None and op.block is block and name in op.output_arg_names:
        return op
    return next((op for op in reversed(block.ops) if name in op.output_arg_names), None)
