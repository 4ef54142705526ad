"""Loops and branches: ops that run a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.control.tensor_array import EndedGradients
from fluidio.ops.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.ops.math.reduce import sum_
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.program.op_def import STEPS_ATTR, GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor import LoDTensorArray
from fluidio.tensor.array import Array

__all__ = ["add_into", "built_in_backward"]


def built_in_backward(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Mark an op with a block, whose gradient fluidio.backward.blocks builds."""
    raise NotImplementedError(
        f"op {forward.type} runs a block, and its gradient must be built with it: use append_backward or gradients"
    )


def _infer_flag(c: InferContext) -> None:
    c.set("Out", (1,), VarType.BOOL, 0)


@op("is_empty", "X", "Out", infer=_infer_flag, grad=False, lod="none")
def is_empty(k: Call, x: Array) -> Array:
    """Out = whether X has no elements."""
    return k.dev.upload(np.array([x.size == 0]))


# -- while ---------------------------------------------------------------------------------------------------------


def _condition(k: Call, f: Frame, position: int, name: str) -> bool:
    value = f.values[position]
    if value is None:
        raise EnforceNotMet(f"the condition {name} has no value yet")
    if value.size != 1:
        raise EnforceNotMet(f"the condition {name} must have one element, its shape is {list(value.shape)}")
    return bool(k.dev.download(value).reshape(-1)[0])


def _infer_nothing(c: InferContext) -> None:
    for slot in ("StepScopes", "Scope", "step_scopes"):
        c.set(slot, type=VarType.STEP_SCOPES)


@op(
    "while",
    "X*? Condition",
    "Out*? StepScopes?",
    {"is_test": False},
    infer=_infer_nothing,
    grad=built_in_backward,
    raw=True,
    side_effect=True,
)
def while_(k: Call, f: Frame) -> None:
    """Run the block while Condition is true."""
    block, condition = k.blocks["sub_block"], k.ins["Condition"][0]
    name = k.op.input("Condition")[0]
    saving = STEPS_ATTR in k.attrs and not k.attrs["is_test"]
    carried = k.outs.get("Out", [])
    iterations: list[Any] = []
    while _condition(k, f, condition, name):
        if not iterations and not _can_end(k, f, condition):
            raise EnforceNotMet(
                f"the loop would never end, because nothing in its block sets the condition {name}: end the "
                "block with, for example, layers.less_than(i, n, cond=cond)"
            )
        block.clear(f)
        before = [f.values[i] for i in carried] if saving else []
        block.run(f)
        if saving:
            iterations.append((before, block.save(f)))
    if k.outs.get("StepScopes"):
        f.set(k.outs["StepScopes"][0], iterations)


def _can_end(k: Call, f: Frame, condition: int) -> bool:
    """Return whether the block sets the condition or reads data, which may end."""
    found = k.state.get("can_end")
    if found is None:
        steps = k.blocks["sub_block"].steps
        found = any(step.op.type == "read" or condition in f.plan.touched(step)[1] for step in steps)
        k.state["can_end"] = found
    return bool(found)


def add_into(k: Call, f: Frame, target: int, value: Array) -> None:
    """Add an iteration's gradient to the sum so far."""
    held = f.values[target]
    f.set(target, value if held is None else sum_(k, [held, value]))


def _inner_slots(k: Call, names: list[str]) -> list[int]:
    """Return the slots of gradients inside the gradient block, -1 for those it lacks."""
    own = k.blocks["sub_block"].slots
    return [own.get(grad_name(name), -1) for name in names]


