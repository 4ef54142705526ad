"""Arrays of tensors, and the layers with which DynamicRNN splits sequences into them."""

from __future__ import annotations

from fluidio.dtypes import DTypeLike, VarType
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable
from fluidio.program import Variable, unique_name
from fluidio.program.arguments import Arguments

__all__ = [
    "array_length",
    "array_read",
    "array_to_lod_tensor",
    "array_write",
    "create_array",
    "lod_rank_table",
    "lod_tensor_to_array",
    "max_sequence_len",
    "reorder_lod_tensor_by_rank",
    "shrink_memory",
    "tensor_array_to_tensor",
]


def create_array(dtype: DTypeLike) -> Variable:
    """Create an empty array of tensors."""
    helper = LayerHelper("array", **locals())
    return helper.create_variable(name=f"{helper.name}.out", type=VarType.LOD_TENSOR_ARRAY, dtype=dtype)


def array_write(x: Variable, i: Variable, array: Variable | None = None) -> Variable:
    """Write x to entry i of an array (a new one by default); return the array."""
    helper = LayerHelper("array_write", **locals())
    if array is None:
        array = helper.create_variable(name=f"{helper.name}.out", type=VarType.LOD_TENSOR_ARRAY, dtype=x.dtype)
    elif not isinstance(array, Variable) or array.type is not VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array must be a tensor array (LOD_TENSOR_ARRAY)")
    helper.append_op(type="write_to_array", inputs={"X": [x], "I": [i]}, outputs={"Out": [array]})
    return array


def array_read(array: Variable, i: Variable) -> Variable:
    """Return entry i of an array."""
    helper = LayerHelper("array_read", **locals())
    if not isinstance(array, Variable) or array.type is not VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array must be a tensor array (LOD_TENSOR_ARRAY)")
    out = helper.create_variable_for_type_inference(array.dtype)
    helper.append_op(type="read_from_array", inputs={"X": [array], "I": [i]}, outputs={"Out": [out]})
    return out


def array_length(array: Variable) -> Variable:
    """Return the number of entries of an array."""
    helper = LayerHelper("array_length", **locals())
    if not isinstance(array, Variable) or array.type is not VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array must be a tensor array (LOD_TENSOR_ARRAY)")
    out = helper.create_variable_for_type_inference("int64")
    out.stop_gradient = True
    helper.append_op(type="lod_array_length", inputs={"X": [array]}, outputs={"Out": [out]})
    return out


def tensor_array_to_tensor(
    input: Variable, axis: int = 1, name: str | None = None, use_stack: bool = False
) -> tuple[Variable, Variable]:
    """Join (or stack) the entries of an array along an axis; return the result and the size of each entry."""
    if isinstance(input, (list, tuple)):
        for i, entry in enumerate(input):
            check_variable("tensor_array_to_tensor", f"input[{i}]", entry)
        raise TypeError(
            "tensor_array_to_tensor: give the Variable of an array (LoDTensorArray) in a program, not a list"
        )
    helper = LayerHelper("tensor_array_to_tensor", **locals())
    out = helper.create_variable_for_type_inference(input.dtype)
    sizes = helper.create_variable_for_type_inference("int32")
    helper.append_op(
        type="tensor_array_to_tensor",
        inputs={"X": input},
        outputs={"Out": [out], "OutIndex": [sizes]},
        attrs={"axis": axis, "use_stack": use_stack},
    )
    return out, sizes


def lod_rank_table(x: Variable, level: int = 0) -> Variable:
    """Sort the sequences of a LoD level by length, longest first."""
    helper = LayerHelper("lod_rank_table", **locals())
    table = helper.create_variable(type=VarType.LOD_RANK_TABLE, name=unique_name.generate("lod_rank_table"))
    helper.append_op(type="lod_rank_table", inputs={"X": x}, outputs={"Out": table}, attrs={"level": level})
    return table


def _apply(layer: str, op: str, inputs: Arguments, dtype: DTypeLike) -> Variable:
    helper = LayerHelper(layer)
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(type=op, inputs=inputs, outputs={"Out": out})
    return out


def max_sequence_len(rank_table: Variable) -> Variable:
    """Return the length of the longest sequence."""
    return _apply("max_seqence_len", "max_sequence_len", {"RankTable": rank_table}, "int64")


def lod_tensor_to_array(x: Variable, table: Variable) -> Variable:
    """Split sequences into time steps."""
    helper = LayerHelper("lod_tensor_to_array", **locals())
    array = helper.create_variable(
        name=unique_name.generate("lod_tensor_to_array"), type=VarType.LOD_TENSOR_ARRAY, dtype=x.dtype
    )
    helper.append_op(type="lod_tensor_to_array", inputs={"X": x, "RankTable": table}, outputs={"Out": array})
    return array


def array_to_lod_tensor(x: Variable, table: Variable) -> Variable:
    """Join time steps back into sequences."""
    return _apply("array_to_lod_tensor", "array_to_lod_tensor", {"X": x, "RankTable": table}, x.dtype)


def shrink_memory(x: Variable, i: Variable, table: Variable) -> Variable:
    """Keep the rows of sequences that are longer than i."""
    return _apply("shrink_memory", "shrink_rnn_memory", {"X": [x], "I": [i], "RankTable": [table]}, x.dtype)


def reorder_lod_tensor_by_rank(x: Variable, rank_table: Variable) -> Variable:
    """Sort rows (or sequences) into the order of a rank table."""
    if rank_table.type is not VarType.LOD_RANK_TABLE:
        raise TypeError(f"reorder_lod_tensor_by_rank: rank_table must come from lod_rank_table, got {rank_table!r}")
    inputs = {"X": [x], "RankTable": [rank_table]}
    return _apply("reorder_lod_tensor_by_rank", "reorder_lod_tensor_by_rank", inputs, x.dtype)
