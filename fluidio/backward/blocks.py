"""Gradients of ops that hold a block: loops, branches and recurrent steps.

The gradient of a block is a separate block. It sees the variables of the forward block (`forward_block_idx`), which the
executor restores to their values at the end of each iteration, and runs once per iteration, in reverse order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from fluidio.backward.grad_vars import array_gradient, create_grad, differentiable, is_array
from fluidio.backward.loop_path import Inside, LoopPath, loop_path
from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.program import Block, Operator
from fluidio.program.call_site import describe
from fluidio.program.op_def import EMPTY, RIGHT_GRADIENT_ATTR, STEPS_ATTR, GradOp, grad_name

__all__ = ["block_gradients"]

AppendGradOps = Callable[..., dict[str, str]]


class _Body:
    """The gradient of one block under construction."""

    def __init__(self, op: Operator, no_grad: set[str], target: Block, append: AppendGradOps, inside: Inside) -> None:
        self.op = op
        self.inside = inside
        self.forward: Block = op.attrs["sub_block"]
        self.no_grad = no_grad
        self.append = append
        program = target.program
        current = program.current_block_idx
        self.block = program._create_block(parent_idx=target.idx)
        program.current_block_idx = current
        self.block.forward_block_idx = self.forward.idx
        self.path: LoopPath | None = None

    def wanted(self, name: str) -> bool:
        return name not in self.no_grad and differentiable(self.forward._find_var_recursive(name))

    def is_array(self, name: str) -> bool:
        return is_array(self.forward, name)

    def reachable(self, live: set[str]) -> set[str]:
        """Return all names that `live` depends on inside the block."""
        wanted = set(live)
        for op in reversed(self.forward.ops):
            if wanted.intersection(op.output_arg_names):
                wanted.update(name for name in op.input_arg_names if name != EMPTY)
        return wanted

    def build(self, live: Sequence[str]) -> dict[str, str]:
        """Append the gradient ops; the gradients of `live` are put into the block before each iteration."""
        known = {}
        for name in live:
            variable = self.forward._find_var_recursive(name)
            assert variable is not None
            if self.is_array(name):
                array_gradient(self.forward, self.block, variable)
            else:
                create_grad(self.block, variable, grad_name(name))
            known[name] = grad_name(name)
        reached = self.reachable(set(live))
        ops = [op for op in self.forward.ops if reached.intersection(op.output_arg_names)]
        if self.path is not None:
            ops = [op for op in ops if self.path.has(op)]
        self.op._set_attr(STEPS_ATTR, True)
        return self.append(self.forward, ops, known, self.no_grad, self.block, inside=self.inside)


def block_gradients(
    op: Operator,
    alive: Sequence[str],
    replaced: set[str],
    no_grad: set[str],
    target: Block,
    append: AppendGradOps,
    around: Inside | None = None,
    idle: set[str] | None = None,
) -> list[GradOp]:
    """Return the gradient op of an op with a block, building its block.

    Args:
        alive: outputs of the op that have a gradient.
        replaced: outputs that had another value before the op.
        around: where the op's own block stands, if it is a body.
        idle: takes the variables that have None for a gradient.
    """
    body = _Body(op, no_grad, target, append, around or Inside())
    if op.type == "while":
        found = _while(body, alive, replaced)
        if idle is not None and body.path is not None:
            idle.update(body.path.idle)
        return found
    if op.type in ("conditional_block", "conditional_block_infer"):
        return _conditional(body, alive, replaced)
    if op.type == "recurrent":
        return _recurrent(body, alive)
    raise NotImplementedError(f"op {op.type} runs a block, and fluidio cannot differentiate it")


def _while(body: _Body, alive: Sequence[str], replaced: set[str]) -> list[GradOp]:
    op, no_grad = body.op, body.no_grad
    right = bool(op.attrs.get(RIGHT_GRADIENT_ATTR))
    if era().loops_lose_state_gradients and not right:
        path = loop_path(op, alive, no_grad)
        right = path.fails  # what 1.8.5 cannot run has the right gradients
        body.path = None if right else path
    body.inside = Inside() if body.path is None else Inside(True, body.path.taken)
    order = _carried(body, alive) if body.path is None else _taken(body, body.path)
    done = body.build(order)
    ended = set() if body.path is None else {x for x in body.path.taken & body.path.given if not body.is_array(x)}
    wanted = {x for x in op.input("X") if x not in no_grad and body.wanted(x)}
    grads = [grad_name(x) if x in wanted and (x in done or x in ended) else EMPTY for x in op.input("X")]
    if body.path is not None:
        _tell_of_dropped(op, _dropped(body, alive, body.path))
        replaced.intersection_update(x for x, grad in zip(op.input("X"), grads) if grad != EMPTY)
    if all(g == EMPTY for g in grads):
        return []
    inputs = {
        "X": list(op.input("X")),
        "Out": list(op.output("Out")),
        "Out@GRAD": [grad_name(name) for name in order],
        "StepScopes": list(op.output("StepScopes")),
    }
    flows = [name for name in order if name in done]
    lost = [name for name in order if name in ended and name in wanted]
    read = {name for inner in body.forward.ops for name in inner.input_arg_names}
    unread = [name for name in order if name not in done and name not in lost]
    repeats = [name for name in unread if not right and (body.path is not None or name not in read)]
    if repeats:
        _tell_of_repeated(op, repeats)
    arrays = [] if body.path is None else _lost_arrays(body, alive, body.path)
    if lost or arrays:
        _tell_of_lost(op, lost + arrays)
    attrs = {"sub_block": body.block, "live": order, "flows": flows, "repeats": repeats, "lost": lost}
    if arrays:
        reads = [inner.input("X")[0] for inner in body.forward.ops if inner.type == "read_from_array"]
        attrs.update(lost_arrays=arrays, replaced=[name for name in arrays if reads.count(name) == 1])
    return [GradOp("while_grad", inputs, {"X@GRAD": grads}, attrs)]


def _carried(body: _Body, alive: Sequence[str]) -> list[str]:
    """Return the variables whose gradients enter the body; those of the next iteration contribute to this one's."""
    carried = [name for name in body.op.output("Out") if body.wanted(name)]
    live = {name for name in alive if name in carried}
    while True:
        more = live | {name for name in body.reachable(live) if name in carried}
        if more == live:
            break
        live = more
    return [name for name in body.op.output("Out") if name in live]


