"""The face of `fluid.core`: the C++ names that scripts touch."""

from fluidio.dtypes import VarType, convert_np_dtype_to_dtype_
from fluidio.errors import EnforceNotMet, EOFException
from fluidio.places import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    Place,
    get_cuda_device_count,
    is_compiled_with_cuda,
)
from fluidio.program import OpRole
from fluidio.program.desc import BlockDesc, OpDesc, ProgramDesc, VarDesc
from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, SelectedRows

__all__ = [
    "BlockDesc",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EOFException",
    "EnforceNotMet",
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
]
