"""Turn one op of a program into a step: a function of the frame with everything else bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fluidio.executor.frame import Frame
from fluidio.executor.stored_weights import with_values
from fluidio.executor.written import Run, written
from fluidio.ops.kernel import Backend, Call
from fluidio.program import Operator
from fluidio.program.attr_values import as_float32
from fluidio.program.op_def import EMPTY, SAVED_ATTR, OpSlot

__all__ = ["Step", "Variant", "bind", "rebind"]


class Step:
    """One bound op.

    `dead` lists the slots it uses last, `named` the slots of the op's variables, `parts` the steps it stands for, in
    order, where it can run them one by one as well.
    """

    __slots__ = ("call", "dead", "named", "op", "parts", "reads", "run", "writes")

    def __init__(
        self,
        op: Operator,
        call: Call,
        run: Run,
        reads: list[int],
        writes: list[int],
        named: Mapping[str, int] | None = None,
    ) -> None:
        self.op = op
        self.call = call
        self.run = run
        self.reads = reads
        self.writes = writes
        self.named = named or {}
        self.dead: tuple[int, ...] = ()
        self.parts: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Variant:
    """How a step differs from its op after a pass has changed it.

    Attributes:
        kernel: replaces the op's own kernel.
        renamed: maps a slot to the slot used in its place.
        extra: additional kernel inputs by name, after those of the op.
        carried: inputs whose value the kernel does not need.
        unwanted: outputs that nothing reads.
    """

    kernel: Callable[..., Any] | None = None
    renamed: Mapping[int, int] = field(default_factory=dict)
    extra: Mapping[str, int] = field(default_factory=dict)
    carried: frozenset[str] = frozenset()
    unwanted: frozenset[int] = frozenset()


def rebind(step: Step, persists: Callable[[int], bool], variant: Variant) -> Step:
    """Return another step for the same op."""
    return bind(step.op, lambda name: step.named[name], persists, step.call.dev, variant)


def bind(
    op: Operator,
    slot_of: Callable[[str], int],
    persists: Callable[[int], bool],
    dev: Backend,
    variant: Variant | None = None,
) -> Step:
    """Bind an op to slot numbers and a backend."""
    definition, variant = op.definition, variant or Variant()
    if variant.extra:
        definition = replace(definition, inputs=(*definition.inputs, *map(OpSlot, variant.extra)))
    named: dict[str, int] = {EMPTY: -1}

    def place(name: str) -> int:
        slot = named[name] = named[name] if name in named else slot_of(name)
        return -1 if slot in variant.unwanted else variant.renamed.get(slot, slot)

    attrs = {**definition.attrs, **op.attrs}  # an op that was filled in through its desc may lack some
    call = Call(op, {name: as_float32(value) for name, value in attrs.items()}, dev, frozenset())
    call.ins = {slot: [place(n) for n in names if n != EMPTY] for slot, names in op.slots_in.items()}
    call.ins.update({name: [slot] for name, slot in variant.extra.items()})
    call.outs = {slot: [place(n) for n in names] for slot, names in op.slots_out.items()}
    call.wanted = frozenset(slot for slot, slots in call.outs.items() if any(i >= 0 for i in slots))
    unread = {*definition.carried, *variant.carried}
    reads = [i for slot, slots in call.ins.items() if slot not in unread for i in slots]
    writes = [i for slots in call.outs.values() for i in slots if i >= 0]
    kernel = variant.kernel or dev.kernels.get(op.type, definition.kernel)
    if kernel is None:
        raise NotImplementedError(f"op {op.type} has no kernel")
    if definition.raw:
        return _noting_versions(Step(op, call, lambda f: kernel(call, f), reads, writes, named), place)
    valued = with_values(op, [slot.name for slot in definition.inputs], kernel)
    run = written(call, valued, definition, [slot for slot in writes if persists(slot)], reads)
    apart = _updated_elsewhere(call)
    if apart:
        run = _sparing(run, apart)
    return _noting_versions(Step(op, call, run, reads, writes, named), place)


def _noting_versions(step: Step, slot_of: Callable[[str], int]) -> Step:
    """Make a step save the variables that change later, if backward needs them."""
    for entry in step.op.attrs.get(SAVED_ATTR, ()):
        when, name, kept = entry.split("|")
        _keep_version(step, when == "after", slot_of(name), slot_of(kept))
    return step


def _keep_version(step: Step, after: bool, source: int, kept: int) -> None:
    """Make a step save a variable's value before or after it runs; the gradient reads the saved value."""
    run = step.run

    def noting(f: Frame) -> None:
        if after:
            run(f)
        f.values[kept], f.lods[kept] = f.values[source], f.lods[source]
        if not after:
            run(f)

    step.run = noting
    step.reads = [*step.reads, source]
    step.writes = [*step.writes, kept]


def _updated_elsewhere(call: Call) -> list[int]:
    """Return the inputs that a kernel would update in place (Param) although its output is another (ParamOut)."""
    pairs = ((slots, call.outs.get(f"{name}Out", ())) for name, slots in call.ins.items())
    return [i for slots, outs in pairs for i, out in zip(slots, outs) if out not in (-1, i)]


def _sparing(run: Run, inputs: list[int]) -> Run:
    """Run a kernel on copies of some inputs, so that the variables keep their values."""

    def sparing(f: Frame) -> None:
        values = f.values
        kept = [values[i] for i in inputs]
        for i, value in zip(inputs, kept):
            values[i] = value.copy()
        run(f)
        for i, value in zip(inputs, kept):
            values[i] = value

    return sparing
