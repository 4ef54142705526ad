"""Ops that the C++ of Fluid adds to a backward pass: they have the attributes it set, and no others."""

from __future__ import annotations

from fluidio.program import Operator

__all__ = ["bare", "bare_if_made_so"]

# Their gradient ops take no attributes over from the forward op.
_WITHOUT_ATTRS = frozenset(
    ["assign", "bce_loss", "bmm", "index_sample", "mean", "meshgrid", "reorder_lod_tensor_by_rank", "top_k", "where"]
)


def bare(op: Operator) -> Operator:
    """Mark an op as one without the attributes and slots that `append_op` adds."""
    op.has_defaults = False
    op.attrs.pop("op_namescope", None)
    op.attrs.setdefault("op_device", "")
    return op


def bare_if_made_so(op: Operator, forward: Operator) -> Operator:
    """Mark the gradient op of a forward op, unless it is one that takes over all attributes of that op."""
    return bare(op) if "_grad" not in op.type or forward.type in _WITHOUT_ATTRS else op