@op(
    "while_grad",
    "X*? Out*? Out@GRAD*? StepScopes",
    "X@GRAD*?",
    {"live": [], "flows": [], "repeats": [], "lost": [], "lost_arrays": [], "replaced": []},
    infer=None,
    grad=False,
    raw=True,
)
def while_grad(k: Call, f: Frame) -> None:
    """Run the gradient block once for each iteration, last one first.

    The gradient of a variable that iterations pass on (attr `flows`) goes from each iteration to the one before it.

    Fluid: one that is replaced and never read (attr `repeats`) has the gradient from after the loop in each iteration.
    The gradient of one that is read and replaced (attr `lost`) is set to zero after the last iteration, as it is added
    to the memory it lies in, and doubled after the others. Entries of arrays (attr `lost_arrays`) are doubled, too, and
    those from after the loop are lost where the block has one gradient for them (attr `replaced`).
    """
    values = f.values
    body = k.blocks["sub_block"]
    iterations = values[k.ins["StepScopes"][0]]
    if iterations is None:
        raise EnforceNotMet("the loop kept no values for its gradient: was it built with is_test=True?")
    live, flows, repeats = k.attrs["live"], k.attrs["flows"], k.attrs["repeats"]
    lost, last = set(k.attrs["lost"]), True
    outs = k.op.input("Out")
    carried = {name: (slot, outs.index(name)) for name, slot in zip(live, _inner_slots(k, live))}
    # Gradients of arrays live outside the loop and grow in place; those of tensors are passed from step to step.
    flowing = {name: values[outer] for name, outer in zip(live, k.ins.get("Out@GRAD", [])) if not _is_array(k, name)}
    ended = _ended_arrays(k, f)
    xs = k.op.input("X")
    inside = _inner_slots(k, xs)
    targets = [(name, inner, outer) for name, inner, outer in zip(xs, inside, k.outs["X@GRAD"]) if outer >= 0]
    summed = [t for t in targets if t[0] not in carried and t[1] >= 0]
    for _, _, outer in summed:
        f.set(outer, None)
    forward = _forward_block(k, f)
    for before, saved in reversed(iterations):
        body.clear(f)
        forward.restore(f, saved)
        for name, gradient in flowing.items():
            if carried[name][0] >= 0:
                values[carried[name][0]] = gradient
        there = [array.begin() for array in ended]
        body.run(f)
        for array, indices in zip(ended, there):
            array.double(indices)
        for _, inner, outer in summed:
            if values[inner] is not None:
                add_into(k, f, outer, values[inner])
        for name in [name for name in flowing if name not in repeats]:
            slot, position = carried[name]
            gradient = values[slot] if name in flows or name in lost else None
            if gradient is None:
                gradient = _zeros_like(k, before[position])
            elif name in lost:
                gradient = _zeros_like(k, gradient) if last else gradient + gradient
            flowing[name] = gradient
        last = False
    for name, inner, outer in targets:
        source = k.ins["X"][xs.index(name)]
        if name in flowing:
            f.set(outer, flowing[name])
        elif inner >= 0 and values[outer] is None:
            f.set(outer, _zeros_like(k, values[source]), f.lods[source])
        elif inner >= 0 and hasattr(values[outer], "dtype"):
            f.set(outer, values[outer], f.lods[source])  # a gradient has the sequences of its variable


def _ended_arrays(k: Call, f: Frame) -> list[EndedGradients]:
    """Give the gradients of arrays that are lost as in Fluid their own kind of array."""
    found = []
    for name, slot in zip(k.attrs["live"], k.ins.get("Out@GRAD", [])):
        held = f.values[slot]
        if name in k.attrs["lost_arrays"] and isinstance(held, LoDTensorArray):
            found.append(EndedGradients(held.items, name in k.attrs["replaced"]))
            f.set(slot, found[-1])
    return found


def _is_array(k: Call, name: str) -> bool:
    variable = k.op.block._find_var_recursive(name)
    return variable is not None and variable.type is VarType.LOD_TENSOR_ARRAY


def _zeros_like(k: Call, value: Array | None) -> Any:
    return None if value is None or not hasattr(value, "dtype") else k.xp.zeros_like(value)


def _forward_block(k: Call, f: Frame) -> Any:
    """Return the runnable forward block of a gradient block."""
    index = k.blocks["sub_block"].block.forward_block_idx
    found = k.state.get("forward")
    if found is None:
        found = k.state["forward"] = f.plan.sub_blocks[index]
    return found


# -- conditional_block ---------------------------------------------------------------------------------------------


@op(
    "conditional_block",
    "Cond*? Input*?",
    "Out*? Scope?",
    {"is_scalar_condition": False, "is_test": False},
    infer=_infer_nothing,
    grad=built_in_backward,
    raw=True,
    side_effect=True,
)
def conditional_block(k: Call, f: Frame) -> None:
    """Run the block if the condition is true or, without a scalar condition, if no input is empty."""
    if k.attrs["is_scalar_condition"]:
        wanted = _condition(k, f, k.ins["Cond"][0], k.op.input("Cond")[0])
    else:
        wanted = all(f.values[i] is not None and f.values[i].size > 0 for i in k.ins["Cond"])
    if wanted:
        k.blocks["sub_block"].run(f)
    if k.outs.get("Scope"):
        f.set(k.outs["Scope"][0], [wanted])


op(
    "conditional_block_infer",
    "Cond*? Input*?",
    "Out*? Scope?",
    {"is_scalar_condition": False, "is_test": False},
    infer=_infer_nothing,
    grad=False,
    raw=True,
    side_effect=True,
)(conditional_block)


