"""Helpers of `fluid.backward` that legacy code calls by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from fluidio.program import Block, Operator, OpRole, Program, Variable
from fluidio.program.op_def import GRAD_SUFFIX
from fluidio.program.op_def import grad_name as _append_grad_suffix_
from fluidio.program.op_desc import OpDesc

__all__ = [
    "_all_in_set_",
    "_append_grad_suffix_",
    "_as_list",
    "_create_loss_op_desc_",
    "_create_op_desc_",
    "_find_loss_op_",
    "_find_op_path_",
    "_get_no_grad_set_name",
    "_get_output_names",
    "_get_son_parent_block_idx_dict",
    "_get_stop_gradients_",
    "_get_sub_block_path",
    "_is_ancestor_block",
    "_is_grad_op_",
    "_pretty_op_desc_",
    "_rename_arg_",
    "_some_in_set_",
    "_strip_grad_suffix_",
    "serialize_op_decs",
]


def _as_list(value: object) -> list[Any]:
    """Return a list: empty for None, of one item for anything but a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _strip_grad_suffix_(name: str) -> str:
    """Return the name of the variable that a gradient belongs to."""
    return name.partition(GRAD_SUFFIX)[0]


def _all_in_set_(cands: Collection[object], s: Collection[object]) -> bool:
    """Return whether all candidates are in a set; False if there are none."""
    return bool(cands) and all(each in s for each in cands)


def _some_in_set_(cands: Collection[object], s: Collection[object]) -> bool:
    """Return whether a candidate is in a set; False if there are none."""
    return any(each in s for each in cands)


# -- descs ---------------------------------------------------------------------------------------------------------


def _create_op_desc_(
    op_type: str, inputs: dict[str, Sequence[Any]], outputs: dict[str, Sequence[Any]], attrs: dict[str, Any]
) -> OpDesc:
    """Return the desc of an op; its arguments are Variables or names."""
    desc = OpDesc()
    desc.set_type(op_type)
    for slot, arguments in inputs.items():
        desc.set_input(slot, _names(arguments))
    for slot, arguments in outputs.items():
        desc.set_output(slot, _names(arguments))
    for name, value in {"op_role": int(OpRole.Forward), "op_device": "", **attrs}.items():
        desc._set_attr(name, value)
    return desc


def _create_loss_op_desc_(loss: Variable) -> OpDesc:
    """Return the desc of the op that starts the gradient of a loss with 1."""
    attrs = {"shape": [1], "value": 1.0, "dtype": loss.dtype, "force_cpu": False}
    attrs["op_role"] = int(OpRole.Backward | OpRole.Loss)
    return _create_op_desc_("fill_constant", {}, {"Out": [_append_grad_suffix_(loss.name)]}, attrs)


def _rename_arg_(
    op_descs: Sequence[OpDesc], old_name: str, new_name: str, begin_idx: int | None = None, end_idx: int | None = None
) -> None:
    """Rename an argument in all descs from `begin_idx` to `end_idx`."""
    for desc in op_descs[begin_idx:end_idx]:
        desc._rename_input(old_name, new_name)
        desc._rename_output(old_name, new_name)


def _pretty_op_desc_(op_desc: OpDesc, prefix: str) -> str:
    """Return type and arguments of a desc as text."""
    reads, writes = op_desc.input_arg_names(), op_desc.output_arg_names()
    lines = [f"op\tname:[{op_desc.type()}]", f"input    \tinputs:[{' '.join(reads)}]"]
    return "\n".join(f"{prefix}_{line}" for line in [*lines, f"output    \toutputs:[{' '.join(writes)}]"])


def serialize_op_decs(op_desc: OpDesc) -> str:
    """Return a desc as the text of its protobuf message."""
    return op_desc.text()


def _is_grad_op_(op: Operator) -> bool:
    """Return whether an op belongs to the backward pass of a loss, by its role."""
    return op.has_attr("op_role") and int(op.attr("op_role")) == int(OpRole.Backward)


