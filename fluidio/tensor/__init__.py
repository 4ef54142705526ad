"""The values of a program: LoDTensor, LoDTensorArray, SelectedRows, and the Scope that holds them by name."""

from fluidio.tensor.create import create_lod_tensor, create_random_int_lodtensor
from fluidio.tensor.lod import LoD
from fluidio.tensor.lod_tensor import LoDTensor, Tensor
from fluidio.tensor.scope import Scope, ScopeVariable, global_scope, scope_guard, switch_scope
from fluidio.tensor.selected_rows import SelectedRows
from fluidio.tensor.tensor_array import LoDTensorArray

__all__ = [
    "LoD",
    "LoDTensor",
    "LoDTensorArray",
    "Scope",
    "ScopeVariable",
    "SelectedRows",
    "Tensor",
    "create_lod_tensor",
    "create_random_int_lodtensor",
    "global_scope",
    "scope_guard",
    "switch_scope",
]
