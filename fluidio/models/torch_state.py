"""Read and write PyTorch's state_dict files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

from fluidio.errors import ModelError, missing_dependency
from fluidio.models.stored import StoredTensor, in_memory

__all__ = ["read_torch", "write_torch"]


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise missing_dependency("torch", "torch", "a state_dict") from None
    return torch


def write_torch(
    file: BinaryIO, tensors: Iterable[StoredTensor], tell: Callable[[int], None] = lambda size: None
) -> None:
    """Write a state_dict: `model.load_state_dict(torch.load(path))`."""
    torch = _torch()
    state = {}
    for tensor in tensors:
        state[tensor.name] = torch.from_numpy(tensor.array().copy())
        tell(tensor.nbytes)
    torch.save(state, file)


def read_torch(path: str) -> dict[str, StoredTensor]:
    """Return the tensors of a state_dict; nothing but tensors is read (`weights_only`)."""
    torch = _torch()
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises errors of all kinds for damaged files
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"{path} is not a PyTorch file of plain tensors ({first})") from error
    if isinstance(found, dict) and isinstance(found.get("state_dict"), dict):
        found = found["state_dict"]
    if not isinstance(found, dict):
        raise ModelError(f"{path}: expected a state_dict, found {type(found).__name__}")
    tensors = {str(name): value for name, value in found.items() if isinstance(value, torch.Tensor)}
    half = [name for name, value in tensors.items() if value.dtype is torch.bfloat16]
    for name in half:
        tensors[name] = tensors[name].float()  # exact; Fluid has no bfloat16
    return {name: in_memory(name, value.detach().contiguous().numpy()) for name, value in tensors.items()}
