"""The op behind StaticRNN: run a block once for each step of tensors whose first dim is time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.control.control_flow import add_into, built_in_backward
from fluidio.ops.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.program.op_def import STEPS_ATTR, grad_name
from fluidio.tensor.array import Array

__all__: list[str] = []


@op("rnn_memory_helper", "X", "Out", {"dtype": 5}, infer=same_as("X"), grad=True)
def rnn_memory_helper(k: Call, x: Array) -> Array:
    """Out = X, under the name the next step uses."""
    return x[...]


@gradient("rnn_memory_helper", "X Out@GRAD", "X@GRAD", carried="Out")
def rnn_memory_helper_grad(k: Call, x: Array, dout: Array | None) -> Array:
    return k.xp.zeros_like(x) if dout is None else dout[...]


def _infer(c: InferContext) -> None:
    return None  # StaticRNN describes the outputs: their first dim is time


def _length(k: Call, f: Frame) -> int:
    lengths = {name: f.values[i].shape[0] for name, i in zip(k.op.input("inputs"), k.ins["inputs"])}
    if len(set(lengths.values())) != 1:
        raise EnforceNotMet(f"all inputs of a StaticRNN must have the same number of steps, got {lengths}")
    return int(next(iter(lengths.values())))


def _slots(k: Call, names: list[str]) -> list[int]:
    own = k.blocks["sub_block"].slots
    return [own.get(name, -1) for name in names]


@op(
    "recurrent",
    "inputs* initial_states*? parameters*?",
    "outputs*? step_scopes?",
    {"ex_states": [], "states": [], "reverse": False, "is_train": True, "has_states": True, "is_test": False},
    infer=_infer,
    grad=built_in_backward,
    raw=True,
)
def recurrent(k: Call, f: Frame) -> None:
    """outputs[t] = the block's results for inputs[t] and the states of the previous step."""
    values, body = f.values, k.blocks["sub_block"]
    time = _length(k, f)
    saving = STEPS_ATTR in k.attrs and not k.attrs["is_test"]
    inner_in = _slots(k, k.op.input("inputs"))
    inner_out = _slots(k, k.op.output("outputs"))
    states, before = _slots(k, k.attrs["states"]), _slots(k, k.attrs["ex_states"])
    held = [values[i] for i in k.ins.get("initial_states", [])]
    order = range(time - 1, -1, -1) if k.attrs["reverse"] else range(time)
    collected: list[list[Any]] = [[None] * time for _ in inner_out]
    saved = []
    for t in order:
        body.clear(f)
        for outer, inner in zip(k.ins["inputs"], inner_in):
            if inner >= 0:
                values[inner] = values[outer][t]
        for slot, value in zip(before, held):
            if slot >= 0:
                values[slot] = value
        body.run(f)
        held = [values[i] for i in states]
        for column, slot in zip(collected, inner_out):
            column[t] = values[slot]
        if saving:
            saved.append(body.save(f))
    for position, column in zip(k.outs.get("outputs", []), collected):
        f.set(position, k.xp.stack(column))
    if k.outs.get("step_scopes"):
        f.set(k.outs["step_scopes"][0], saved)


@op(
    "recurrent_grad",
    "inputs* initial_states*? parameters*? outputs*? outputs@GRAD*? step_scopes",
    "inputs@GRAD*? initial_states@GRAD*? parameters@GRAD*?",
    {"ex_states": [], "states": [], "reverse": False, "live": []},
    infer=None,
    grad=False,
    raw=True,
)
def recurrent_grad(k: Call, f: Frame) -> None:
    """Run the gradient block once for each step, last one first."""
    values, body = f.values, k.blocks["sub_block"]
    saved = values[k.ins["step_scopes"][0]]
    if not saved:
        raise EnforceNotMet("the StaticRNN kept no values for its gradient: was it built with is_test=True?")
    forward = f.plan.sub_blocks[body.block.forward_block_idx]
    time = len(saved)
    names = k.op.input("outputs")
    live, own = k.attrs["live"], body.slots
    given = dict(zip([name for name in names if name in live], k.ins.get("outputs@GRAD", [])))
    states, before = k.attrs["states"], k.attrs["ex_states"]
    carried: dict[str, Any] = {}
    wanted_in = _wanted(k, "inputs", k.op.input("inputs"), own)
    wanted_par = _wanted(k, "parameters", k.op.input("parameters"), own)
    wanted_init = _wanted(k, "initial_states", before, own)
    steps: dict[int, list[Any]] = {outer: [None] * time for _, outer, _ in wanted_in}
    for _, outer, _ in wanted_par:
        f.set(outer, None)
    for n in range(time - 1, -1, -1):
        t = time - 1 - n if k.attrs["reverse"] else n
        body.clear(f)
        forward.restore(f, saved[n])
        for name in live:
            slot = own.get(grad_name(name), -1)
            parts = [values[given[name]][t]] if name in names and name in given else []
            if carried.get(name) is not None:
                parts.append(carried[name])
            if slot >= 0:
                values[slot] = _total(k, parts, values[forward.slots[name]])
        body.run(f)
        carried = {s: values[own[grad_name(b)]] for s, b in zip(states, before) if grad_name(b) in own}
        for inner, outer, source in wanted_in:
            gradient = values[inner]
            steps[outer][t] = k.xp.zeros_like(values[source][t]) if gradient is None else gradient
        for inner, outer, _ in wanted_par:
            if values[inner] is not None:
                add_into(k, f, outer, values[inner])
    for outer, rows in steps.items():
        f.set(outer, k.xp.stack(rows))
    for inner, outer, source in (*wanted_init, *wanted_par):
        value = values[inner] if (inner, outer, source) in wanted_init else values[outer]
        f.set(outer, k.xp.zeros_like(values[source]) if value is None else value)


def _wanted(k: Call, slot: str, inside: list[str], own: Mapping[str, int]) -> list[tuple[int, int, int]]:
    """Return (slot in the gradient block, slot of the result, slot of the variable) for each requested gradient."""
    found = []
    for name, outer, source in zip(inside, k.outs.get(f"{slot}@GRAD", []), k.ins.get(slot, [])):
        inner = own.get(grad_name(name), -1)
        if outer >= 0 and inner >= 0:
            found.append((inner, outer, source))
    return found


def _total(k: Call, parts: list[Array], like: Array) -> Array:
    if not parts:
        return k.xp.zeros_like(like)
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]