def _taken(body: _Body, path: LoopPath) -> list[str]:
    """Return the variables whose gradients enter the body in Fluid 1.8.5: what is constant outside is not so inside."""
    written = body.op.output("Out")
    body.no_grad = body.no_grad - {name for name in written if _is_float(body.forward, name)}
    return [name for name in written if name in path.taken and body.wanted(name)]


def _lost_arrays(body: _Body, alive: Sequence[str], path: LoopPath) -> list[str]:
    """Return the arrays that the body reads and writes, and something behind the loop reads."""
    return [name for name in alive if name in path.taken & path.given and body.is_array(name)]


def _is_float(block: Block, name: str) -> bool:
    variable = block._find_var_recursive(name)
    return variable is not None and variable.dtype in (VarType.FP16, VarType.FP32, VarType.FP64)


def _dropped(body: _Body, alive: Sequence[str], path: LoopPath) -> list[str]:
    """Return the variables whose gradients do not go through the op of the body that writes them."""
    writers = {name: inner for inner in body.forward.ops for name in inner.output_arg_names}
    found = [name for name in alive if name in writers and not path.has(writers[name])]
    return [name for name in found if writers[name].definition.grad is not None and _is_float(body.forward, name)]


def _tell_of_dropped(op: Operator, names: list[str]) -> None:
    if names:
        warnings.warn(
            f"the gradient of {', '.join(names)} does not go through the loop at {describe(op.site)}, as in Fluid "
            "1.8.5: what had this name before the loop gets it; While(..., right_gradient=True) or "
            "while_loop(..., right_gradient=True) computes the right one",
            stacklevel=2,
        )


