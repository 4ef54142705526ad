"""`contrib.slim.prune`: choosing and removing the channels of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["Pruner", "StructurePruner"]


class Pruner:
    """Base class of pruners."""

    def prune(self, param: object) -> None:
        """Prune a parameter: for subclasses."""


class StructurePruner(Pruner):
    """Remove whole channels, those with the smallest sum of absolute values first.

    Args:
        pruning_axis: {parameter name: the axis to prune}, "*" for all others.
        criterions: {parameter name: "l1_norm"}, "*" for all others.
    """

    def __init__(self, pruning_axis: Mapping[str, int], criterions: Mapping[str, str]) -> None:
        self.pruning_axis = pruning_axis
        self.criterions = criterions

    def cal_pruned_idx(self, name: str, param: Any, ratio: float, axis: int | None = None) -> Any:
        """Return the numbers of the channels that are removed at a ratio, least important first."""
        criterion = self.criterions[name if name in self.criterions else "*"]
        if axis is None:
            axis = self.pruning_axis[name if name in self.pruning_axis else "*"]
        if criterion != "l1_norm":
            raise ValueError(f"parameter {name}: criterion {criterion!r} is not known, only 'l1_norm'")
        param = np.asarray(param)
        importance = np.sum(np.abs(param), axis=tuple(i for i in range(param.ndim) if i != axis))
        count = round(param.shape[axis] * ratio)
        return importance.argsort()[:count]

    def prune_tensor(self, tensor: Any, pruned_idx: Sequence[int], pruned_axis: int, lazy: bool = False) -> Any:
        """Return a tensor without the given channels, or (`lazy`) with zeros there."""
        tensor = np.asarray(tensor)
        keep = np.ones(tensor.shape[pruned_axis], bool)
        keep[np.asarray(pruned_idx, np.int64)] = False
        if not lazy:
            return np.compress(keep, tensor, axis=pruned_axis)
        shape = [-1 if i == pruned_axis else 1 for i in range(tensor.ndim)]
        return np.where(keep.reshape(shape), tensor, tensor.dtype.type(0))
