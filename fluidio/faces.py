"""Names of `paddle.fluid` that are loaded when they are asked for, and those that are not here."""

from __future__ import annotations

import importlib
from typing import Any

from fluidio.errors import not_here
from fluidio.program.op_def import fill_on_demand

__all__ = ["LAZY_MODULES", "LAZY_NAMES", "MISSING", "find"]

LAZY_MODULES = {
    "average": "fluidio.average",
    "backward": "fluidio.backward",
    "clip": "fluidio.clip",
    "compiler": "fluidio.executor.compiled",
    "contrib": "fluidio.contrib",
    "core": "fluidio.core",
    "data_feeder": "fluidio.program.data_feeder",
    "debugger": "fluidio.debugger",
    "default_scope_funcs": "fluidio.default_scope_funcs",
    "evaluator": "fluidio.evaluator",
    "executor": "fluidio.executor",
    "framework": "fluidio.framework",
    "incubate": "fluidio.incubate",
    "inferencer": "fluidio.contrib.inferencer",
    "initializer": "fluidio.initializer",
    "input": "fluidio.input",
    "install_check": "fluidio.install_check",
    "io": "fluidio.io",
    "layer_helper": "fluidio.layer_helper",
    "layer_helper_base": "fluidio.layer_helper",
    "layers": "fluidio.layers",
    "learning_rate_decay": "fluidio.layers.learning_rate_scheduler",
    "lod_tensor": "fluidio.tensor.create",
    "metrics": "fluidio.metrics",
    "nets": "fluidio.nets",
    "ops": "fluidio.ops",
    "optimizer": "fluidio.optimizer",
    "paddle": "fluidio.paddle",
    "parallel_executor": "fluidio.executor.compiled",
    "param_attr": "fluidio.param_attr",
    "profiler": "fluidio.profiler",
    "proto": "fluidio.proto",
    "recordio": "fluidio.recordio",
    "recordio_writer": "fluidio.recordio_writer",
    "regularizer": "fluidio.regularizer",
    "tensor": "fluidio.tensor",
    "testing": "fluidio.testing",
    "trainer": "fluidio.contrib.trainer",
    "transpiler": "fluidio.transpiler",
    "wrapped_decorator": "fluidio.wrapped_decorator",
}

LAZY_NAMES = {
    "BeginEpochEvent": "fluidio.contrib.trainer",
    "BeginStepEvent": "fluidio.contrib.trainer",
    "BuildStrategy": "fluidio.executor",
    "CheckpointConfig": "fluidio.contrib.trainer",
    "CompiledProgram": "fluidio.executor",
    "DataFeeder": "fluidio.program.data_feeder",
    "DatasetFactory": "fluidio.io.slot_dataset",
    "DistributeTranspiler": "fluidio.transpiler",
    "DistributeTranspilerConfig": "fluidio.transpiler",
    "EndEpochEvent": "fluidio.contrib.trainer",
    "EndStepEvent": "fluidio.contrib.trainer",
    "ExecutionStrategy": "fluidio.executor",
    "Executor": "fluidio.executor",
    "HashName": "fluidio.transpiler",
    "InferenceTranspiler": "fluidio.transpiler",
    "InMemoryDataset": "fluidio.io.slot_dataset",
    "Inferencer": "fluidio.contrib.inferencer",
    "IrGraph": "fluidio.framework",
    "ParallelExecutor": "fluidio.executor",
    "ParamAttr": "fluidio.param_attr",
    "QueueDataset": "fluidio.io.slot_dataset",
    "RoundRobin": "fluidio.transpiler",
    "Trainer": "fluidio.contrib.trainer",
    "WeightNormParamAttr": "fluidio.param_attr",
    "_fetch_var": "fluidio.executor.fetch_var",
    "append_backward": "fluidio.backward",
    "convert": "fluidio.conversion",
    "data": "fluidio.data_layer",
    "device_guard": "fluidio.framework",
    "embedding": "fluidio.input",
    "fetch_var": "fluidio.executor.fetch_var",
    "get_flags": "fluidio.framework",
    "get_var": "fluidio.framework",
    "gradients": "fluidio.backward",
    "in_dygraph_mode": "fluidio.framework",
    "install_as_paddle": "fluidio.paddle.hook",
    "load": "fluidio.io",
    "load_op_library": "fluidio.framework",
    "load_program_state": "fluidio.io",
    "memory_optimize": "fluidio.transpiler",
    "one_hot": "fluidio.input",
    "release_memory": "fluidio.transpiler",
    "require_version": "fluidio.framework",
    "save": "fluidio.io",
    "set_flags": "fluidio.framework",
    "set_program_state": "fluidio.io",
}

_STATIC = "fluidio runs static programs: build one with fluid.program_guard and run it with fluid.Executor"
_LOADER = "feed the program with fluid.io.DataLoader.from_generator or layers.py_reader"
MISSING = {
    "AsyncExecutor": _LOADER,
    "ComplexVariable": "keep real and imaginary part in two variables",
    "DataFeedDesc": _LOADER,
    "FetchHandler": "fetch with exe.run(fetch_list=...)",
    "disable_dygraph": _STATIC,
    "disable_imperative": _STATIC,
    "dygraph": _STATIC,
    "dygraph_grad_clip": _STATIC,
    "enable_dygraph": _STATIC,
    "enable_imperative": _STATIC,
    "imperative": _STATIC,
}


def find(name: str) -> Any:
    """Return what `fluid.NAME` means; NotHere says what to do otherwise."""
    if name in LAZY_MODULES:
        return importlib.import_module(LAZY_MODULES[name])
    if name in LAZY_NAMES:
        return getattr(importlib.import_module(LAZY_NAMES[name]), name)
    raise not_here("fluid", name, [*LAZY_MODULES, *LAZY_NAMES, *vars(importlib.import_module("fluidio"))], MISSING)


fill_on_demand(lambda: importlib.import_module("fluidio.ops"))
fill_on_demand(lambda: importlib.import_module("fluidio.executor.readers.ops"))
