"""Arrays of tensors, joined or stacked into one tensor."""

from __future__ import annotations

from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = ["join_array"]


def join_array(helper: LayerHelper, array: Variable, axis: int, use_stack: bool) -> Variable:
    """Join or stack the entries of an array of tensors."""
    out = helper.create_variable_for_type_inference(array.dtype)
    index = helper.create_variable_for_type_inference("int32")
    helper.append_op(
        type="tensor_array_to_tensor",
        inputs={"X": [array]},
        outputs={"Out": [out], "OutIndex": [index]},
        attrs={"axis": axis, "use_stack": use_stack},
    )
    return out
