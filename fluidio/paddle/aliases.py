"""Which fluidio module stands for which module of paddle."""

from __future__ import annotations

import importlib.util

__all__ = ["ROOTS", "target_of"]

ROOTS = ("paddle", "recordio")
"""Top-level names that legacy scripts import and fluidio answers to."""

_EXPLICIT = {
    "paddle": "fluidio.paddle",
    "paddle.batch": "fluidio.paddle.batch_module",
    "paddle.compat": "fluidio.paddle.compat",
    "paddle.dataset": "fluidio.dataset",
    "paddle.fluid": "fluidio",
    "paddle.fluid.annotations": "fluidio.paddle.annotations",
    "paddle.fluid.compiler": "fluidio.executor.compiled",
    "paddle.fluid.data": "fluidio.data_layer",
    "paddle.fluid.data_feeder": "fluidio.program.data_feeder",
    "paddle.fluid.dygraph_utils": "fluidio.layers.utils",
    "paddle.fluid.framework": "fluidio.framework",
    "paddle.fluid.layers.layer_function_generator": "fluidio.paddle.annotations",
    "paddle.fluid.layers.math_op_patch": "fluidio.program.variable_math",
    "paddle.fluid.layers.metric_op": "fluidio.layers._metric.classification",
    "paddle.fluid.learning_rate_decay": "fluidio.layers.learning_rate_scheduler",
    "paddle.fluid.lod_tensor": "fluidio.tensor.create",
    "paddle.fluid.parallel_executor": "fluidio.executor.compiled",
    "paddle.fluid.reader": "fluidio.io.reader_names",
    "paddle.fluid.trainer": "fluidio.contrib.trainer",
    "paddle.fluid.inferencer": "fluidio.contrib.inferencer",
    "paddle.fluid.unique_name": "fluidio.program.unique_name",
    "paddle.fluid.transpiler.distribute_transpiler": "fluidio.transpiler",
    "paddle.fluid.layers.learning_rate_scheduler": "fluidio.layers.learning_rate_scheduler",
    "paddle.reader": "fluidio.reader",
    "paddle.utils": "fluidio.paddle.utils",
    "paddle.v2": "fluidio.paddle.v2",
    "paddle.v2.dataset": "fluidio.dataset",
    "paddle.v2.fluid": "fluidio",
    "paddle.v2.image": "fluidio.dataset.image",
    "paddle.v2.minibatch": "fluidio.paddle.batch_module",
    "paddle.v2.reader": "fluidio.reader",
    "paddle.version": "fluidio.paddle.version",
    "recordio": "fluidio.recordio",
}


def target_of(name: str) -> str | None:
    """Return the fluidio module behind a paddle module name, or None if there is none."""
    if name in _EXPLICIT:
        target: str | None = _EXPLICIT[name]
    else:
        parent, _, last = name.rpartition(".")
        behind = target_of(parent) if parent else None
        target = None if behind is None else f"{behind}.{last}"
    return target if target is not None and _exists(target) else None


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent is a plain module, not a package
        return False
