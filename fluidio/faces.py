"""Names of `paddle.fluid` that are loaded when they are asked for, and those that are not here."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["LAZY_MODULES", "LAZY_NAMES", "MISSING", "NotHere", "find"]

LAZY_MODULES = {
    "average": "fluidio.average",
    "compiler": "fluidio.executor.compiled",
    "contrib": "fluidio.contrib",
    "data_feeder": "fluidio.program.data_feeder",
    "debugger": "fluidio.debugger",
    "default_scope_funcs": "fluidio.default_scope_funcs",
    "evaluator": "fluidio.evaluator",
    "framework": "fluidio.framework",
    "inferencer": "fluidio.contrib.inferencer",
    "input": "fluidio.input",
    "install_check": "fluidio.install_check",
    "layer_helper": "fluidio.layer_helper",
    "layer_helper_base": "fluidio.layer_helper",
    "learning_rate_decay": "fluidio.layers.learning_rate_scheduler",
    "lod_tensor": "fluidio.tensor.create",
    "metrics": "fluidio.metrics",
    "nets": "fluidio.nets",
    "paddle": "fluidio.paddle",
    "parallel_executor": "fluidio.executor.compiled",
    "profiler": "fluidio.profiler",
    "proto": "fluidio.proto",
    "recordio": "fluidio.recordio",
    "recordio_writer": "fluidio.recordio_writer",
    "testing": "fluidio.testing",
    "trainer": "fluidio.contrib.trainer",
    "transpiler": "fluidio.transpiler",
    "wrapped_decorator": "fluidio.wrapped_decorator",
}

LAZY_NAMES = {
    "BeginEpochEvent": "fluidio.contrib.trainer",
    "BeginStepEvent": "fluidio.contrib.trainer",
    "CheckpointConfig": "fluidio.contrib.trainer",
    "DistributeTranspiler": "fluidio.transpiler",
    "DistributeTranspilerConfig": "fluidio.transpiler",
    "EndEpochEvent": "fluidio.contrib.trainer",
    "EndStepEvent": "fluidio.contrib.trainer",
    "HashName": "fluidio.transpiler",
    "InferenceTranspiler": "fluidio.transpiler",
    "Inferencer": "fluidio.contrib.inferencer",
    "IrGraph": "fluidio.framework",
    "RoundRobin": "fluidio.transpiler",
    "Trainer": "fluidio.contrib.trainer",
    "_fetch_var": "fluidio.executor.fetch_var",
    "device_guard": "fluidio.framework",
    "embedding": "fluidio.input",
    "fetch_var": "fluidio.executor.fetch_var",
    "get_flags": "fluidio.framework",
    "get_var": "fluidio.framework",
    "in_dygraph_mode": "fluidio.framework",
    "load_op_library": "fluidio.framework",
    "memory_optimize": "fluidio.transpiler",
    "one_hot": "fluidio.input",
    "release_memory": "fluidio.transpiler",
    "require_version": "fluidio.framework",
    "set_flags": "fluidio.framework",
}

_STATIC = "fluidio runs static programs: build one with fluid.program_guard and run it with fluid.Executor"
_LOADER = "feed the program with fluid.io.DataLoader.from_generator or layers.py_reader"
_ONE = "train in one process with fluid.Executor; fleet and its clusters are not here"
MISSING = {
    "AsyncExecutor": _LOADER,
    "ComplexVariable": "keep real and imaginary part in two variables",
    "DataFeedDesc": _LOADER,
    "DatasetFactory": _LOADER,
    "FetchHandler": "fetch with exe.run(fetch_list=...)",
    "InMemoryDataset": _LOADER,
    "QueueDataset": _LOADER,
    "disable_dygraph": _STATIC,
    "dygraph": _STATIC,
    "dygraph_grad_clip": _STATIC,
    "enable_dygraph": _STATIC,
    "imperative": _STATIC,
    "incubate": _ONE,
}


class NotHere(AttributeError, NotImplementedError):
    """A name of Fluid that fluidio does not have; the text says what to use instead."""


def find(name: str) -> Any:
    """Return what `fluid.NAME` means; NotHere (an AttributeError) says what to do otherwise."""
    if name in LAZY_MODULES:
        return importlib.import_module(LAZY_MODULES[name])
    if name in LAZY_NAMES:
        return getattr(importlib.import_module(LAZY_NAMES[name]), name)
    if name in MISSING:
        raise NotHere(f"fluid.{name} is not supported by fluidio: {MISSING[name]}")
    raise AttributeError(f"module 'fluidio' has no attribute {name!r}")
