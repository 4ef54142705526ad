"""Several backward passes over one program: whose gradient has which name, and what a pass may not go through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fluidio.backward.grad_vars import differentiable
from fluidio.errors import not_supported
from fluidio.program import Block, Operator, Program
from fluidio.program.op_def import GRAD_SUFFIX
from fluidio.program.site import describe

__all__ = ["count_pass", "put_away_earlier", "refuse_second_derivatives", "take_back_earlier"]

_EARLIER = "@EARLIER"


def count_pass(program: Program) -> None:
    """Count a backward pass: the names of its gradients depend on the number."""
    program._backward_passes = getattr(program, "_backward_passes", 0) + 1  # type: ignore[attr-defined]


def put_away_earlier(block: Block) -> dict[str, str]:
    """Free the names of the gradients of earlier passes for this one; return {name: where it is}."""
    count_pass(block.program)
    earlier = {name: name + _EARLIER for name in block.vars if GRAD_SUFFIX in name}
    if earlier:
        _rename_all(block, earlier)
    return earlier


def take_back_earlier(block: Block, earlier: dict[str, str]) -> dict[str, str]:
    """Return their names to the gradients of earlier passes; this pass's get a prefix, as in Fluid 1.8."""
    prefix = "grad/" * getattr(block.program, "_backward_passes", 1)
    renamed = {name: prefix + name for name in earlier if name in block.vars}
    for name in block.vars.keys() - earlier.values():
        if _EARLIER in name:  # the gradient of a gradient
            plain = name.replace(_EARLIER, "")
            renamed[name] = prefix + plain if plain in earlier else plain
    if renamed:
        _rename_all(block, renamed)
    if earlier:
        _rename_all(block, {away: name for name, away in earlier.items()})
    return renamed


def _rename_all(block: Block, names: Mapping[str, str]) -> None:
    """Give variables of a block other names, in it and in the blocks that see them."""
    for old, new in names.items():
        variable = block.vars.pop(old)
        variable.name = new
        block.vars[new] = variable
    for inner in block.program.blocks:
        seen = names if inner is block else {old: new for old, new in names.items() if old not in inner.vars}
        for op in inner.ops:
            for name in {*op.input_arg_names, *op.output_arg_names} & seen.keys():
                op._rename(name, seen[name])


def refuse_second_derivatives(block: Block, ops: Sequence[Operator], targets: set[str], no_grad: set[str]) -> None:
    """Raise if a target depends on a gradient that is not marked as constant: its share would be missing."""
    wanted = set(targets)
    for op in reversed(ops):
        outputs = [name for name in op.output_arg_names if name in wanted and name not in no_grad]
        if not outputs:
            continue
        if op.definition.grad is not None:
            wanted.update(op.input_arg_names)
            continue
        inputs = [name for name in op.input_arg_names if name not in no_grad]
        if op.type.endswith("_grad") and any(differentiable(block._find_var_recursive(name)) for name in inputs):
            name = outputs[0]
            not_supported(
                f"a gradient of {name}, which op {op.type} (built at {describe(op.site)}) computes,",
                f"there are no second derivatives; set stop_gradient = True on {name} to take it for a constant",
            )
