"""Plan: a program compiled for one set of feeds and fetches into a flat list of bound steps over numbered slots."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import VarType, to_numpy
from fluidio.executor.bind import Step, bind
from fluidio.executor.denormals import flushed, kept
from fluidio.executor.dtype_watch import OddFeeds
from fluidio.executor.failure import explain
from fluidio.executor.frame import Frame, value_of
from fluidio.executor.observed import observed_step
from fluidio.executor.passes import Facts, optimised
from fluidio.executor.turns import Turns
from fluidio.flow.observer import OBSERVERS
from fluidio.ops.frame import BoundStep
from fluidio.ops.kernel import Backend
from fluidio.program import Block, Operator, OpRole, Program, Variable
from fluidio.program.collector import without_collections
from fluidio.program.op_def import EMPTY
from fluidio.tensor import LoDTensor, Scope, ScopeVariable

__all__ = ["Plan", "SubBlock", "makes_reader"]


class SubBlock:
    """A loop or branch body: its steps run on the frame of the whole plan."""

    def __init__(self, plan: Plan, block: Block, steps: list[Step]) -> None:
        self.plan = plan
        self.block = block
        self.steps = steps
        self._inner: tuple[int, ...] | None = None

    @property
    def slots(self) -> dict[str, int]:
        """OpSlot numbers of the variables that belong to this block alone."""
        return self.plan._slots[self.block.idx]

    @property
    def inner(self) -> tuple[int, ...]:
        """Slots of this block and of all nested blocks: the values that one iteration leaves behind."""
        if self._inner is None:
            below = [slot for step in self.steps for sub in step.call.blocks.values() for slot in sub.inner]
            self._inner = (*self.slots.values(), *below)
        return self._inner

    def run(self, f: Frame) -> None:
        run_steps(self.steps, f)

    def clear(self, f: Frame) -> None:
        """Unset the block's own variables, as at the start of an iteration."""
        values, lods = f.values, f.lods
        for slot in self.inner:
            values[slot] = None
            lods[slot] = ()

    def save(self, f: Frame) -> tuple[list[Any], list[Any]]:
        """Return the block's own values, to be restored for its gradient."""
        values, lods = f.values, f.lods
        return [values[slot] for slot in self.inner], [lods[slot] for slot in self.inner]

    def restore(self, f: Frame, saved: tuple[list[Any], list[Any]]) -> None:
        values, lods = f.values, f.lods
        for slot, value, lod in zip(self.inner, *saved):
            values[slot] = value
            lods[slot] = lod


class _Binding:
    """The scope variables a plan works on in one scope."""

    __slots__ = ("loads", "scope", "turn", "variables", "version")

    def __init__(
        self, scope: Scope, version: int, variables: list[ScopeVariable | None], loads: list[tuple[int, ScopeVariable]]
    ) -> None:
        self.turn: threading.RLock | None = None
        self.scope = weakref.ref(scope)
        self.version = version
        self.variables = variables
        self.loads = loads


