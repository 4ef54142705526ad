"""Fuse chains of ops that treat every element by itself into one pass over memory, by blocks that stay in the cache."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fluidio.executor.bind import Step
from fluidio.executor.failure import explain
from fluidio.executor.frame import Frame
from fluidio.executor.passes.pointwise import BINARY, SINGLE, UNARY
from fluidio.executor.passes.uses import Facts, Uses, has
from fluidio.ops.compiled import curves
from fluidio.ops.math.elementwise import fit
from fluidio.ops.row_blocks import row_blocks
from fluidio.tensor.array import Array

__all__ = ["fuse_chains"]

_LARGE = 1 << 16
"""Elements below which steps run one by one: all of them are in the cache anyway."""
_ONLY_THE_FRAME = 2  # references to a value: the frame's, and that of the counting call


_LINKS = UNARY.keys() | BINARY.keys()


class _Link(NamedTuple):
    """A step of a chain, and the slot of its second operand (-1: none)."""

    step: Step
    other: int


def fuse_chains(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps, with each chain of elementwise ops, whose links nothing else uses, as one step."""
    if not has(steps, _LINKS):
        return steps
    uses = Uses(steps, facts)
    gone: set[int] = set()
    changed: dict[int, Step] = {}
    for index in range(len(steps)):
        if index in gone or not _is_link(index, steps, uses):
            continue
        chain = [index]
        while (after := _next_link(chain[-1], steps, uses, facts)) is not None and all(
            uses.can_wait(early, after, chain) for early in chain
        ):
            chain.append(after)
        if len(chain) > 1:
            gone.update(chain[:-1])
            ends = _ends_input(chain, steps, uses, facts)
            changed[chain[-1]] = _fused([steps[at] for at in chain], ends)
            gone.add(chain[-1])
    return uses.without(gone - changed.keys(), changed)


def _is_link(index: int, steps: Sequence[Step], uses: Uses) -> bool:
    step = steps[index]
    plain = uses.is_plain(index, *_LINKS) and not step.call.ins.get("ScaleTensor")
    names = ("X", "Y") if step.op.type in BINARY else ("X",)
    return plain and all(len(step.call.ins.get(name, ())) == 1 for name in names) and len(step.call.outs["Out"]) == 1


def _next_link(index: int, steps: Sequence[Step], uses: Uses, facts: Facts) -> int | None:
    """Return the step that alone uses what a step computes, as its X, if it can follow in the same pass."""
    (out,) = steps[index].call.outs["Out"]
    readers = uses.readers[out] if out >= 0 else []
    if len(readers) != 1 or uses.only_between(out, readers[0]) != index or not _is_link(readers[0], steps, uses):
        return None
    ins, (target,) = steps[readers[0]].call.ins, steps[readers[0]].call.outs["Out"]
    stays = target < 0 or facts.persists(target) or target in (*ins["X"], *ins.get("Y", ()))
    return readers[0] if ins["X"] == [out] and ins.get("Y") != [out] and not stays else None


def _ends_input(chain: Sequence[int], steps: Sequence[Step], uses: Uses, facts: Facts) -> bool:
    """Return whether nothing uses the first input after the chain, so that its memory is free for the result."""
    first = steps[chain[0]].call.ins["X"][0]
    others = [slot for at in chain for slot in steps[at].call.ins.get("Y", ())]
    readers, writers = uses.readers[first], uses.writers[first]
    made = bool(writers) and writers[-1] < chain[0] and writers[0] < readers[0]
    return made and readers == [chain[0]] and first not in (*facts.kept, *others) and not facts.persists(first)


def _fused(steps: list[Step], ends: bool) -> Step:
    links = [_Link(step, *(step.call.ins["Y"] if step.op.type in BINARY else [-1])) for step in steps]
    first, last = steps[0].call.ins["X"][0], steps[-1].call.outs["Out"][0]
    between = [step.call.outs["Out"][0] for step in steps[:-1]]

    def run(f: Frame) -> None:
        values = f.values
        if type(values[first]) is np.ndarray and values[first].size < _LARGE:
            return _one_by_one(steps, f)
        # Do not bind the value to a name before counting: a name is a reference too.
        alone = ends and sys.getrefcount(values[first]) == _ONLY_THE_FRAME
        x = values[first]
        others = _operands(x, links, values)
        if others is None:
            return _one_by_one(steps, f)
        in_place = alone and x.base is None and x.flags.writeable
        values[last] = _compute(links, x, others, x if in_place else np.empty_like(x))
        f.lods[last] = f.lods[first]
        return None

    found = copy.copy(steps[-1])
    found.run = run
    found.parts = tuple(steps)
    made = set(between)
    found.reads = [slot for step in steps for slot in step.reads if slot not in made]
    found.writes = [*between, *steps[-1].writes]
    return found


def _one_by_one(steps: Sequence[Step], f: Frame) -> None:
    step = None
    try:
        for step in steps:
            step.run(f)
    except Exception as error:
        failure = explain(error, step, f)
        if failure is error:
            raise
        raise failure from error


def _operands(x: Any, links: Sequence[_Link], values: Sequence[Any]) -> list[Array | None] | None:
    """Return the second operands with the rank of x; None if the links cannot be one pass over x."""
    if type(x) is not np.ndarray or x.dtype.kind != "f" or not x.flags.c_contiguous:
        return None
    if any(link.step.op.type in SINGLE for link in links) and not curves.fits(x):
        return None
    found: list[Array | None] = []
    for link in links:
        y = None if link.other < 0 else values[link.other]
        if link.other >= 0:
            if type(y) is not np.ndarray or y.ndim > x.ndim or y.dtype != x.dtype or not y.flags.c_contiguous:
                return None
            shape, y = y.shape, fit(link.step.call, x, y)[1]
            if any(small not in (1, large) for small, large in zip(y.shape, x.shape)):
                return None
            link.step.call.state["shapes"] = x.shape, shape  # for gradients that need only shapes
        found.append(y)
    return found


def _compute(links: Sequence[_Link], x: Array, others: Sequence[Array | None], out: Array) -> Array:
    """Return what the links make of x, computed into `out`."""
    lead = _shared_dims(x, [y for y in others if y is not None])
    rows = int(np.prod(x.shape[:lead]))
    x_rows, out_rows = (array.reshape(rows, *x.shape[lead:]) for array in (x, out))
    y_rows = [None if y is None else y.reshape(-1, *y.shape[lead:]) for y in others]

    def run(begin: int, end: int) -> None:
        value, target = x_rows[begin:end], out_rows[begin:end]
        for link, y in zip(links, y_rows):
            if y is None:
                UNARY[link.step.op.type](link.step.call, value, target)
            else:
                BINARY[link.step.op.type](value, y if len(y) == 1 else y[begin:end], target)
            value = target

    row_blocks(links[0].step.call, rows, x.size // rows, run)
    return out


def _shared_dims(x: Array, others: Sequence[Array]) -> int:
    """Return how many leading dims each operand has whole or not at all, so that they can be one: rows."""
    for lead in range(x.ndim, 1, -1):
        sizes = [y.shape[:lead] for y in others]
        if all(size == x.shape[:lead] or set(size) <= {1} for size in sizes):
            return lead
    return 1
