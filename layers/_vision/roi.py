"""Pool regions of feature maps."""

from __future__ import annotations

from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable
from fluidio.program import Variable

__all__ = ["roi_align", "roi_pool"]


def _inputs(op_type: str, input: Variable, rois: Variable, rois_lod: Variable | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "X": [check_variable(op_type, "input", input)],
        "ROIs": [check_variable(op_type, "rois", rois)],
    }
    if rois_lod is not None:
        found["RoisLod"] = [rois_lod]
    return found


def roi_pool(
    input: Variable,
    rois: Variable,
    pooled_height: int = 1,
    pooled_width: int = 1,
    spatial_scale: float = 1.0,
    rois_lod: Variable | None = None,
) -> Variable:
    """The largest element of each cell of a grid over each region; regions are sequences by image."""
    helper = LayerHelper("roi_pool")
    out = helper.create_variable_for_type_inference(check_variable("roi_pool", "input", input).dtype)
    where = helper.create_variable_for_type_inference("int32")
    helper.append_op(
        type="roi_pool",
        inputs=_inputs("roi_pool", input, rois, rois_lod),
        outputs={"Out": [out], "Argmax": [where]},
        attrs={"pooled_height": pooled_height, "pooled_width": pooled_width, "spatial_scale": spatial_scale},
    )
    return out


def roi_align(
    input: Variable,
    rois: Variable,
    pooled_height: int = 1,
    pooled_width: int = 1,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    name: str | None = None,
    rois_lod: Variable | None = None,
) -> Variable:
    """The mean of samples between pixels in each cell of a grid over each region."""
    helper = LayerHelper("roi_align", name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="roi_align",
        inputs=_inputs("roi_align", input, rois, rois_lod),
        outputs={"Out": [out]},
        attrs={
            "pooled_height": pooled_height,
            "pooled_width": pooled_width,
            "spatial_scale": spatial_scale,
            "sampling_ratio": sampling_ratio,
        },
    )
    return out