@op(
    "conditional_block_grad",
    "Cond*? Input*? Out*? Out@GRAD*? Scope",
    "Input@GRAD*? Kept@GRAD*?",
    {"live": [], "kept": [], "unread": []},
    infer=None,
    grad=False,
    raw=True,
)
def conditional_block_grad(k: Call, f: Frame) -> None:
    """Run the gradient block if the block was run.

    Otherwise its inputs have zero gradients, except those (attr `kept`) that it would have replaced: they have the
    gradient of the result. Kept@GRAD are the gradients of those that the block does not read (attr `unread`).
    """
    values, live, kept = f.values, k.attrs["live"], k.attrs["kept"]
    names, outer = k.op.input("Input"), k.outs.get("Input@GRAD") or [-1] * len(k.op.input("Input"))
    given = {name: (values[i], f.lods[i]) for name, i in zip(live, k.ins.get("Out@GRAD", []))}
    unread = list(zip(k.attrs["unread"], k.outs.get("Kept@GRAD", [])))
    if not values[k.ins["Scope"][0]][0]:
        for name, position, target in zip(names, k.ins.get("Input", []), outer):
            if target >= 0 and name in kept:
                f.set(target, *given[name])
            elif target >= 0 and not isinstance(values[position], LoDTensorArray):
                f.set(target, _zeros_like(k, values[position]))
        for name, target in unread:
            f.set(target, *given[name])
        return
    for name, slot in zip(live, _inner_slots(k, live)):
        if slot >= 0:
            values[slot], f.lods[slot] = given[name]
    k.blocks["sub_block"].run(f)
    for inner, target in zip(_inner_slots(k, names), outer):
        if target >= 0 and inner >= 0:
            f.set(target, values[inner], f.lods[inner])
    for name, target in unread:
        f.set(target, _zeros_like(k, given[name][0]), given[name][1])


# -- selecting -----------------------------------------------------------------------------------------------------


def _select_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    xs = forward.input("X")
    if all(x in no_grad for x in xs):
        return []
    inputs = {"X": list(xs), "Mask": list(forward.input("Mask"))}
    inputs["Out@GRAD"] = [grad_name(forward.output("Out")[0])]
    names = ["@EMPTY@" if x in no_grad else grad_name(x) for x in xs]
    return [GradOp("select_input_grad", inputs, {"X@GRAD": names})]


def _chosen(k: Call, f: Frame, count: int) -> int:
    index = int(k.dev.download(f.values[k.ins["Mask"][0]]).reshape(-1)[0])
    if not 0 <= index < count:
        raise EnforceNotMet(f"Mask is {index}, but there are {count} branches")
    return index


@op("select_input", "X* Mask", "Out", infer=None, grad=_select_maker, raw=True)
def select_input(k: Call, f: Frame) -> None:
    """Out = X[Mask]."""
    source = k.ins["X"][_chosen(k, f, len(k.ins["X"]))]
    if f.values[source] is None:
        raise EnforceNotMet(f"{f.plan.name_of(source)} has no value, because the branch that ran did not set it")
    f.set(k.outs["Out"][0], f.values[source], f.lods[source])


@op("select_input_grad", "X*? Mask Out@GRAD", "X@GRAD*?", infer=None, grad=False, raw=True)
def select_input_grad(k: Call, f: Frame) -> None:
    """Pass the gradient to the selected branch, and zeros to the others that hold a value."""
    chosen = _chosen(k, f, len(k.outs["X@GRAD"]))
    for index, (source, target) in enumerate(zip(k.ins["X"], k.outs["X@GRAD"])):
        if target < 0:
            continue
        if index == chosen:
            f.set(target, f.values[k.ins["Out@GRAD"][0]], f.lods[source])
        else:
            f.set(target, _zeros_like(k, f.values[source]), f.lods[source])


def _select_back(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    (x,) = forward.input("X")
    if x in no_grad:
        return []
    inputs = {"X": [grad_name(out) for out in forward.output("Out")], "Mask": list(forward.input("Mask"))}
    return [GradOp("select_input", inputs, {"Out": [grad_name(x)]})]


@op("select_output", "X Mask", "Out*", infer=None, grad=_select_back, raw=True)
def select_output(k: Call, f: Frame) -> None:
    """Out[Mask] = X; the other outputs do not change."""
    source = k.ins["X"][0]
    f.set(k.outs["Out"][_chosen(k, f, len(k.outs["Out"]))], f.values[source], f.lods[source])
