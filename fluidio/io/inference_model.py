"""Inference models: a pruned program in `__model__` and the variables it needs."""

from __future__ import annotations

import os
import warnings
from typing import Any

from fluidio.era import era
from fluidio.io.feed_fetch_ops import append_fetch_ops, prepend_feed_ops
from fluidio.io.loading import load_persistables
from fluidio.io.predicates import as_program, is_persistable
from fluidio.io.saving import MODEL_KEY, save_vars
from fluidio.layer_helper import LayerHelper
from fluidio.ops.io.whole_files import finish_saving, saving_together, write_whole
from fluidio.program import Operator, Program, Variable, program_guard, unique_name
from fluidio.program.proto import parse_program, serialize_program
from fluidio.regular import open_regular

__all__ = ["get_inference_program", "load_inference_model", "save_inference_model"]


def save_inference_model(
    dirname: str | os.PathLike[str],
    feeded_var_names: Any,
    target_vars: Any,
    executor: Any,
    main_program: Any = None,
    model_filename: str | None = None,
    params_filename: str | None = None,
    export_for_deployment: bool = True,
    program_only: bool = False,
) -> list[str] | None:
    """Save the part of a program that computes some targets from some inputs, and its variables.

    Args:
        dirname: the folder; created if absent.
        feeded_var_names: names to be fed when the model runs.
        target_vars: Variables that the model computes.
        model_filename: the program's file, `__model__` by default.
        params_filename: one file for all variables; else a file for each.
        export_for_deployment: False saves the whole program, to train it further.
        program_only: save no variables.

    All files appear together, or none of them.

    Returns:
        the names of the targets (None before Fluid 1.4).

    As in Fluid from 1.4 on (depending on the era), a `scale` op by 1 is appended to the program for each target, so
    that the same variable can be fed and fetched.
    """
    if feeded_var_names is None:
        raise TypeError("save_inference_model: feeded_var_names must be a list of names, got None")
    names = _checked(feeded_var_names, str, "save_inference_model: feeded_var_names must be a list of str")
    targets = _checked(target_vars, Variable, "save_inference_model: target_vars must be a list of Variables")
    if not targets:
        raise ValueError("save_inference_model: target_vars is empty: name at least one Variable to compute")
    program = as_program(main_program)
    if era().inference_scale_ops:
        targets = _through_scale(program, targets)
    path = os.path.join(os.fspath(dirname), os.path.basename(model_filename) if model_filename else "__model__")
    if not export_for_deployment:
        path += ".main_program"
    target_names = [target.name for target in targets]
    model = _without_ends(program)
    if export_for_deployment:
        model = _exported(model, names, target_names)
    with saving_together(os.fspath(dirname), MODEL_KEY):
        with write_whole(path) as file:
            file.write(serialize_program(model))
        if not program_only:
            kept = {v.name for v in model.list_vars()}
            needed = [v for v in program.list_vars() if v.name in kept and is_persistable(v)]
            filename = os.path.basename(params_filename) if params_filename else None
            save_vars(executor, os.fspath(dirname), program, vars=needed, filename=filename)
    return target_names if era().inference_scale_ops else None


def _checked(given: object, kind: type, problem: str) -> list[Any]:
    items = [given] if isinstance(given, kind) else given
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, kind) for item in items):
        raise ValueError(problem)
    return list(items)


def _through_scale(program: Program, targets: list[Variable]) -> list[Variable]:
    scaled = []
    read = {name for block in program.blocks for op in block.ops if op.type != "fetch" for name in op.input_arg_names}
    read.update(target.name for target in targets)
    with program_guard(program):
        for index, target in enumerate(targets):
            helper = LayerHelper("scale", name=f"save_infer_model/scale_{index}")
            out = _output(program, helper.name, target, read)
            helper.append_op(type="scale", inputs={"X": [target]}, outputs={"Out": [out]}, attrs={"scale": 1.0})
            scaled.append(out)
    return scaled


def _output(program: Program, prefix: str, target: Variable, read: set[str]) -> Variable:
    """Create the variable that a target is scaled into, or take that of an earlier model.

    Fluid: also takes one that the program reads, or another target; the model then computes something else.
    """
    block = program.current_block()
    name = unique_name.generate(f"{prefix}.tmp")
    while name != target.name and block.has_var(name):
        if name not in read and block.var(name).dtype == target.dtype:
            break
        name = unique_name.generate(f"{prefix}.tmp")
    return block.create_var(name=name, dtype=target.dtype, persistable=False, stop_gradient=False)


