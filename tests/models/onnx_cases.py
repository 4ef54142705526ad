"""Write programs as ONNX, run them in ONNX Runtime and compare."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluidio
from fluidio.dtypes import to_numpy
from fluidio.models.onnx.export import lod_name, to_onnx
from tests.differential.steps import Builder
from tests.differential.tensors import decode

__all__ = ["close", "export_case", "feeds_of", "run_onnx"]


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


def export_case(case: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the ONNX model of a stored case and the handles of its outputs; gradients are left out."""
    main, startup = fluidio.Program(), fluidio.Program()
    main.random_seed = startup.random_seed = case.get("seed", 90)
    with fluidio.program_guard(main, startup), fluidio.unique_name.guard(), fluidio.scope_guard(fluidio.Scope()):
        builder = Builder(fluidio, case)
        builder.build()
        exe = fluidio.Executor(fluidio.CPUPlace())
        exe.run(startup)
        handles, targets = [], []
        for handle in case["fetch"]:
            var = builder.handles[handle]
            many = var if isinstance(var, (list, tuple)) else [var]
            for index, one in enumerate(many):
                if one is not None and "@GRAD" not in one.name:
                    handles.append(handle if len(many) == 1 else f"{handle}.{index}")
                    targets.append(one.name)
        feeds = list(case["inputs"])
        for name in feeds:
            levels = len(case["inputs"][name]["values"][0].get("lod", []))
            main.global_block().var(name).lod_level = levels
        pruned = main._prune_with_input(feeds, targets)._inference_optimize()
        for name in feeds:
            if not pruned.global_block().has_var(name):
                feeds = [each for each in feeds if each != name]

        def parameter(name: str) -> Any:
            held = fluidio.global_scope().find_var(name)
            return None if held is None else np.array(held.get_tensor())

        model = to_onnx(pruned, feeds, targets, parameter)
    return model, handles


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


def declared(var: Any) -> Any:
    return to_numpy(var.dtype)
