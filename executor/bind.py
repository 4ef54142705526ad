"""Turn one op of a program into a step: a function of the frame with everything else bound."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fluidio.executor.frame import Frame
from fluidio.executor.stored_weights import with_values
from fluidio.ops.kernel import Backend, Call
from fluidio.program import Operator
from fluidio.program.attr_values import as_float32
from fluidio.program.op_def import EMPTY, GRAD_SUFFIX, SAVED_ATTR, OpDef, OpSlot
from fluidio.tensor.lod import NO_LOD, LoD

__all__ = ["Step", "Variant", "bind", "rebind"]

Run = Callable[[Frame], None]


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
    run = _simple(call, valued, definition) or _general(call, valued, definition)
    apart = _updated_elsewhere(call)
    if apart:
        run = _sparing(run, apart)
    stored = [slot for slot in writes if persists(slot)]
    if stored:
        run = _storing(run, stored, [slot for slot in stored if slot not in reads], reads)
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


def _simple(call: Call, kernel: Callable[..., Any], definition: OpDef) -> Run | None:
    """Return a fast step for the usual op: one variable for each slot, one output, LoD shared or none."""
    if (
        definition.lod == "kernel"
        or any(s.many for s in (*definition.inputs, *definition.outputs))
        or len(definition.outputs) != 1
    ):
        return None
    outs = call.outs.get(definition.outputs[0].name)
    if not outs or outs[0] < 0:
        return None
    out = outs[0]
    ins = [call.ins.get(s.name) for s in definition.inputs]
    positions = [i[0] for i in ins if i]
    if len(positions) != len(ins):
        return None
    share = definition.lod == "share"
    given = None if definition.lods is None else definition.lods.get(definition.outputs[0].name)
    if given and given[0] == "~":
        return None
    if given is not None:
        share = bool(given)
    if len(positions) == 1:
        a = positions[0]

        def unary(f: Frame) -> None:
            f.values[out] = kernel(call, f.values[a])
            if share:
                f.lods[out] = f.lods[a]

        return unary
    if len(positions) == 2:
        a, b = positions
        only_first = _takes_lod_of_x(definition)
        if given and given != definition.inputs[0].name:
            return None
        only_first = only_first or bool(given)

        def binary(f: Frame) -> None:
            values = f.values
            values[out] = kernel(call, values[a], values[b])
            if share:
                lods = f.lods
                lods[out] = lods[a] if only_first else lods[a] or lods[b]

        return binary
    return None


def _takes_lod_of_x(definition: OpDef) -> bool:
    """Return whether outputs have the LoD of the first variable of X, even if that has none (sum, concat, ...)."""
    return bool(definition.inputs) and definition.inputs[0].name == "X"


def _general(call: Call, kernel: Callable[..., Any], definition: OpDef) -> Run:
    fetch = [_fetcher(slot, call.ins.get(slot.name, [])) for slot in definition.inputs]
    give = [(slot, call.outs.get(slot.name, [])) for slot in definition.outputs]
    sources = [i for slot in definition.inputs for i in call.ins.get(slot.name, [])]
    if _takes_lod_of_x(definition):
        sources = sources[:1]
    given = _given_lods(call, definition)
    settled = {target for target, _, _ in given}
    targets = [pair for pair in _lod_sources(call, give, sources) if pair[0] not in settled]
    many = {slot.name for slot in definition.inputs if slot.many}
    rule = definition.lod
    single = len(give) == 1

    def run(f: Frame) -> None:
        values, lods = f.values, f.lods
        if rule == "kernel":
            call.lods = {
                name: [lods[i] for i in slots] if name in many else (lods[slots[0]] if slots else NO_LOD)
                for name, slots in call.ins.items()
            }
            call.out_lods = {}
        results = kernel(call, *[get(values) for get in fetch])
        if single:
            results = (results,)
        for (slot, slots), result in zip(give, results):
            if slot.many:
                for i, item in zip(slots, result):
                    if i >= 0:
                        values[i] = item
            elif slots and slots[0] >= 0:
                values[slots[0]] = result
        if rule == "share":
            for target, candidates in targets:
                lods[target] = next((lods[i] for i in candidates if lods[i]), NO_LOD)
        elif rule == "kernel":
            _set_lods(call, lods)
        for target, source, same_rows in given:
            if source is None or (same_rows and values[target].shape[:1] != values[source].shape[:1]):
                lods[target] = NO_LOD
            else:
                lods[target] = lods[source]

    return run


def _given_lods(call: Call, definition: OpDef) -> list[tuple[int, int | None, bool]]:
    """Return the outputs whose LoD source the op's definition fixes: an input, none, or an input with equal rows."""
    found = []
    for name, source in (definition.lods or {}).items():
        sources = call.ins.get(source.removeprefix("~"), [])
        first = sources[0] if sources else None
        found += [(target, first, source[:1] == "~") for target in call.outs.get(name, []) if target >= 0]
    return found


def _lod_sources(call: Call, give: list[tuple[OpSlot, list[int]]], sources: list[int]) -> list[tuple[int, list[int]]]:
    """Return the possible LoD sources of each output; a gradient takes its own variable's LoD if present."""
    found = []
    for slot, slots in give:
        own = call.ins.get(slot.name.removesuffix(GRAD_SUFFIX), []) if slot.name.endswith(GRAD_SUFFIX) else []
        for index, target in enumerate(slots):
            if target >= 0:
                found.append((target, [own[index]] if len(own) == len(slots) else sources))
    return found


def _fetcher(slot: OpSlot, slots: list[int]) -> Callable[[list[Any]], Any]:
    if slot.many:
        return lambda values: [values[i] for i in slots]
    if not slots:
        return lambda values: None
    position = slots[0]
    return lambda values: values[position]


def _set_lods(call: Call, lods: list[LoD]) -> None:
    for name, lod in call.out_lods.items():
        slots = call.outs.get(name, [])
        if isinstance(lod, list):
            for i, item in zip(slots, lod):
                if i >= 0:
                    lods[i] = item
        elif slots and slots[0] >= 0:
            lods[slots[0]] = lod


_ONLY_THE_VIEW = 2  # references to the base of a view: the view's, and that of the counting call


def _is_alone(view: Any) -> bool:
    """Return whether an array is a view of all of another one that nothing else refers to."""
    # Do not bind the base to a name before counting: a name is a reference too.
    if type(view) is not np.ndarray or sys.getrefcount(view.base) > _ONLY_THE_VIEW:
        return False
    base = view.base
    return type(base) is np.ndarray and base.base is None and base.nbytes == view.nbytes and view.flags.carray


def _storing(run: Run, stored: list[int], fresh: list[int], reads: list[int]) -> Run:
    """Write persistable outputs through to the scope; values that may alias a temporary or a feed are copied first."""

    def storing(f: Frame) -> None:
        run(f)
        values = f.values
        for slot in fresh:
            value = values[slot]
            shared = getattr(value, "base", None) is not None and not _is_alone(value)
            if shared or any(value is values[i] for i in reads):
                values[slot] = value.copy()
        for slot in stored:
            f.store(slot)

    return storing
