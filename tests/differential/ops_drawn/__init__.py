"""What is drawn for each op, by family."""

from tests.differential.ops_drawn import (
    detection,
    losses,
    making,
    pointwise,
    reducing,
    sequences,
    shaping,
    updates,
    vision,
)

__all__ = ["detection", "losses", "making", "pointwise", "reducing", "sequences", "shaping", "updates", "vision"]
