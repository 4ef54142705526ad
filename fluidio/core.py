"""The face of `fluid.core`: the C++ names that scripts touch."""

from __future__ import annotations

from typing import Any

from fluidio.dtypes import VarType, convert_np_dtype_to_dtype_
from fluidio.errors import EnforceNotMet, EOFException, NotHere, not_supported
from fluidio.places import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    Place,
    get_cuda_device_count,
    is_compiled_with_cuda,
)
from fluidio.program import OpRole
from fluidio.program.attr_types import AttrType
from fluidio.program.desc import BlockDesc, OpDesc, ProgramDesc, VarDesc
from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, SelectedRows

__all__ = [
    "AttrType",
    "BlockDesc",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EOFException",
    "EnforceNotMet",
    "Graph",
    "LoDTensor",
    "LoDTensorArray",
    "OpDesc",
    "OpRole",
    "Place",
    "ProgramDesc",
    "Scope",
    "SelectedRows",
    "VarDesc",
    "VarType",
    "convert_np_dtype_to_dtype_",
    "get_cuda_device_count",
    "get_fetch_variable",
    "is_compiled_with_cuda",
    "op_proto_and_checker_maker",
    "set_feed_variable",
]


class op_proto_and_checker_maker:
    """Names of the attributes that every op has."""

    OpRole = OpRole

    @staticmethod
    def kOpRoleAttrName() -> str:
        return "op_role"

    @staticmethod
    def kOpRoleVarAttrName() -> str:
        return "op_role_var"

    @staticmethod
    def kOpNameScopeAttrName() -> str:
        return "op_namescope"

    @staticmethod
    def kOpDeviceAttrName() -> str:
        return "op_device"


def _set_eager_deletion_mode(threshold: float = 0.0, fraction: float = 1.0, fast: bool = True) -> None:
    """Do nothing: a plan frees each value after its last use."""


def is_compiled_with_mkldnn() -> bool:
    return False


def is_compiled_with_brpc() -> bool:
    return False


def is_compiled_with_dist() -> bool:
    return False


def kGradVarSuffix() -> str:
    return "@GRAD"


def kEmptyVarName() -> str:
    return "@EMPTY@"


def get_num_devices() -> int:
    return get_cuda_device_count()


def set_feed_variable(scope: Scope, tensor: LoDTensor, name: str, index: int) -> None:
    """Put a tensor into the list of tensors under `name`, made longer where it is too short."""
    tensors = scope.var(name).get_lod_tensor_array()
    if index < 0:
        raise EnforceNotMet(f"set_feed_variable: index {index} of {name!r} is negative")
    while len(tensors) <= index:
        tensors.append(LoDTensor())
    tensors[index] = tensor


def get_fetch_variable(scope: Scope, name: str, index: int) -> LoDTensor:
    """Return a tensor of the list under `name`."""
    variable = scope.find_var(name)
    count = 0 if variable is None else len(variable.get_lod_tensor_array())
    if variable is None or not 0 <= index < count:
        raise EnforceNotMet(f"get_fetch_variable: {name!r} holds {count} tensors, none at {index}")
    return variable.get_lod_tensor_array()[index]


class Graph:
    """Graphs of the C++ core are not here."""

    def __init__(self, *args: Any, **options: Any) -> None:
        not_supported("fluid.core.Graph", "work on the Program: program.blocks, block.ops, block.vars")


_INFERENCE = ("AnalysisConfig", "NativeConfig", "PaddleBuf", "PaddleDType", "PaddleTensor", "create_paddle_predictor")


def __getattr__(name: str) -> Any:
    """Load what few scripts use when it is asked for."""
    if name == "RecordIOWriter":
        from fluidio.recordio_writer import RecordIOWriter

        return RecordIOWriter
    if name in _INFERENCE:
        from fluidio import inference

        return getattr(inference, name)
    raise NotHere(f"fluid.core.{name}", "it is part of the C++ core; programs work on fluid.Program and fluid.Executor")
