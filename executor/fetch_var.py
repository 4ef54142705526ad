"""Fetch a variable from a scope by name (Fluid's `_fetch_var`), and convert tensors to arrays (`as_numpy`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, global_scope

__all__ = ["_fetch_var", "as_numpy", "fetch_var"]


def fetch_var(name: str, scope: Scope | None = None, return_numpy: bool = True) -> Any:
    """Return the value of a variable of a scope, as an array or as the LoDTensor itself."""
    if not isinstance(name, str):
        raise AssertionError(f"fetch_var: the name of a variable must be a str, got {type(name).__name__}")
    held = (global_scope() if scope is None else scope).find_var(name)
    if held is None:
        raise AssertionError(
            f"fetch_var: the scope has no variable {name!r}. Values outlive a run only if their variable is "
            "persistable (variable.persistable = True), and only once the program has run"
        )
    tensor = held.get_tensor()
    return np.array(tensor) if return_numpy else tensor


_fetch_var = fetch_var


def as_numpy(tensor: object) -> Any:
    """Return a fetched tensor as an array, a list of them as a list; RuntimeError for tensors with LoD."""
    if isinstance(tensor, (list, tuple, LoDTensorArray)):
        return [as_numpy(item) for item in tensor]
    if isinstance(tensor, LoDTensor) and tensor.lod():
        raise RuntimeError(
            "the tensor holds sequences (a LoD), which a NumPy array cannot keep apart: use it as a "
            "LoDTensor, for example with return_numpy=False"
        )
    return np.array(tensor)