def _tell_of_lost(op: Operator, names: list[str]) -> None:
    warnings.warn(
        f"the loop at {describe(op.site)} reads {', '.join(names)} and writes it, too: as in Fluid 1.8.5, its gradient "
        "does not come through the loop as a whole; While(..., right_gradient=True) or "
        "while_loop(..., right_gradient=True) computes all of it",
        stacklevel=2,
    )


def _tell_of_repeated(op: Operator, names: list[str]) -> None:
    warnings.warn(
        f"the loop at {describe(op.site)} replaces {', '.join(names)} and never reads it: as in Fluid 1.8.5, its "
        "gradient counts in every iteration and not in the last alone; While(..., right_gradient=True) or "
        "while_loop(..., right_gradient=True) counts it in the last alone",
        stacklevel=2,
    )


def _conditional(body: _Body, alive: Sequence[str], replaced: set[str]) -> list[GradOp]:
    op = body.op
    live = [name for name in op.output("Out") if name in alive and body.wanted(name)]
    # If the branch is not taken, the earlier value stays and gets the whole gradient.
    kept = [name for name in live if name in replaced and not body.is_array(name)]
    done = body.build(live)
    given = {x for x in done if body.wanted(x)} - body.inside.taken
    grads = [grad_name(x) if x in given else EMPTY for x in op.input("Input")]
    if all(g == EMPTY for g in grads) and not kept:
        return []
    unread = [name for name in kept if grad_name(name) not in grads]
    inputs = {
        "Cond": list(op.input("Cond")),
        "Input": list(op.input("Input")),
        "Out": list(op.output("Out")),
        "Out@GRAD": [grad_name(name) for name in live],
        "Scope": list(op.output("Scope")),
    }
    attrs = {"sub_block": body.block, "live": live, "kept": kept, "unread": unread}
    outputs = {"Input@GRAD": grads, "Kept@GRAD": [grad_name(name) for name in unread]}
    return [GradOp("conditional_block_grad", inputs, {slot: names for slot, names in outputs.items() if names}, attrs)]


def _recurrent(body: _Body, alive: Sequence[str]) -> list[GradOp]:
    op = body.op
    a = op.attrs
    states, before = list(a["states"]), list(a["ex_states"])
    live = {name for name in op.output("outputs") if name in alive and body.wanted(name)}
    while True:
        reached = body.reachable(live)
        more = live | {s for s, b in zip(states, before) if b in reached and body.wanted(s)}
        if more == live:
            break
        live = more
    order = [name for name in dict.fromkeys([*op.output("outputs"), *states]) if name in live]
    done = body.build(order)
    outputs: dict[str, list[str]] = {}
    inner = {"inputs": list(op.input("inputs")), "initial_states": before, "parameters": list(op.input("parameters"))}
    for slot, inside in inner.items():
        outer = op.input(slot)
        names = [
            grad_name(name) if own in done and name not in body.no_grad and body.wanted(own) else EMPTY
            for name, own in zip(outer, inside)
        ]
        if any(n != EMPTY for n in names):
            outputs[f"{slot}@GRAD"] = names
    if not outputs:
        return []
    inputs = {slot: list(op.input(slot)) for slot in inner if op.input(slot)}
    inputs["outputs"] = list(op.output("outputs"))
    inputs["outputs@GRAD"] = [grad_name(name) for name in op.output("outputs") if name in live]
    inputs["step_scopes"] = list(op.output("step_scopes"))
    attrs = {
        "sub_block": body.block,
        "states": states,
        "ex_states": before,
        "reverse": a.get("reverse", False),
        "live": order,
    }
    return [GradOp("recurrent_grad", inputs, outputs, attrs)]
