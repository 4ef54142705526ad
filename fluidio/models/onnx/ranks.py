"""Infer the rank of a node's output from its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["rank_of"]

_BROADCAST = frozenset(
    [
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Pow",
        "Mod",
        "Max",
        "Min",
        "Where",
        "And",
        "Or",
        "Xor",
        "Equal",
        "Less",
        "Greater",
        "LessOrEqual",
        "GreaterOrEqual",
        "MatMul",
        "Sum",
        "PRelu",
    ]
)
_SAME = frozenset(
    [
        "Relu",
        "Sigmoid",
        "Tanh",
        "Exp",
        "Log",
        "Sqrt",
        "Abs",
        "Neg",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Erf",
        "Reciprocal",
        "Softplus",
        "Softsign",
        "Elu",
        "Selu",
        "LeakyRelu",
        "ThresholdedRelu",
        "HardSigmoid",
        "HardSwish",
        "Clip",
        "Cast",
        "Identity",
        "Softmax",
        "LogSoftmax",
        "CumSum",
        "Transpose",
        "Concat",
        "Slice",
        "Pad",
        "Not",
        "IsNaN",
        "IsInf",
        "Conv",
        "MaxPool",
        "AveragePool",
        "ConvTranspose",
        "GlobalAveragePool",
        "LRN",
        "GlobalMaxPool",
        "BatchNormalization",
        "InstanceNormalization",
        "Resize",
        "Tile",
        "ScatterND",
        "ScatterElements",
        "Trilu",
        "TopK",
        "LayerNormalization",
        "ReverseSequence",
        "GridSample",
        "DepthToSpace",
        "SpaceToDepth",
        "Mish",
    ]
)


def rank_of(op_type: str, values: Sequence[Any], attrs: dict[str, Any]) -> int | None:
    """Return the rank, or None."""
    ranks = [None if value is None else value.rank for value in values]
    first = ranks[0] if ranks else None
    if op_type in _SAME:
        return first
    if op_type in _BROADCAST:
        return None if None in ranks else max(rank for rank in ranks if rank is not None)
    if op_type in ("Shape", "Range"):
        return 1
    if op_type == "Size":
        return 0
    if op_type in ("Unsqueeze", "Squeeze") and len(values) > 1:
        count = _count(values[1])
        sign = 1 if op_type == "Unsqueeze" else -1
        return None if first is None or count is None else first + sign * count
    if op_type in ("Gather", "GatherElements"):
        if op_type == "GatherElements":
            return first
        return None if first is None or ranks[1] is None else first + ranks[1] - 1
    if op_type in ("Reshape", "Expand") and values[1].constant is not None:
        size = int(values[1].constant.size)
        return size if op_type == "Reshape" else None if first is None else max(first, size)
    if op_type in ("Flatten", "NonZero"):
        return 2
    if op_type == "OneHot":
        return None if first is None else first + 1
    if op_type.startswith("Reduce") or op_type in ("ArgMax", "ArgMin"):
        return _reduced(op_type, first, values, attrs)
    return None


def _count(value: Any) -> int | None:
    return int(value.constant.size) if value is not None and value.constant is not None else None


def _reduced(op_type: str, first: int | None, values: Sequence[object], attrs: dict[str, Any]) -> int | None:
    if attrs.get("keepdims", 1):
        return first
    if op_type in ("ArgMax", "ArgMin"):
        return None if first is None else first - 1
    if len(values) < 2 or values[1] is None:
        return 0
    count = _count(values[1])
    return None if first is None or count is None else first - count
