"""Define gradients of gradient ops, as `*_grad_grad` ops or as forward ops if the gradient is linear.

    @second("square", "X DOut=Out@GRAD DDX=+X@GRAD", "DX=X DDOut=Out@GRAD")
    def square_second(k, x, dout, ddx): ...

Each word of the inputs is a slot of the new op and the source of its variable: a slot of `square_grad` or, with "+",
the incoming gradient of one of its outputs. A word of the outputs names the slot whose gradient it is. `complete=True`
marks an op without a second derivative in Fluid 1.8.5: it is used only if all derivatives are requested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.ops.registry import Kernel, infer_gradients, op
from fluidio.program.op_def import EMPTY, OP_TABLE, GradMaker, GradOp, grad_name
from fluidio.program.operator import Operator

__all__ = ["linear", "second"]


def second(forward: str, inputs: str, outputs: str, *, complete: bool = False) -> Callable[[Kernel], Kernel]:
    """Register the decorated kernel as `<forward>_grad_grad`, the gradient of `<forward>_grad`."""
    sources, targets = _wires(inputs), _wires(outputs)
    kind = f"{forward}_grad_grad"

    def make(grad_op: Operator, no_grad: set[str]) -> list[GradOp]:
        made = {slot: names for slot, source in sources.items() if (names := _values(grad_op, source))}
        wanted = {slot: _gradients(grad_op, source, no_grad) for slot, source in targets.items()}
        wanted = {slot: names for slot, names in wanted.items() if any(name != EMPTY for name in names)}
        return [GradOp(kind, made, wanted, dict(grad_op.attrs))] if wanted else []

    _set_maker(f"{forward}_grad", make, complete)
    slots = " ".join(f"{slot}?" for slot in sources), " ".join(f"{slot}?" for slot in targets)
    return op(kind, *slots, OP_TABLE[forward].attrs, infer=infer_gradients, grad=False)


def linear(forward: str, inputs: str, output: str = "Out", *, complete: bool = False) -> None:
    """Declare `<forward>_grad` linear in its incoming gradient: its gradient is then the forward op."""
    sources = _wires(inputs)

    def make(grad_op: Operator, no_grad: set[str]) -> list[GradOp]:
        wanted = _gradients(grad_op, f"{output}@GRAD", no_grad)
        if all(name == EMPTY for name in wanted):
            return []
        made = {slot: names for slot, source in sources.items() if (names := _values(grad_op, source))}
        return [GradOp(forward, made, {output: wanted}, dict(grad_op.attrs))]

    _set_maker(f"{forward}_grad", make, complete)


def _wires(text: str) -> dict[str, str]:
    words = (word.partition("=") for word in text.split())
    return {slot: source or slot for slot, _, source in words}


def _values(grad_op: Operator, source: str) -> list[str]:
    if source.startswith("+"):
        return [name if name == EMPTY else grad_name(name) for name in grad_op.output(source[1:])]
    return list(grad_op.input(source) or grad_op.output(source))


def _gradients(grad_op: Operator, source: str, no_grad: set[str]) -> list[str]:
    return [EMPTY if name in no_grad or name == EMPTY else grad_name(name) for name in grad_op.input(source)]


def _set_maker(type: str, maker: GradMaker, complete: bool) -> None:
    definition = OP_TABLE[type]
    if complete:
        definition.complete_grad = maker
    else:
        definition.grad = maker


def total(*parts: Any) -> Any:
    """Return the sum of the parts that are not None."""
    there = [part for part in parts if part is not None]
    return sum(there[1:], there[0]) if there else None
