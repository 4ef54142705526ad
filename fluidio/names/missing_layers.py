"""Missing layers of Fluid 1.8, each with the nearest thing that works; remove the line when adding a layer."""

from __future__ import annotations

__all__ = ["MISSING_LAYERS"]

_ROI = "layers.roi_pool and layers.roi_align cut out regions"

MISSING_LAYERS = {
    "elementwise_add_with_weight": "no Fluid had it; layers.elementwise_add of the input times layers.create_parameter",
    "roi_pool_3d": _ROI,
    "softmax_cross_entropy_with_logits": "no Fluid had it; layers.softmax_with_cross_entropy",
}
"""What to use for a name that `fluid.layers` does not have."""
