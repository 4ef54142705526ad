"""Rewrite a program for mixed precision: casts around ops, gradients cast last, an adaptive loss scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio import layers
from fluidio.contrib.amp_lists import AutoMixedPrecisionLists
from fluidio.dtypes import VarType
from fluidio.program import Block, Operator, OpRole, Program, Variable
from fluidio.program.desc import BlockDesc

__all__ = [
    "_dtype_to_str",
    "_rename_arg",
    "find_op_index",
    "find_true_post_op",
    "find_true_prev_op",
    "rewrite_program",
    "update_loss_scaling",
    "update_role_var_grad",
]

_HOLDERS = (VarType.LOD_TENSOR, VarType.SELECTED_ROWS, VarType.LOD_TENSOR_ARRAY)
_SHORT = {VarType.FP16: "fp16", VarType.FP32: "fp32"}


def find_true_prev_op(ops: Sequence[Operator], cur_op: Operator, var_name: str) -> Operator | None:
    """Return the only op before `cur_op` that writes a variable, or None."""
    before = [op for op in ops[: find_op_index(ops, cur_op)] if var_name in op.output_arg_names]
    if len(before) > 1:
        raise ValueError(
            f"{len(before)} ops write {var_name} before op {cur_op.type} reads it; mixed precision needs exactly one"
        )
    return before[0] if before else None


def find_true_post_op(ops: Sequence[Operator], cur_op: Operator, var_name: str) -> list[Operator] | None:
    """Return the ops after `cur_op` that read a variable, or None."""
    return [op for op in ops[find_op_index(ops, cur_op) + 1 :] if var_name in op.input_arg_names] or None


def find_op_index(block_desc: Any, cur_op_desc: Any) -> int:
    """Return the index of an op in a block or a list of ops (or of their descs), or -1."""
    if isinstance(block_desc, BlockDesc):
        ops: Any = [block_desc.op(index) for index in range(block_desc.op_size())]
        return next((index for index, op in enumerate(ops) if op == cur_op_desc), -1)
    ops = getattr(block_desc, "ops", block_desc)
    return next((index for index, op in enumerate(ops) if op is cur_op_desc), -1)


def _rename_arg(op: Operator, old_name: str, new_name: str) -> None:
    """Rename an argument of an op in its desc."""
    op.rename(old_name, new_name)


def _dtype_to_str(dtype: VarType) -> str:
    """Return how a dtype is called in the names of casts."""
    return _SHORT.get(dtype, "fp32")


# -- casts --------------------------------------------------------------------------------------------------------


def rewrite_program(main_prog: Program, amp_lists: AutoMixedPrecisionLists) -> None:
    """Run white ops and their followers in float16, black and unknown ops in float32, with casts in between."""
    block = main_prog.global_block()
    wanted = _precisions(block, amp_lists)
    for op in list(block.ops):
        precision = wanted.get(id(op))
        if precision is not None:
            _cast_inputs(block, op, precision)
            if precision is VarType.FP16:
                _turn_outputs(block, op)
    main_prog.note_change()


def _precisions(block: Block, lists: AutoMixedPrecisionLists) -> dict[int, VarType]:
    """Return the precision of each op that has one; a gray op follows the ops that make its inputs."""
    found: dict[int, VarType] = {}
    for op in block.ops:
        names = {*op.input_arg_names, *op.output_arg_names}
        if not names.isdisjoint(lists.black_varnames or ()) or op.type in lists.black_list:
            found[id(op)] = VarType.FP32
        elif op.type in lists.white_list:
            found[id(op)] = VarType.FP16
        elif op.type not in lists.gray_list:
            found[id(op)] = VarType.FP32
        else:
            sources = {_source_precision(block, op, name, found, lists) for name in op.input_arg_names}
            if VarType.FP32 in sources:
                found[id(op)] = VarType.FP32
            elif VarType.FP16 in sources:
                found[id(op)] = VarType.FP16
    return found


def _source_precision(
    block: Block, op: Operator, name: str, found: dict[int, VarType], lists: AutoMixedPrecisionLists
) -> VarType | None:
    source = block.var(name).op
    if source is op:  # the op overwrites its input
        source = find_true_prev_op(block.ops, op, name)
    if source is None:
        return None
    if found.get(id(source)) is VarType.FP32 or source.type in lists.black_list:
        return VarType.FP32
    return VarType.FP16 if id(source) in found or source.type in lists.white_list else None


def _cast_inputs(block: Block, op: Operator, wanted: VarType) -> None:
    other = VarType.FP32 if wanted is VarType.FP16 else VarType.FP16
    place = find_op_index(block, op)
    for slot in sorted(op.input_names):
        if wanted is VarType.FP16 and op.type == "batch_norm" and slot != "X":
            continue
        for name in op.input(slot):
            variable = block.var(name)
            if variable.type not in _HOLDERS:
                continue
            if variable._dtype is not other:
                if op.has_attr("in_dtype"):
                    op._set_attr("in_dtype", wanted)
                continue
            cast = _cast_of(block, variable, wanted, place)
            op.rename(name, cast.name)


def _cast_of(block: Block, variable: Variable, wanted: VarType, place: int) -> Variable:
    name = f"{variable.name}.cast_{_SHORT[wanted]}"
    there = block.vars.get(name)
    if there is not None and there._dtype is wanted:
        return there
    out = block.create_var(name=name, dtype=wanted, persistable=False, stop_gradient=False)
    attrs = {"in_dtype": variable._dtype, "out_dtype": wanted}
    block._insert_op(place, type="cast", inputs={"X": [variable]}, outputs={"Out": [out]}, attrs=attrs)
    return out


def _turn_outputs(block: Block, op: Operator) -> None:
    for slot in op.output_names:
        if op.type == "batch_norm" and slot != "Y":
            continue
        for name in op.output(slot):
            variable = block.var(name)
            if variable.type in _HOLDERS and variable._dtype is VarType.FP32:
                variable._dtype = VarType.FP16
                if op.has_attr("out_dtype"):
                    op._set_attr("out_dtype", VarType.FP16)


def update_role_var_grad(main_prog: Program, params_grads: Sequence[Any]) -> None:
    """Cast gradients back to float32 at the end, so that trainers exchange them in float16."""
    block = main_prog.global_block()
    for parameter, grad in params_grads:
        cast = grad.op
        if grad._dtype is not VarType.FP32 or cast.type != "cast":
            continue
        half = cast.input("X")[0]
        source = find_true_prev_op(block.ops, cast, half)
        if source is not None:
            before = source.attr("op_role_var") if source.has_attr("op_role_var") else []
            source._set_attr("op_role_var", [parameter.name, half, *before])
        cast.attrs.pop("op_role_var", None)
        cast._set_attr("op_role", int(OpRole.Optimize))
        readers = find_true_post_op(block.ops, cast, grad.name)
        if readers is not None:
            raise ValueError(
                f"op {readers[0].type} reads the gradient {grad.name}, which mixed precision casts only for the update"
            )
        block.ops.append(block.ops.pop(find_op_index(block, cast)))
    main_prog.note_change()


# -- the loss scale -----------------------------------------------------------------------------------------------


def update_loss_scaling(
    is_overall_finite: Variable,
    prev_loss_scaling: Variable,
    num_good_steps: Variable,
    num_bad_steps: Variable,
    incr_every_n_steps: Variable,
    decr_every_n_nan_or_inf: Variable,
    incr_ratio: float,
    decr_ratio: float,
) -> None:
    """Raise the scale after enough finite steps in a row, lower it after enough others; it stays at 1 or above."""
    zero = layers.fill_constant(shape=[1], dtype="int32", value=0)

    def begin_again() -> None:
        layers.assign(zero, num_good_steps)
        layers.assign(zero, num_bad_steps)

    def after_good_step() -> None:
        enough = layers.less_than(incr_every_n_steps, num_good_steps + 1)
        with layers.Switch() as switch:
            with switch.case(enough):
                _raise(prev_loss_scaling, incr_ratio)
                begin_again()
            with switch.default():
                layers.increment(num_good_steps)
                layers.assign(zero, num_bad_steps)

    def after_bad_step() -> None:
        enough = layers.less_than(decr_every_n_nan_or_inf, num_bad_steps + 1)
        with layers.Switch() as switch:
            with switch.case(enough):
                _lower(prev_loss_scaling, decr_ratio)
                begin_again()
            with switch.default():
                layers.assign(zero, num_good_steps)
                layers.increment(num_bad_steps)

    with layers.Switch() as switch:
        with switch.case(is_overall_finite):
            after_good_step()
        with switch.default():
            after_bad_step()


def _raise(scale: Variable, ratio: float) -> None:
    larger = scale * ratio
    fits = layers.isfinite(larger)
    with layers.Switch() as switch:
        with switch.case(fits):
            layers.assign(larger, scale)
        with switch.default():
            pass


def _lower(scale: Variable, ratio: float) -> None:
    smaller = scale * ratio
    one = layers.fill_constant(shape=[1], dtype="float32", value=1.0)
    below = layers.less_than(smaller, one)
    with layers.Switch() as switch:
        with switch.case(below):
            layers.assign(one, scale)
        with switch.default():
            layers.assign(smaller, scale)