def _without_ends(program: Program) -> Program:
    """Return a copy without feed and fetch ops, which a loaded model already has."""
    copy = program.clone()
    block = copy.global_block()
    block.ops = [op for op in block.ops if op.type not in ("feed", "fetch")]
    for name in ("feed", "fetch"):
        block.vars.pop(name, None)
    copy.note_change()
    return copy


def _exported(program: Program, feeds: list[str], targets: list[str]) -> Program:
    # Fluid: from 1.8 on the program is also cut at the feeds.
    stop_at = feeds if era().name == "1.8" else []
    model = program._prune_with_input(stop_at, targets)._inference_optimize(prune_read_op=True)
    block = model.global_block()
    block.ops = [op for op in block.ops if not _is_idle(op, targets)]
    for name in feeds:
        if not block.has_var(name):
            _declare_feed(program, block, name)
    prepend_feed_ops(model, feeds)
    append_fetch_ops(model, targets)
    return model


def _is_idle(op: Operator, targets: list[str]) -> bool:
    """Tell whether an op only names a target of a loaded model, which ends in such an op, as before."""
    if op.type != "scale" or op.input("X") != op.output("Out") or op.output("Out")[0] not in targets:
        return False
    return (op.attrs["scale"], op.attrs["bias"]) == (1.0, 0.0)


def _declare_feed(program: Program, block: Any, name: str) -> None:
    """Keep a fed variable that the targets do not need, because Fluid's models list it anyway."""
    source = program.global_block().vars.get(name)
    if source is None:
        raise ValueError(f"save_inference_model: the program has no variable {name!r} to feed")
    block._clone_variable(source, force_persistable=False)


def load_inference_model(
    dirname: Any,
    executor: Any,
    model_filename: Any = None,
    params_filename: Any = None,
    pserver_endpoints: Any = None,
    *,
    allow_files: bool = False,
) -> list[Any]:
    """Load a model written by `save_inference_model` of Fluid or fluidio.

    Args:
        dirname: the folder; None if `model_filename` and `params_filename` are the bytes themselves (Fluid 1.8).
        allow_files: let the model's ops use files, functions and other machines; only for models you trust.

    Returns:
        [program, names to feed, Variables to fetch].

    Raises:
        ValueError: the folder does not exist, or the program is from Paddle 2.0 or needs an op that fluidio lacks.
    """
    if pserver_endpoints:
        warnings.warn(
            "load_inference_model: pserver_endpoints has no effect, because fluidio has no parameter servers here",
            stacklevel=2,
        )
    if dirname is None:
        if params_filename is None or model_filename is None:
            raise ValueError(
                "load_inference_model: give dirname; or, to load from memory, the bytes of the model as "
                "model_filename and those of the parameters as params_filename"
            )
        data, what = bytes(model_filename), "the model's bytes"
    else:
        folder = os.path.normpath(os.fspath(dirname))
        if not os.path.isdir(folder):
            raise ValueError(f"load_inference_model: there is no folder {dirname!r}")
        finish_saving(folder, MODEL_KEY)
        what = os.path.join(folder, os.path.basename(model_filename) if model_filename else "__model__")
        data = _read(what)
        if isinstance(params_filename, str):
            params_filename = os.path.basename(params_filename)
    program = parse_program(data, what, allow_files=allow_files)
    load_persistables(executor, dirname, program, params_filename)
    feeds = _ends(program, "feed", "Out")
    targets = [program.global_block()._var_recursive(name) for name in _ends(program, "fetch", "X")]
    return [program, feeds, targets]


def _read(path: str) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path}: there is no such model file; if the program is in a file of another name, pass model_filename="
        ) from None


def _ends(program: Program, op_type: str, slot: str) -> list[str]:
    ops = [op for op in program.global_block().ops if op.type == op_type]
    names = (op.output(slot) if op_type == "feed" else op.input(slot) for op in sorted(ops, key=_column))
    return [found[0] for found in names]


def _column(op: Any) -> int:
    return int(op.attrs.get("col", 0))


def get_inference_program(target_vars: Any, main_program: Any = None) -> Program:
    """Return the part of a program that computes the targets, set for inference (Fluid 0.12 to 0.14).

    Evaluators stand for their states and metrics.
    """
    program = as_program(main_program)
    items = target_vars if isinstance(target_vars, (list, tuple)) else [target_vars]
    targets: list[Variable] = []
    for item in items:
        if hasattr(item, "states") and hasattr(item, "metrics"):
            targets += [*item.states, *item.metrics]
        else:
            targets.append(item)
    return program._prune(targets)._inference_optimize()
