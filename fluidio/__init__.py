"""PaddlePaddle Fluid programs and RecordIO data, alive on today's Python.

    import fluidio as fluid
    from fluidio import paddle

is the whole port of a program; `python -m fluidio run train.py` runs it unmodified.
"""

from fluidio import (
    backward,
    clip,
    core,
    executor,
    initializer,
    input,
    io,
    layers,
    ops,
    optimizer,
    param_attr,
    recordio_writer,
    regularizer,
    tensor,
)
from fluidio.backward import gradients
from fluidio.data_layer import data
from fluidio.era import use_era
from fluidio.executor import BuildStrategy, CompiledProgram, ExecutionStrategy, Executor, ParallelExecutor
from fluidio.input import embedding, one_hot
from fluidio.param_attr import ParamAttr, WeightNormParamAttr
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
    DataFeeder,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
    unique_name,
)
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

__all__ = [
    "BuildStrategy",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CompiledProgram",
    "DataFeeder",
    "ExecutionStrategy",
    "Executor",
    "LoDTensor",
    "LoDTensorArray",
    "ParallelExecutor",
    "ParamAttr",
    "Parameter",
    "Program",
    "Scope",
    "Tensor",
    "Variable",
    "WeightNormParamAttr",
    "__version__",
    "backward",
    "clip",
    "core",
    "cpu_places",
    "create_lod_tensor",
    "create_random_int_lodtensor",
    "cuda_pinned_places",
    "cuda_places",
    "data",
    "default_main_program",
    "default_startup_program",
    "embedding",
    "executor",
    "get_cuda_device_count",
    "global_scope",
    "gradients",
    "initializer",
    "input",
    "io",
    "is_compiled_with_cuda",
    "layers",
    "name_scope",
    "one_hot",
    "ops",
    "optimizer",
    "param_attr",
    "program_guard",
    "recordio_writer",
    "regularizer",
    "scope_guard",
    "tensor",
    "unique_name",
    "use_era",
]