# -- blocks and paths ----------------------------------------------------------------------------------------------


def _get_son_parent_block_idx_dict(program: Program, current_block_idx: int) -> dict[int, int]:
    """Return {block: its parent} from a block up to the global one."""
    found = {}
    while current_block_idx >= 0:
        found[current_block_idx] = program.block(current_block_idx).parent_idx
        current_block_idx = found[current_block_idx]
    return found


def _get_sub_block_path(
    sub_block: Block, sub_block_op_desc: OpDesc, no_grad_set: set[str], op_path_dict: dict[int, list[Operator]]
) -> list[Operator]:
    """Return the ops of a sub-block that its results depend on."""
    writes = {name for name in sub_block_op_desc.output_arg_names() if name not in no_grad_set}
    return _path(sub_block.ops, writes, no_grad_set)


def _is_ancestor_block(ancestor_block: Block, block: Block) -> bool:
    """Return whether a block is above another one."""
    outer = block.parent
    while outer is not None and outer.idx != ancestor_block.idx:
        outer = outer.parent
    return outer is not None


def _get_output_names(cur_block: Block, targets: Iterable[Variable]) -> set[str]:
    """Return the names of targets that a block, or a block around it, has."""
    return {each.name for each in targets if cur_block._find_var_recursive(each.name) is not None}


def _find_loss_op_(loss: Variable) -> None:
    """Set `loss.op` to the last op that writes the loss."""
    for op in reversed(loss.block.ops):
        if loss.name in op.output_arg_names:
            loss.op = op
            return
    raise ValueError(f"the program has no op that computes the loss {loss.name}")


def _find_op_path_(
    block: Block, targets: Sequence[Variable], inputs: Sequence[Variable], no_grad_set: set[str], *_: object
) -> list[Operator]:
    """Return the ops between inputs and targets; without inputs, all that the targets depend on.

    With inputs, the names of other variables that these ops read are added to `no_grad_set`.
    """
    ops = _path(block.ops, {each.name for each in targets}, no_grad_set)
    if not inputs:
        return ops
    reached = {each.name for each in inputs}
    reachable = []
    for op in block.ops:
        if _some_in_set_(op.input_arg_names, reached):
            reachable.append(op)
            reached.update(name for name in op.output_arg_names if name not in no_grad_set)
    ops = [op for op in ops if op in reachable]
    written = {name for op in ops for name in op.output_arg_names}
    no_grad_set.update(name for op in ops for name in op.input_arg_names if name not in written and name not in reached)
    return ops


def _path(ops: Sequence[Operator], wanted: set[str], no_grad: set[str]) -> list[Operator]:
    found = []
    for op in reversed(ops):
        if _some_in_set_(op.output_arg_names, wanted):
            found.append(op)
            wanted.update(name for name in op.input_arg_names if name not in no_grad)
    return found[::-1]


# -- constants -----------------------------------------------------------------------------------------------------


def _get_stop_gradients_(program: Program) -> dict[int, set[str]]:
    """Return the gradients of each block's constants."""
    return {
        block.idx: {_append_grad_suffix_(v.name) for v in block.vars.values() if v.stop_gradient}
        for block in program.blocks
    }


def _get_no_grad_set_name(no_grad_set: Iterable[object] | None) -> set[str]:
    """Return the names of variables that are Variables or names."""
    if no_grad_set is None:
        return set()
    if not isinstance(no_grad_set, (set, list, tuple)):
        raise TypeError(f"The no_grad_set must be a set, list or tuple, got {type(no_grad_set).__name__}")
    wrong = [each for each in no_grad_set if not isinstance(each, (Variable, str))]
    if wrong:
        raise TypeError(f"The no_grad_set must hold Variables and names, got {wrong[0]!r}")
    return set(_names(no_grad_set))


def _names(arguments: Iterable[Any]) -> list[str]:
    return [each.name if isinstance(each, Variable) else str(each) for each in arguments]
