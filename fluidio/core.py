"""`fluid.core`: the C++ names that scripts use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidio.dtypes import VarType, convert_np_dtype_to_dtype_, to_numpy
from fluidio.errors import EnforceNotMet, EOFException
from fluidio.flags import GlobalFlags
from fluidio.op import RunnableOp as Operator
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
from fluidio.program.ir_graph import Graph
from fluidio.program.op_def import OP_TABLE
from fluidio.program.op_desc import grad_op_descs
from fluidio.program.op_facts import WITHOUT_GRAD_MAKER, WITHOUT_KERNEL, WRITES_IN_PLACE
from fluidio.program.op_kernels import registered_kernels
from fluidio.program.op_proto import COMMON_ATTRS, all_op_protos
from fluidio.proto.op_messages import op_messages
from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, SelectedRows

if TYPE_CHECKING:  # found through the table of names on demand
    from fluidio.inference import AnalysisConfig as AnalysisConfig
    from fluidio.inference import NativeConfig as NativeConfig
    from fluidio.inference import PaddleBuf as PaddleBuf
    from fluidio.inference import PaddleDType as PaddleDType
    from fluidio.inference import PaddleTensor as PaddleTensor
    from fluidio.inference import create_paddle_predictor as create_paddle_predictor
    from fluidio.recordio_writer import RecordIOWriter as RecordIOWriter

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
    "Operator",
    "Place",
    "ProgramDesc",
    "Scope",
    "SelectedRows",
    "Tensor",
    "VarDesc",
    "VarType",
    "convert_np_dtype_to_dtype_",
    "from_dlpack",
    "get_all_op_protos",
    "get_cuda_device_count",
    "get_fetch_variable",
    "get_grad_op_desc",
    "get_op_attrs_default_value",
    "globals",
    "has_grad_op_maker",
    "has_infer_inplace",
    "is_compile_gpu",
    "is_compiled_with_cuda",
    "op_proto_and_checker_maker",
    "op_support_gpu",
    "set_feed_variable",
    "size_of_dtype",
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
    def kOpCreationCallstackAttrName() -> str:
        return "op_callstack"

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
    """Return True: programs train on many machines, through MPI or torch.distributed."""
    return True


def kGradVarSuffix() -> str:
    return "@GRAD"


def kEmptyVarName() -> str:
    return "@EMPTY@"


def get_num_devices() -> int:
    return get_cuda_device_count()


Tensor = LoDTensor
_Scope = Scope


def __unittest_throw_exception__() -> None:
    """Raise the error of Fluid's C++, for tests of error handling."""
    raise EnforceNotMet("This is a test of exception")


def kTempVarName() -> str:
    return "@TEMP@"


def kZeroVarSuffix() -> str:
    return "@ZERO"


def kNewGradSuffix() -> str:
    return "@NEWGRAD@"


def kControlDepVarName() -> str:
    return "__control_var"


def grad_var_suffix() -> str:
    return "@GRAD"


def empty_var_name() -> str:
    return "@EMPTY@"


def loaded_var_suffix() -> str:
    return "@LOADED"


def globals() -> GlobalFlags:
    """Return the flags of the process, to be read and set by name."""
    return GlobalFlags()


def size_of_dtype(dtype: VarType) -> int:
    """Return the bytes of one element."""
    return int(np.dtype(to_numpy(dtype)).itemsize)


def from_dlpack(capsule: Any) -> LoDTensor:
    """Return a tensor over memory that another library exports through DLPack."""
    offered = capsule if hasattr(capsule, "__dlpack__") else _Offer(capsule)
    return LoDTensor.wrap(np.from_dlpack(offered))


class _Offer:
    """A DLPack capsule in host memory, in the form that NumPy takes."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def get_all_op_protos() -> list[bytes]:
    """Return the descriptions of all op types, each as the bytes of a `framework_pb2.OpProto`."""
    return [message.SerializeToString() for message in op_messages()]


def _get_all_register_op_kernels() -> dict[str, list[str]]:
    """Return the kernels that Fluid 1.8.5 registers for each op type, each as one line of text."""
    return registered_kernels()


def get_grad_op_desc(
    op: OpDesc, no_grad_set: Iterable[str], grad_sub_block: Sequence[object] = ()
) -> tuple[list[OpDesc], dict[str, str]]:
    """Return the gradient ops of an op and the forward name of each gradient."""
    return grad_op_descs(op, set(no_grad_set), grad_sub_block)


def get_op_attrs_default_value(op_type: bytes | str) -> dict[str, Any]:
    """Return the attributes of an op type that have a default."""
    proto = all_op_protos().get(op_type.decode() if isinstance(op_type, bytes) else op_type)
    if proto is None:
        return {}
    common = {attr.name: attr.default for attr in COMMON_ATTRS}
    return {**proto.defaults(), **common, "op_role": int(OpRole.NotSpecified)}


def has_grad_op_maker(op_type: str) -> bool:
    """Return whether gradient ops can be made for a type; True also for forward ops that need none."""
    return has_non_empty_grad_op_maker(op_type) or (op_type in all_op_protos() and op_type not in WITHOUT_GRAD_MAKER)


def has_non_empty_grad_op_maker(op_type: str) -> bool:
    """Return whether an op of the type has a gradient."""
    _check_known(op_type)
    return op_type in OP_TABLE and OP_TABLE[op_type].grad is not None and op_type not in WITHOUT_GRAD_MAKER


def has_infer_inplace(op_type: str) -> bool:
    """Return whether Fluid's op of the type may overwrite its input; plans decide that themselves."""
    _check_known(op_type)
    return op_type in WRITES_IN_PLACE


def _check_known(op_type: str) -> None:
    if op_type not in OP_TABLE and op_type not in all_op_protos() and op_type not in WRITES_IN_PLACE:
        raise EnforceNotMet(f"there is no op {op_type!r}")


is_compile_gpu = is_compiled_with_cuda  # its name up to Fluid 0.11


def op_support_gpu(op_type: str) -> bool:
    """Return whether ops of this type run on the available GPU, or have no kernel that would need one."""
    return op_type in WITHOUT_KERNEL or (is_compiled_with_cuda() and op_type in OP_TABLE)


def set_feed_variable(scope: Scope, tensor: LoDTensor, name: str, index: int) -> None:
    """Put a tensor into the list of tensors under `name`, extending the list if needed."""
    tensors = scope.var(name).get_lod_tensor_array()
    if index < 0:
        raise EnforceNotMet(f"set_feed_variable: the index of {name!r} must not be negative, got {index}")
    while len(tensors) <= index:
        tensors.append(LoDTensor())
    tensors[index] = tensor


def get_fetch_variable(scope: Scope, name: str, index: int) -> LoDTensor:
    """Return a tensor of the list under `name`."""
    variable = scope.find_var(name)
    count = 0 if variable is None else len(variable.get_lod_tensor_array())
    if variable is None or not 0 <= index < count:
        raise EnforceNotMet(f"get_fetch_variable: {name!r} holds {count} tensors and has no index {index}")
    return variable.get_lod_tensor_array()[index]
