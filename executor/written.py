"""Write the function of a step as Python code for its slots, so that a run spends its time in the kernel.

A step gets its inputs from the frame, calls the kernel, puts the outputs and their LoDs into the frame, and writes
persistable variables through to the scope. What of this an op needs is known when its plan is made; in a run, deciding
would take longer than the small kernels themselves. Ops of one form share the code: it names slots by parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fluidio.executor.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.program.op_def import GRAD_SUFFIX, OpDef, OpSlot
from fluidio.tensor.lod import NO_LOD, LoD

__all__ = ["Run", "written"]

Run = Callable[[Frame], None]

_FEW = 4
"""Outputs whose LoDs get a line each; those of more are shared by a loop."""


class _Text:
    """The lines of a step, and the values of their parameters."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parameters: dict[str, Any] = {}
        self._names: dict[Any, str] = {}

    def add(self, line: str) -> None:
        self.lines.append(line)

    def name(self, value: int | tuple[Any, ...]) -> str:
        """Return the parameter that stands for a slot, or for slots."""
        if value not in self._names:
            self._names[value] = f"s{len(self._names)}"
            self.parameters[self._names[value]] = value
        return self._names[value]

    def function(self, **others: Any) -> Run:
        """Return the function these lines make."""
        names = (*others, *self.parameters)
        make = _compiled("\n        ".join((f"def make({', '.join(names)}):\n    def run(f):", *self.lines)))
        found: Run = make(*others.values(), *self.parameters.values())
        return found


@lru_cache(4096)
def _compiled(text: str) -> Callable[..., Run]:
    names: dict[str, Any] = {"set_lods": _set_lods, "share_lods": _share_lods, "own": _own}
    exec(compile(f"{text}\n    return run", "<step>", "exec"), names)
    make: Callable[..., Run] = names["make"]
    return make


def written(
    call: Call, kernel: Callable[..., Any], definition: OpDef, stored: Sequence[int], reads: Sequence[int]
) -> Run:
    """Return the function of a step: `stored` are the outputs to write through to the scope, `reads` all inputs."""
    text = _Text()
    text.add("values = f.values")
    lods = _lod_lines(text, call, definition)
    if lods or definition.lod == "kernel":
        text.add("lods = f.lods")
    if definition.lod == "kernel":
        text.add(f"call.lods = {{{', '.join(_given_lods(text, call, definition))}}}")
        text.add("call.out_lods = {}")
    arguments = [_argument(text, slot, call.ins.get(slot.name, [])) for slot in definition.inputs]
    _add_outputs(text, call, definition, f"kernel({', '.join(['call', *arguments])})")
    if definition.lod == "kernel":
        text.add("set_lods(call, lods)")
    text.lines += lods
    for slot in stored:
        if slot not in reads:
            text.add(f"own(values, {text.name(slot)}, {text.name(tuple(reads))})")
    text.lines += [f"f.store({text.name(slot)})" for slot in stored]
    return text.function(call=call, kernel=kernel)


def _argument(text: _Text, slot: OpSlot, slots: Sequence[int]) -> str:
    if slot.many:
        return f"[values[i] for i in {text.name(tuple(slots))}]"
    return f"values[{text.name(slots[0])}]" if slots else "None"


def _add_outputs(text: _Text, call: Call, definition: OpDef, result: str) -> None:
    """Put the kernel's result, or each of its results, into the frame."""
    several = len(definition.outputs) > 1
    if several:
        text.add(f"found = {result}")
    for position, slot in enumerate(definition.outputs):
        slots = call.outs.get(slot.name, [])
        value = f"found[{position}]" if several else result
        if slot.many and slots:
            text.add(f"for i, item in zip({text.name(tuple(slots))}, {value}):")
            text.add("    if i >= 0: values[i] = item")
        elif slots and slots[0] >= 0:
            text.add(f"values[{text.name(slots[0])}] = {value}")
        elif not several:
            text.add(value)


def _given_lods(text: _Text, call: Call, definition: OpDef) -> list[str]:
    """Return the entries of `call.lods`: a slot's LoD, or a list of LoDs where it takes several variables."""
    many = {slot.name for slot in definition.inputs if slot.many}
    entries = []
    for name, slots in call.ins.items():
        if name in many:
            entries.append(f"{name!r}: [lods[i] for i in {text.name(tuple(slots))}]")
        else:
            entries.append(f"{name!r}: {f'lods[{text.name(slots[0])}]' if slots else '()'}")
    return entries