class Plan:
    """A compiled program. Not thread-safe: `Executor` keeps one plan per thread.

    With `reads_first` the `read` ops run before all others, as in Fluid's parallel executor: a step that meets the end
    of the data then leaves counters unchanged.
    """

    @without_collections()
    def __init__(
        self,
        program: Program,
        feeds: Sequence[str],
        fetches: Sequence[str],
        dev: Backend,
        reads_first: bool = False,
    ) -> None:
        self.version = program.changes
        self.dev = dev
        self._slots: defaultdict[int, dict[str, int]] = defaultdict(dict)
        self._names: list[str] = []
        self._variables: list[Variable | None] = []
        self.sub_blocks: dict[int, SubBlock] = {}
        block = program.global_block()
        self.feed_slots = [self._slot(block, name) for name in feeds]
        self.feed_variables = [block._find_var_recursive(name) for name in feeds]
        self.feed_dtypes = [None if v is None else to_numpy(v.dtype) for v in self.feed_variables]
        self.odd_feeds = OddFeeds(self)
        ops = _without_fed_readers(block.ops, set(feeds))
        if reads_first:
            ops.sort(key=lambda op: op.type != "read" and not makes_reader(op))
        self.steps = self._compile(block, ops)
        if dev.is_gpu:
            from fluidio.executor.devices.merge import merge_scales

            self.steps = merge_scales(self.steps, self._persists, dev.xp)
        self.fetch_slots = [self._slot(block, name) for name in fetches]
        if not dev.is_gpu:
            self.steps = optimised(self.steps, Facts(frozenset(self.fetch_slots), self._persists, self.touched))
        self._find_externals()
        self._find_last_uses()
        begin, end = (0, 0) if dev.is_gpu else _training_part(self.steps)
        self._before, self._training, self._after = self.steps[:begin], self.steps[begin:end], self.steps[end:]
        self._flushed = flushed()
        self._empty: list[Any] = [None] * len(self._names)
        self._no_lods: list[Any] = [()] * len(self._names)
        self._binding: _Binding | None = None

    # -- compiling ----------------------------------------------------------------------------------------------

    def _slot(self, block: Block, name: str) -> int:
        """Return the slot of a name seen from a block; inner blocks use the slots of outer variables."""
        variable = block._find_var_recursive(name)
        slots = self._slots[variable.block.idx if variable is not None else 0]
        slot = slots.get(name)
        if slot is None:
            slot = slots[name] = len(self._names)
            self._names.append(name)
            self._variables.append(variable)
        return slot

    def _persists(self, slot: int) -> bool:
        variable = self._variables[slot]
        return variable is not None and variable.persistable

    def _compile(self, block: Block, ops: Sequence[Operator]) -> list[Step]:
        steps = []
        for op in ops:
            if op.type in ("feed", "fetch"):
                continue  # feeds and fetches are accessed by slot
            step = bind(op, lambda name: self._slot(block, name), self._persists, self.dev)
            if op.type == "py_func":
                _keep_denormals(step)
            for attr, value in op.attrs.items():
                if isinstance(value, Block) and op.definition.raw:
                    step.call.blocks[attr] = self._sub_block(value)
            steps.append(step)
        return steps

    def _sub_block(self, block: Block) -> SubBlock:
        steps = self._compile(block, block.ops)
        self.sub_blocks[block.idx] = SubBlock(self, block, steps)
        return self.sub_blocks[block.idx]

    def touched(self, step: BoundStep) -> tuple[set[int], set[int]]:
        """Return the slots a step reads and writes, including those of its sub-blocks."""
        reads, writes = set(step.reads), set(step.writes)
        for sub in step.call.blocks.values():
            for inner in sub.steps:
                inner_reads, inner_writes = self.touched(inner)
                reads |= inner_reads
                writes |= inner_writes
        return reads, writes

    def _find_externals(self) -> None:
        """Collect the slots that come from the scope: persistables, and anything read but not produced here."""
        produced = set(self.feed_slots)
        external: set[int] = set()
        self.updates = False
        for step in self.steps:
            reads, writes = self.touched(step)
            self.updates |= any(map(self._persists, writes)) and not makes_reader(step.op)
            external |= {i for i in reads if i not in produced}
            produced |= writes
        self.given_fetches = [i for i in self.fetch_slots if i not in produced]
        external |= set(self.given_fetches)
        persistent = {i for i in range(len(self._names)) if self._persists(i)}
        self._loads = sorted((external | persistent) - set(self.feed_slots))
        self._creates = sorted(persistent)

    def _find_last_uses(self) -> None:
        keep = set(self.fetch_slots) | set(self._loads)
        last: dict[int, int] = {}
        for index, step in enumerate(self.steps):
            reads, writes = self.touched(step)
            for slot in reads | writes:
                last[slot] = index
        dead: dict[int, list[int]] = {}
        for slot, index in last.items():
            if slot not in keep:
                dead.setdefault(index, []).append(slot)
        for index, step in enumerate(self.steps):
            step.dead = tuple(dead.get(index, ()))

    # -- running ------------------------------------------------------------------------------------------------

    def turn(self, program: Program, scope: Scope) -> threading.RLock:
        """Return the lock under which the program may update the scope; the plan caches the lock of its last scope."""
        binding = self._binding
        if binding is None or binding.scope() is not scope:
            return program.attached.get(Turns).of(scope)
        if binding.turn is None:
            binding.turn = program.attached.get(Turns).of(scope)
        return binding.turn

    def frame(self, scope: Scope) -> Frame:
        """Return a frame filled with the values from the scope."""
        binding = self._binding
        version = scope.version if scope.parent is None else _chain_version(scope)
        if binding is None or binding.version != version or binding.scope() is not scope:
            binding = self._bind(scope)
        values, lods = self._empty[:], self._no_lods[:]
        for slot, variable in binding.loads:
            held = variable.value
            if type(held) is LoDTensor:
                values[slot] = held.array
                lods[slot] = held.levels
            else:
                values[slot], lods[slot] = value_of(variable)
        f = Frame(self, scope, values, lods, binding.variables)
        if self.dev.is_gpu or "cupy" in sys.modules:
            self._bring_here(f)
        return f

    def _bring_here(self, f: Frame) -> None:
        """Move values that another place left in the scope (a loaded parameter, a run on the CPU) to this one."""
        for slot in self._loads:
            value = f.values[slot]
            if hasattr(value, "dtype") and not self.dev.owns(value):
                f.values[slot] = self.dev.upload(value)
                f.store(slot)

    def _bind(self, scope: Scope) -> _Binding:
        variables: list[ScopeVariable | None] = [None] * len(self._names)
        version = _chain_version(scope)  # read first: another thread may create a variable meanwhile
        root = scope.root()
        creates = set(self._creates)
        for slot in self._loads:
            name = self._names[slot]
            found = scope.find_var(name)
            if found is None and slot in creates:
                found = root.var(name)
            variables[slot] = found
        for slot in creates - set(self._loads):
            variables[slot] = scope.find_var(self._names[slot]) or root.var(self._names[slot])
        loads = [(slot, found) for slot in self._loads if (found := variables[slot]) is not None]
        self._binding = _Binding(scope, version, variables, loads)
        return self._binding

    def run(self, f: Frame) -> None:
        """Run all steps; a failing op is reported with its inputs and the user's line."""
        if not self._training:
            run_steps(self.steps, f)
            return
        run_steps(self._before, f)
        with self._flushed:
            run_steps(self._training, f)
        if self._after:
            run_steps(self._after, f)

    def name_of(self, slot: int) -> str:
        return self._names[slot]


