"""PaddlePaddle Fluid programs and RecordIO data, alive on today's Python.

    import fluidio as fluid
    from fluidio import paddle

is the whole port of a program; `python -m fluidio run train.py` runs it unmodified.
"""

import os as _os
import sys as _sys
import typing as _typing

if "numpy" not in _sys.modules:
    # After a product, the threads of NumPy's BLAS spin by default for 2**26 cycles (some 30 ms), waiting for the next,
    # and keep a core from the threads of kernels and readers.
    _os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "18")

from fluidio.era import use_era
from fluidio.names import modules_here as _modules_here
from fluidio.names.stand_ins import find_or_stand_in as _find_or_stand_in
from fluidio.names.stand_ins import is_stand_in as _is_stand_in
from fluidio.places import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    cpu_places,
    cuda_pinned_places,
    cuda_places,
    get_cuda_device_count,
    is_compiled_with_cuda,
)
from fluidio.program import (
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
    unique_name,
)
from fluidio.program.op_def import fill_on_demand as _fill_on_demand
from fluidio.tensor import (
    LoDTensor,
    LoDTensorArray,
    Scope,
    Tensor,
    create_lod_tensor,
    create_random_int_lodtensor,
    global_scope,
    scope_guard,
)
from fluidio.version import __version__

if _typing.TYPE_CHECKING:
    from fluidio import (
        average,
        backward,
        clip,
        contrib,
        core,
        debugger,
        default_scope_funcs,
        evaluator,
        executor,
        framework,
        incubate,
        initializer,
        input,
        install_check,
        io,
        layer_helper,
        layers,
        metrics,
        nets,
        ops,
        optimizer,
        paddle,
        param_attr,
        profiler,
        proto,
        recordio,
        recordio_writer,
        regularizer,
        tensor,
        testing,
        transpiler,
        wrapped_decorator,
    )
    from fluidio import layer_helper as layer_helper_base
    from fluidio.backward import append_backward, gradients
    from fluidio.contrib import inferencer as inferencer
    from fluidio.contrib import trainer as trainer
    from fluidio.contrib.inferencer import Inferencer
    from fluidio.contrib.trainer import (
        BeginEpochEvent,
        BeginStepEvent,
        CheckpointConfig,
        EndEpochEvent,
        EndStepEvent,
        Trainer,
    )
    from fluidio.conversion import convert
    from fluidio.data_feed_desc import DataFeedDesc
    from fluidio.data_layer import data
    from fluidio.executor import BuildStrategy, CompiledProgram, ExecutionStrategy, Executor, ParallelExecutor
    from fluidio.executor import compiled as compiler
    from fluidio.executor import compiled as parallel_executor
    from fluidio.executor.fetch_var import fetch_var
    from fluidio.framework import (
        IrGraph,
        device_guard,
        get_flags,
        get_var,
        in_dygraph_mode,
        load_op_library,
        require_version,
        set_flags,
    )
    from fluidio.input import embedding, one_hot
    from fluidio.io import load, load_program_state, save, set_program_state
    from fluidio.io.slot_dataset import DatasetFactory, InMemoryDataset, QueueDataset
    from fluidio.layers import learning_rate_scheduler as learning_rate_decay
    from fluidio.paddle.hook import install_as_paddle
    from fluidio.pages.runs import report
    from fluidio.param_attr import ParamAttr, WeightNormParamAttr
    from fluidio.program import data_feeder as data_feeder
    from fluidio.program.data_feeder import DataFeeder
    from fluidio.program.static_mode import disable_dygraph, disable_imperative
    from fluidio.tensor import create as lod_tensor
    from fluidio.transpiler import (
        DistributeTranspiler,
        DistributeTranspilerConfig,
        HashName,
        InferenceTranspiler,
        RoundRobin,
        memory_optimize,
        release_memory,
    )

__all__ = [
    "BeginEpochEvent",
    "BeginStepEvent",
    "BuildStrategy",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CheckpointConfig",
    "CompiledProgram",
    "DataFeedDesc",
    "DataFeeder",
    "DatasetFactory",
    "DistributeTranspiler",
    "DistributeTranspilerConfig",
    "EndEpochEvent",
    "EndStepEvent",
    "ExecutionStrategy",
    "Executor",
    "HashName",
    "InMemoryDataset",
    "InferenceTranspiler",
    "Inferencer",
    "IrGraph",
    "LoDTensor",
    "LoDTensorArray",
    "ParallelExecutor",
    "ParamAttr",
    "Parameter",
    "Program",
    "QueueDataset",
    "RoundRobin",
    "Scope",
    "Tensor",
    "Trainer",
    "Variable",
    "WeightNormParamAttr",
    "__version__",
    "append_backward",
    "average",
    "backward",
    "clip",
    "compiler",
    "contrib",
    "convert",
    "core",
    "cpu_places",
    "create_lod_tensor",
    "create_random_int_lodtensor",
    "cuda_pinned_places",
    "cuda_places",
    "data",
    "data_feeder",
    "debugger",
    "default_main_program",
    "default_scope_funcs",
    "default_startup_program",
    "device_guard",
    "disable_dygraph",
    "disable_imperative",
    "embedding",
    "evaluator",
    "executor",
    "fetch_var",
    "framework",
    "get_cuda_device_count",
    "get_flags",
    "get_var",
    "global_scope",
    "gradients",
    "in_dygraph_mode",
    "incubate",
    "inferencer",
    "initializer",
    "input",
    "install_as_paddle",
    "install_check",
    "io",
    "is_compiled_with_cuda",
    "layer_helper",
    "layer_helper_base",
    "layers",
    "learning_rate_decay",
    "load",
    "load_op_library",
    "load_program_state",
    "lod_tensor",
    "memory_optimize",
    "metrics",
    "name_scope",
    "nets",
    "one_hot",
    "ops",
    "optimizer",
    "paddle",
    "parallel_executor",
    "param_attr",
    "profiler",
    "program_guard",
    "proto",
    "recordio",
    "recordio_writer",
    "regularizer",
    "release_memory",
    "report",
    "require_version",
    "save",
    "scope_guard",
    "set_flags",
    "set_program_state",
    "tensor",
    "testing",
    "trainer",
    "transpiler",
    "unique_name",
    "use_era",
    "wrapped_decorator",
]


_modules_here.install()
_fill_on_demand("fluidio.ops")
_fill_on_demand("fluidio.executor.readers.ops")


def __getattr__(name: str) -> _typing.Any:
    """Find Fluid's names, and fluidio's own packages, on demand."""
    if name.startswith("__"):
        raise AttributeError(f"module 'fluidio' has no attribute {name!r}")
    value = _find_or_stand_in("fluid", name)
    if not _is_stand_in(value):
        globals()[name] = value
    return value
