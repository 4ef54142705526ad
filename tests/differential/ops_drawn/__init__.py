"""What is drawn for each op, by family."""

from tests.differential.ops_drawn import (
    cutting,
    detection,
    losses,
    making,
    pointwise,
    rare,
    reducing,
    sequences,
    shaping,
    tensors,
    two_stage,
    updates,
    vision,
)

__all__ = [
    "cutting",
    "detection",
    "losses",
    "making",
    "pointwise",
    "rare",
    "reducing",
    "sequences",
    "shaping",
    "tensors",
    "two_stage",
    "updates",
    "vision",
]