def _training_part(steps: Sequence[Step]) -> tuple[int, int]:
    """Return the range of steps that compute or apply gradients, ignoring the trainers' agreement before all steps."""
    roles = OpRole.Backward | OpRole.Optimize
    trains = [step.op.attrs.get("op_role", 0) & roles and step.op.type != "exchange_agree" for step in steps]
    found = [index for index, is_training in enumerate(trains) if is_training]
    return (found[0], found[-1] + 1) if found else (0, 0)


def _keep_denormals(step: Step) -> None:
    """Keep denormals in a step that calls the user's function, as in the user's own code, even among gradients."""
    run = step.run

    def keeping(f: Frame) -> None:
        with kept():
            run(f)

    step.run = keeping


def run_steps(steps: list[Step], f: Frame) -> None:
    """Run steps in order on a frame."""
    step: Step | None = None
    try:
        if OBSERVERS.of_ops or OBSERVERS.checks_numbers:
            for step in steps:
                for part in step.parts or (step,):
                    observed_step(part, f)
                for slot in step.dead:
                    f.values[slot] = None
            return
        values = f.values
        for step in steps:
            step.run(f)
            if step.dead:
                for slot in step.dead:
                    values[slot] = None
    except Exception as error:
        failure = explain(error, step, f)
        if failure is error:
            raise
        raise failure from error


def _chain_version(scope: Scope) -> int:
    total, link = 0, scope.parent
    total = scope.version
    while link is not None:
        total += link.version
        link = link.parent
    return total


def _without_fed_readers(ops: Sequence[Operator], feeds: set[str]) -> list[Operator]:
    """Drop `read` ops whose outputs are all fed, and the readers that are then unused.

    This lets a test clone of a program with a reader be fed instead.
    """
    kept = [op for op in ops if not (op.type == "read" and feeds and set(op.output_arg_names) <= feeds)]
    if len(kept) == len(ops):
        return kept
    while True:
        used = {name for op in kept for name in op.input_arg_names}
        fewer = [op for op in kept if not (makes_reader(op) and not used & set(op.output_arg_names))]
        if len(fewer) == len(kept):
            return kept
        kept = fewer


def makes_reader(op: Operator) -> bool:
    """Return whether an op writes only readers."""
    outputs = [op.block._find_var_recursive(name) for name in op.output_arg_names if name != EMPTY]
    return bool(outputs) and all(v is not None and v.type is VarType.READER for v in outputs)
