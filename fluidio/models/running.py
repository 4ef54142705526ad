"""Run a saved model: the program pruned to its targets, in its own scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import to_numpy
from fluidio.era import era, use_era
from fluidio.errors import ModelError
from fluidio.executor import Executor
from fluidio.models.describe import inputs_of, outputs_of
from fluidio.models.open_model import Model
from fluidio.places import CPUPlace
from fluidio.program import Program
from fluidio.tensor import LoDTensor, Scope, scope_guard

__all__ = ["Runner", "inference_program", "random_feed"]

_PASSED_ON = frozenset(
    [
        "reshape",
        "reshape2",
        "squeeze",
        "squeeze2",
        "unsqueeze",
        "unsqueeze2",
        "cast",
        "concat",
        "assign",
        "slice",
        "split",
        "transpose",
        "transpose2",
        "stack",
        "expand",
        "flatten",
        "flatten2",
        "scale",
        "sequence_pad",
        "sequence_unpad",
        "sequence_reverse",
        "lod_reset",
        "sequence_expand",
    ]
)
_UNKNOWN_DIM = 4


def inference_program(
    model: Model, feeds: Sequence[str] | None = None, targets: Sequence[str] | None = None
) -> tuple[Program, list[str], list[str]]:
    """Return the part of a model's program that computes its targets, set for inference, with feeds and targets.

    Args:
        feeds, targets: names; by default those the model was saved with, or the last outputs of its forward ops.

    Raises:
        ModelError: there is no program, or it lacks these variables.
    """
    program = model.needed_program()
    forward = program.clone(for_test=True)
    wanted = list(targets) if targets else outputs_of(forward)
    missing = [name for name in wanted if program.global_block()._find_var_recursive(name) is None]
    if missing or not wanted:
        known = sorted({name for op in program.global_block().ops for name in op.output_arg_names})
        raise ModelError(
            f"{model.path}: " + (f"the program has no variable {missing}" if missing else "no targets to compute"),
            [f"it computes {', '.join(known[:40])}{' ...' if len(known) > 40 else ''}"],
        )
    given = list(feeds) if feeds else inputs_of(forward)
    pruned = forward._prune_with_input(given, wanted)._inference_optimize(prune_read_op=True)
    block = pruned.global_block()
    block.ops = [op for op in block.ops if op.type not in ("feed", "fetch")]
    pruned.note_change()
    used = {name for each in pruned.blocks for op in each.ops for name in op.input_arg_names} | set(wanted)
    if not feeds:
        given = [name for name in given if name in used] if not _has_feeds(program) else given
    for name in given:
        if not block.has_var(name):
            source = program.global_block()._find_var_recursive(name)
            if source is None:
                raise ModelError(f"{model.path}: the program has no variable {name!r} to feed")
            block._clone_variable(source, force_persistable=False)
    return pruned, given, wanted


def _has_feeds(program: Program) -> bool:
    return any(op.type == "feed" for op in program.global_block().ops)


class Runner:
    """A model that can be run repeatedly."""

    def __init__(self, model: Model, feeds: Sequence[str] | None = None, targets: Sequence[str] | None = None) -> None:
        self.program, self.feeds, self.targets = inference_program(model, feeds, targets)
        used = {name for block in self.program.blocks for op in block.ops for name in op.input_arg_names}
        missing = [name for name in model.missing if name in used]
        if missing:
            raise ModelError(f"{model.path}: parameters are missing", missing)
        self._scope = Scope()
        self._exe = Executor(CPUPlace())
        for name in sorted(used & set(model.tensors)):
            self._scope.var(name).get_tensor().set(model.tensors[name].array(), CPUPlace())

    def run(self, feed: Mapping[str, LoDTensor]) -> list[LoDTensor]:
        """Return the targets for the inputs by name."""
        missing = [name for name in self.feeds if name not in feed]
        if missing:
            raise ModelError(
                f"the model takes {', '.join(self.feeds)}", [f"{name}: no value was given" for name in missing]
            )
        before = era().name
        use_era("1.8")
        try:
            with scope_guard(self._scope):
                found: list[LoDTensor] = self._exe.run(
                    self.program, feed=dict(feed), fetch_list=list(self.targets), return_numpy=False
                )
        finally:
            use_era(before)
        return found


def random_feed(program: Program, feeds: Sequence[str], rows: int, seed: int = 0) -> dict[str, LoDTensor]:
    """Return random inputs that fit a program: `rows` examples or sequences, with ids inside their tables."""
    rng = np.random.default_rng(seed)
    found: dict[str, LoDTensor] = {}
    lengths: dict[int, list[list[int]]] = {}
    for name in feeds:
        var = program.global_block()._var_recursive(name)
        shape = [_UNKNOWN_DIM if dim < 0 else dim for dim in var.shape]
        tensor = LoDTensor()
        level = var.lod_level
        if level:
            lod = lengths.setdefault(level, _lengths(rng, rows, level))
            shape[0] = sum(lod[-1])
        elif var.shape and var.shape[0] < 0:
            shape[0] = rows
        tensor.set(_values(rng, shape, to_numpy(var.dtype), _bound(program, name)), CPUPlace())
        if level:
            tensor.set_recursive_sequence_lengths(lengths[level])
        found[name] = tensor
    return found


def _lengths(rng: np.random.Generator, rows: int, levels: int) -> list[list[int]]:
    found = []
    count = rows
    for _ in range(levels):
        level = [int(n) for n in rng.integers(1, 6, count)]
        found.append(level)
        count = sum(level)
    return found


def _values(rng: np.random.Generator, shape: list[int], dtype: Any, bound: int) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.uniform(-1, 1, shape).astype(kind)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0, bound, shape).astype(kind)


def _bound(program: Program, name: str) -> int:
    """Return the exclusive upper bound of ids: the rows of the tables that they reach, at least 2."""
    reached, bounds = {name}, []
    for block in program.blocks:
        for op in block.ops:
            inputs = reached & set(op.input_arg_names)
            if not inputs:
                continue
            if op.type in ("lookup_table", "lookup_table_v2") and inputs & set(op.input("Ids")):
                bounds.append(_rows(block._find_var_recursive(op.input("W")[0])))
            elif op.type in ("one_hot", "one_hot_v2"):
                bounds.append(int(op.attr("depth")))
            elif op.type in _PASSED_ON:
                reached.update(op.output_arg_names)
    return max(min((bound for bound in bounds if bound > 0), default=2), 1)


def _rows(table: Any) -> int:
    return int(table.shape[0]) if table is not None and table.shape else -1