def _lod_lines(text: _Text, call: Call, definition: OpDef) -> list[str]:
    """Return the lines that give outputs the LoDs of inputs."""
    given = _fixed_sources(call, definition)
    settled = {target for target, _, _ in given}
    lines = []
    if definition.lod == "share":
        shared = [pair for pair in _sources(call, definition) if pair[0] not in settled]
        if len(shared) > _FEW or any(len(sources) > _FEW for _, sources in shared):
            lines.append(f"share_lods(lods, {text.name(tuple(shared))})")
        else:
            for target, sources in shared:
                found = " or ".join(f"lods[{text.name(source)}]" for source in sources) or "()"
                lines.append(f"lods[{text.name(target)}] = {found}")
    for target, source, same_rows in given:
        to = f"lods[{text.name(target)}]"
        if source is None:
            lines.append(f"{to} = ()")
            continue
        line = f"{to} = lods[{text.name(source)}]"
        if same_rows:
            rows = [f"values[{text.name(slot)}].shape[:1]" for slot in (target, source)]
            line += f" if {rows[0]} == {rows[1]} else ()"
        lines.append(line)
    return lines


def _fixed_sources(call: Call, definition: OpDef) -> list[tuple[int, int | None, bool]]:
    """Return the outputs whose LoD source the op's definition fixes: an input, none, or an input with equal rows."""
    found = []
    for name, source in (definition.lods or {}).items():
        sources = call.ins.get(source.removeprefix("~"), [])
        first = sources[0] if sources else None
        found += [(target, first, source[:1] == "~") for target in call.outs.get(name, []) if target >= 0]
    return found


def _sources(call: Call, definition: OpDef) -> list[tuple[int, tuple[int, ...]]]:
    """Return the possible LoD sources of each output; a gradient takes its own variable's LoD if present.

    Outputs have the LoD of the first variable of X, even if that has none, where X comes first (sum, concat, ...).
    """
    inputs = [i for slot in definition.inputs for i in call.ins.get(slot.name, [])]
    if definition.inputs and definition.inputs[0].name == "X":
        inputs = inputs[:1]
    found = []
    for slot in definition.outputs:
        slots = call.outs.get(slot.name, [])
        own = call.ins.get(slot.name.removesuffix(GRAD_SUFFIX), []) if slot.name.endswith(GRAD_SUFFIX) else []
        for index, target in enumerate(slots):
            if target >= 0:
                found.append((target, (own[index],) if len(own) == len(slots) else tuple(inputs)))
    return found


def _share_lods(lods: list[LoD], pairs: Sequence[tuple[int, Sequence[int]]]) -> None:
    for target, sources in pairs:
        lods[target] = next((lods[i] for i in sources if lods[i]), NO_LOD)


def _set_lods(call: Call, lods: list[LoD]) -> None:
    """Set the LoDs that a kernel has given its outputs."""
    for name, lod in call.out_lods.items():
        slots = call.outs.get(name, [])
        if isinstance(lod, list):
            for i, item in zip(slots, lod):
                if i >= 0:
                    lods[i] = item
        elif slots and slots[0] >= 0:
            lods[slots[0]] = lod


def _own(values: list[Any], slot: int, reads: Sequence[int]) -> None:
    """Copy a value that may alias a temporary or a feed before it reaches the scope."""
    value = values[slot]
    shared = getattr(value, "base", None) is not None and not _is_alone(value)
    if shared or any(value is values[i] for i in reads):
        values[slot] = value.copy()


_ONLY_THE_VIEW = 2  # references to the base of a view: the view's, and that of the counting call


def _is_alone(view: Any) -> bool:
    """Return whether an array is a view of all of another one that nothing else refers to."""
    # Do not bind the base to a name before counting: a name is a reference too.
    if type(view) is not np.ndarray or sys.getrefcount(view.base) > _ONLY_THE_VIEW:
        return False
    base = view.base
    return type(base) is np.ndarray and base.base is None and base.nbytes == view.nbytes and view.flags.carray
