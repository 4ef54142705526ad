"""Write programs as ONNX, run them in ONNX Runtime and compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import fluidio
from fluidio.models.onnx.export import lod_name, to_onnx
from tests.differential.steps import Builder
from tests.differential.tensors import decode

__all__ = ["Pruned", "close", "export_case", "feeds_of", "offsets", "pruned_case", "run_fluidio", "run_onnx"]


def run_onnx(model: Any, feeds: dict[str, Any]) -> list[Any]:
    """Return the outputs of a ModelProto."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {each.name for each in session.get_inputs()}
    found: list[Any] = session.run(None, {name: array for name, array in feeds.items() if name in wanted})
    return found


def offsets(lengths: Any) -> Any:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(np.int64)


def feeds_of(written: dict[str, Any]) -> dict[str, Any]:
    """Return inputs of a stored case, LoDs as offsets."""
    found = {}
    for name, tensor in written.items():
        found[name] = decode(tensor)
        for level, lengths in enumerate(tensor.get("lod", [])):
            found[lod_name(name, level)] = offsets(lengths)
    return found


@dataclass
class Pruned:
    """A stored case as an inference program with the values of its parameters; gradients are left out."""

    program: Any
    feeds: list[str]
    targets: list[str]
    handles: list[str]
    parameters: dict[str, Any]


def pruned_case(case: dict[str, Any]) -> Pruned:
    """Build a stored case and cut it to what it fetches."""
    main, startup = fluidio.Program(), fluidio.Program()
    main.random_seed = startup.random_seed = case.get("seed", 90)
    with fluidio.program_guard(main, startup), fluidio.unique_name.guard(), fluidio.scope_guard(fluidio.Scope()):
        builder = Builder(fluidio, case)
        builder.build()
        fluidio.Executor(fluidio.CPUPlace()).run(startup)
        handles, targets = _targets(builder, case)
        feeds = list(case["inputs"])
        for name in feeds:
            main.global_block().var(name).lod_level = len(case["inputs"][name]["values"][0].get("lod", []))
        program = main._prune_with_input(feeds, targets)._inference_optimize()
        feeds = [name for name in feeds if program.global_block().has_var(name)]
        held = {var.name: fluidio.global_scope().find_var(var.name) for var in program.list_vars() if var.persistable}
        parameters = {name: np.array(var.get_tensor()) for name, var in held.items() if var is not None}
    return Pruned(program, feeds, targets, handles, parameters)


def _targets(builder: Builder, case: dict[str, Any]) -> tuple[list[str], list[str]]:
    handles, targets = [], []
    for handle in case["fetch"]:
        var = builder.handles[handle]
        many = var if isinstance(var, (list, tuple)) else [var]
        for index, one in enumerate(many):
            if one is not None and "@GRAD" not in one.name:
                handles.append(handle if len(many) == 1 else f"{handle}.{index}")
                targets.append(one.name)
    return handles, targets


def export_case(case: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the ONNX model of a stored case and the handles of its outputs."""
    pruned = pruned_case(case)
    return to_onnx(pruned.program, pruned.feeds, pruned.targets, pruned.parameters.get), pruned.handles


def run_fluidio(pruned: Pruned, written: dict[str, Any]) -> list[Any]:
    """Return the targets as fluidio computes them from inputs of a stored case."""
    scope = fluidio.Scope()
    for name, array in pruned.parameters.items():
        scope.var(name).get_tensor().set(array, fluidio.CPUPlace())
    feed = {}
    for name in pruned.feeds:
        feed[name] = fluidio.LoDTensor()
        feed[name].set(decode(written[name]), fluidio.CPUPlace())
        feed[name].set_recursive_sequence_lengths(written[name].get("lod", []))
    with fluidio.scope_guard(scope):
        found: list[Any] = fluidio.Executor(fluidio.CPUPlace()).run(
            pruned.program, feed=feed, fetch_list=pruned.targets, return_numpy=False
        )
    return found


def close(found: Any, wanted: Any, share: float = 1e-5) -> str:
    """Return what differs; "" if the arrays agree."""
    if wanted.size == 0 and found.size == 0:
        return ""
    if found.shape != wanted.shape:
        return f"shape {found.shape}, expected {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"dtype {found.dtype}, expected {wanted.dtype}"
    if wanted.dtype.kind != "f":
        return "" if np.array_equal(found, wanted) else f"{np.count_nonzero(found != wanted)} values differ"
    finite = np.isfinite(wanted)
    if not np.array_equal(finite, np.isfinite(found)) or not np.array_equal(
        found[~finite], wanted[~finite], equal_nan=True
    ):
        return "infinite or NaN in other places"
    if not finite.any():
        return ""
    far = float(np.abs(found[finite].astype(np.float64) - wanted[finite]).max())
    largest = float(np.abs(wanted[finite]).max())
    return "" if far <= share * max(largest, 1e-6) else f"off by {far / max(largest, 1e-30):.2g} of the largest"
