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
    "is_compiled_with_cuda",
    "op_proto_and_checker_maker",
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
