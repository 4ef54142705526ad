"""Gradients as ops in the program: `append_backward`.

Walk the ops from the loss back to the parameters. Each op's gradient maker returns the ops that compute its gradients.
A variable used several times gets partial gradients under separate names, and a `sum` op once all of them exist.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from fluidio.backward.arguments import check_backward
from fluidio.backward.arriving import fill_inputs, has_gradient, tell_of_lost, tell_of_shared
from fluidio.backward.bare import bare, bare_if_made_so
from fluidio.backward.blocks import block_gradients
from fluidio.backward.grad_vars import create_grad, describe_grads, differentiable, is_new
from fluidio.backward.loop_path import Inside
from fluidio.backward.parts import partial_name
from fluidio.backward.pass_names import put_away_earlier, restored_on_error, take_back_earlier
from fluidio.backward.recompute import Recompute, seed_dropouts
from fluidio.backward.saved_values import Versions, written
from fluidio.backward.second_pass import grad_maker, tell_of_dropped
from fluidio.backward.seeds import Seeds
from fluidio.era import era
from fluidio.program import Block, Operator, OpRole, Parameter, Program, Variable
from fluidio.program.collector import without_collections
from fluidio.program.op_def import EMPTY, GradOp, grad_name

__all__ = ["append_backward", "append_grad_ops", "no_grad_names", "ops_towards"]


@without_collections()
def append_backward(
    loss: Variable,
    parameter_list: Sequence[object] | None = None,
    no_grad_set: Iterable[object] | None = None,
    callbacks: Sequence[Callable[..., None]] | None = None,
    checkpoints: Sequence[object] | None = None,
) -> list[tuple[Parameter, Variable]]:
    """Append the gradient ops of `loss` to its program.

    Args:
        loss: a variable of shape [1].
        parameter_list: parameters (or names) to differentiate; all trainable ones by default.
        no_grad_set: variables (or names) to treat as constants.
        callbacks: each is called as `f(block=..., context=...)` after every gradient op; `context` maps gradient names
            to variable names.
        checkpoints: variables (or names) to keep; values between them are recomputed in the backward pass.

    Returns:
        (parameter, gradient variable) for each parameter that has a gradient.
    """
    if not isinstance(loss, Variable):
        raise TypeError(f"append_backward: the loss must be a Variable, got {type(loss).__name__} {loss!r}")
    check_backward(parameter_list, no_grad_set, callbacks)
    program = loss.block.program
    block = loss.block
    target = program.current_block()  # inside a branch, gradients are computed only if the branch is taken
    _check_sees(target, loss)
    no_grad = no_grad_names(program, no_grad_set)
    if checkpoints:
        seed_dropouts(block)
    end = _last_producer(block, loss.name)
    ops = ops_towards(block, {loss.name}, block.ops[: end + 1])
    recompute = Recompute(block, ops, _names(checkpoints)) if checkpoints else None
    tell_of_dropped(block, ops, {loss.name}, no_grad)
    earlier = put_away_earlier(block)
    no_grad = {earlier.get(name, name) for name in no_grad}
    block.ops[end].attrs["op_role"] = int(OpRole.Forward | OpRole.Loss)
    with restored_on_error(block, earlier), program.role_guard(OpRole.Backward):
        _append_loss_gradient(target, loss)
        after = _call_each(callbacks, ops, no_grad) if callbacks else None
        seeds = {loss.name: grad_name(loss.name)}
        done = append_grad_ops(block, ops, seeds, no_grad, target, after=after, recompute=recompute)
        done.update(_around(block, done, no_grad, target, after))
    renamed = take_back_earlier(block, earlier, {loss.name})
    if target is not block:
        renamed = {}
    return _params_and_grads(target, parameter_list, {name: renamed.get(grad, grad) for name, grad in done.items()})


def _call_each(
    callbacks: Sequence[Callable[..., None]], ops: Sequence[Operator], no_grad: set[str]
) -> Callable[[Block], None]:
    """Return the function to call after each gradient op of `ops`."""
    context: dict[str, Any] = {}
    for op in ops:
        for name in (*op.input_arg_names, *op.output_arg_names):
            if name not in no_grad:
                context[grad_name(name)] = name

    def after(block: Block) -> None:
        op = block.ops[-1]
        context["__current_op_desc__"] = op.desc
        for callback in callbacks:
            callback(block=block, context=context)

    return after


def _last_producer(block: Block, name: str) -> int:
    for index in range(len(block.ops) - 1, -1, -1):
        if name in block.ops[index].output_arg_names:
            return index
    raise ValueError(
        f"no op in the program's main block computes the loss {name!r}, so there is nothing to differentiate"
    )


def _check_sees(target: Block, loss: Variable) -> None:
    seen: Block | None = target
    while seen is not None and seen is not loss.block:
        seen = seen.parent
    if seen is None:
        raise ValueError(
            f"the loss {loss.name!r} is computed inside a branch or a loop, so it cannot be differentiated "
            "outside of it; call minimize inside as well"
        )


def _around(
    block: Block, done: dict[str, str], no_grad: set[str], target: Block, after: Callable[[Block], None] | None
) -> dict[str, str]:
    """Continue with the ops of the enclosing blocks, starting from the gradients their variables have."""
    found: dict[str, str] = {}
    outer = block.parent
    while outer is not None:
        known = {name: grad for name, grad in {**done, **found}.items() if name in outer.vars}
        ops = ops_towards(outer, set(known))
        found.update(append_grad_ops(outer, ops, known, no_grad, target, after=after))
        outer = outer.parent
    return found


def _append_loss_gradient(block: Block, loss: Variable) -> None:
    seed = create_grad(block, loss, grad_name(loss.name))
    shape = [d if d > 0 else 1 for d in loss.shape] or [1]
    op = block.append_op(
        type="fill_constant",
        outputs={"Out": [seed]},
        attrs={"shape": shape, "value": 1.0, "dtype": loss.dtype, "force_cpu": False},
    )
    bare(op).attrs["op_role"] = int(OpRole.Backward | OpRole.Loss)


def _names(variables: Iterable[object]) -> set[str]:
    return {v.name if isinstance(v, Variable) else str(v) for v in variables}


def no_grad_names(program: Program, given: Iterable[object] | None) -> set[str]:
    """Return the given names and those of all variables that are constants."""
    names = {v.name if isinstance(v, Variable) else str(v) for v in given or ()}
    return names | {v.name for block in program.blocks for v in block.vars.values() if v.stop_gradient}


def ops_towards(block: Block, targets: set[str], ops: Sequence[Operator] | None = None) -> list[Operator]:
    """Return the ops, in order, that the targets depend on."""
    wanted = set(targets)
    found = []
    for op in reversed(block.ops if ops is None else ops):
        if wanted.intersection(op.output_arg_names):
            found.append(op)
            wanted.update(name for name in op.input_arg_names if name != EMPTY)
    return found[::-1]


def append_grad_ops(
    block: Block,
    ops: Sequence[Operator],
    known: dict[str, str],
    no_grad: set[str],
    target: Block,
    inside: Inside | None = None,
    after: Callable[[Block], None] | None = None,
    recompute: Recompute | None = None,
    seeds: Seeds | None = None,
) -> dict[str, str]:
    """Append the gradient ops of `ops` (of `block`) to `target` and return {variable: name of its gradient}.

    Args:
        known: variables whose gradients exist already.
        no_grad: names that are constants.
        inside: where the block stands, if it is the body of a loop or branch.
        after: called with `target` after each op.
        recompute: the segments to recompute.
        seeds: gradients of targets to which nothing is added, as in Fluid.
    """
    no_grad = _constants(block, ops, no_grad)
    pending: defaultdict[str, list[str]] = defaultdict(list)
    for name, grad in known.items():
        pending[name].append(grad)
    counts: Counter[str] = Counter()
    done: dict[str, str] = {}

    def add_up(name: str) -> bool:
        """Make `name@GRAD` hold the whole gradient of a variable; False if it has none."""
        parts = pending.pop(name, None)
        if parts:
            if len(parts) > 1:
                bare(target.append_op(type="sum", inputs={"X": parts}, outputs={"Out": [grad_name(name)]}))
                if after is not None:
                    after(target)
            done[name] = grad_name(name)
        return name in done

    versions, idle = Versions(block, inside), set[str]()
    for op in reversed(ops):
        maker = grad_maker(op)
        if maker is None:
            continue
        outputs = [name for name in written(op) if name != EMPTY]
        alive = [name for name in outputs if name not in no_grad and add_up(name)]
        if not alive or all(name in no_grad for name in op.input_arg_names):
            continue
        if recompute is not None:
            recompute.before(op, target)
        # The op replaced the variable: its earlier value is a different one with its own gradient.
        replaced = versions.replaced(op)
        if _has_block(op):
            inner = append_grad_ops if after is None else partial(append_grad_ops, after=after)
            grad_ops = block_gradients(op, alive, replaced, no_grad, target, inner, inside, idle)
        else:
            made = maker(op, no_grad)
            grad_ops = [grad_op for grad_op in made if has_gradient(grad_op, done)]
            tell_of_lost(op, made, alive)
        for grad_op in grad_ops:
            if not _has_block(op):
                versions.apply(grad_op, op)
            if recompute is not None:
                recompute.apply(grad_op, op)
            fill_inputs(grad_op, block, target, done)
            if seeds is not None:
                seeds.settle(grad_op, pending)
            replaced.difference_update(grad_op.attrs.get("repeats", ()))
            _append(grad_op, op, block, target, pending, counts)
            if after is not None:
                after(target)
        for name in replaced:
            gradient = done.pop(name, None)
            if gradient and _stays(name, op, inside, target, gradient):
                pending[name] = [gradient]
                if inside is None:
                    tell_of_shared(name, op, ops)
    for name in list(pending):
        add_up(name)
    return {**dict.fromkeys(idle, ""), **done}


def _constants(block: Block, ops: Sequence[Operator], no_grad: set[str]) -> set[str]:
    """Extend `no_grad` with variables that cannot be differentiated.

    Fluid: a variable computed only from constants has a gradient, unless it is marked as a constant too.
    """
    names = {name for op in ops for name in (*op.input_arg_names, *op.output_arg_names)} - no_grad
    return no_grad | {name for name in names if not differentiable(block._find_var_recursive(name))}


def _stays(name: str, op: Operator, inside: Inside | None, target: Block, gradient: str) -> bool:
    """Return whether the gradient of what an op gave a name belongs to what had the name before, too, as in Fluid."""
    if inside is not None:  # the gradient may have been given from outside
        return inside.as_fluid and any(gradient in one.output_arg_names for one in target.ops)
    return era().gradients_read_last_values and name not in op.input_arg_names and not _has_block(op)


def _has_block(op: Operator) -> bool:
    return any(isinstance(value, Block) for value in op.attrs.values())


def _append(
    grad_op: GradOp,
    forward: Operator,
    block: Block,
    target: Block,
    pending: defaultdict[str, list[str]],
    counts: Counter[str],
) -> None:
    outputs: dict[str, list[str]] = {}
    for slot, names in sorted(grad_op.outputs.items()):  # Fluid orders slots, and so parts and sums, by name
        outputs[slot] = []
        for name in names:
            outputs[slot].append(partial_name(name, block, target, pending, counts, outputs))
    grad_op.outputs = outputs
    role = {"op_role": int(OpRole.Backward)}
    attrs = {k: v for k, v in grad_op.attrs.items() if k not in ("op_role", "op_role_var")}
    new = [name for names in outputs.values() for name in names if is_new(target, name)]
    made = target.append_op(type=grad_op.type, inputs=grad_op.inputs, outputs=grad_op.outputs, attrs={**attrs, **role})
    made.site, made.from_bytes = forward.site, forward.from_bytes
    bare_if_made_so(made, forward)
    describe_grads(block, target, new)


def _params_and_grads(
    target: Block, parameter_list: Sequence[object] | None, gradients: dict[str, str]
) -> list[tuple[Parameter, Variable]]:
    """Return the parameters this pass has reached, with their gradients; None if Fluid drops the loop they are in."""
    block = target.program.global_block()
    if parameter_list is None:
        names = [p.name for p in target.program.all_parameters() if p.trainable]
    else:
        names = [p.name if isinstance(p, Variable) else str(p) for p in parameter_list]
    found = []
    for name in names:
        if name in gradients:
            parameter = block.var(name)
            gradient = target.var(gradients[name]) if gradients[name] else None
            found.append((parameter, gradient))
            if gradient is not None and gradient.op is not None:
                gradient.op.attrs["op_role_var"] = [*gradient.op.attrs.get("op_role_var", ()), name, gradient.name]
    return found  # type: ignore[return-value]
