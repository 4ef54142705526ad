"""Select rows: embedding, one_hot, gather, scatter, multiplex, unique."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable
from fluidio.param_attr import AttrLike
from fluidio.program import Variable

__all__ = [
    "embedding",
    "gather",
    "gather_nd",
    "multiplex",
    "one_hot",
    "scatter",
    "scatter_nd",
    "scatter_nd_add",
    "shard_index",
    "unique",
    "unique_with_counts",
    "where",
]


def lookup(
    op_type: str,
    input: Variable,
    size: Sequence[int],
    is_sparse: bool,
    is_distributed: bool,
    padding_idx: int | None,
    param_attr: AttrLike,
    dtype: DTypeLike,
) -> Variable:
    """Append a lookup in a table of `size` rows and columns."""
    check_variable("embedding", "input", input)
    helper = LayerHelper("embedding", input=input, param_attr=param_attr)
    table = helper.create_parameter(helper.param_attr, size, dtype)
    table.is_distributed = is_distributed
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type=op_type,
        inputs={"Ids": [input], "W": [table]},
        outputs={"Out": [out]},
        attrs={
            "is_sparse": is_sparse,
            "is_distributed": is_distributed,
            "remote_prefetch": is_sparse and not is_distributed,
            "padding_idx": padding_row(padding_idx, size[0]),
        },
    )
    return out


def padding_row(padding_idx: int | None, rows: int) -> int:
    """Return the attribute padding_idx of a lookup: -1 for none; negative indices count from the end of the table."""
    return -1 if padding_idx is None else padding_idx + rows * (padding_idx < 0)


def embedding(
    input: Variable,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: AttrLike = None,
    dtype: DTypeLike = "float32",
) -> Variable:
    """The rows of a learned table [size[0], size[1]] for ids of shape [..., 1], in place of the last dim.

    Args:
        is_sparse: the gradient holds only the rows that were used (SelectedRows).
        padding_idx: this id gives zeros; a negative one counts from the end.
    """
    return lookup("lookup_table", input, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


def one_hot(input: Variable, depth: object, allow_out_of_range: bool = False) -> Variable:
    """Rows of zeros with a one at the id; ids of shape [N, 1] give [N, depth]."""
    return hot("one_hot", input, depth, allow_out_of_range)


def hot(op_type: str, input: Variable, depth: object, allow_out_of_range: bool) -> Variable:
    """Append a one_hot op of either kind."""
    helper = LayerHelper(op_type)
    out = helper.create_variable_for_type_inference("float32")
    inputs: dict[str, Any] = {"X": [check_variable("one_hot", "input", input)]}
    attrs: dict[str, Any] = {"allow_out_of_range": allow_out_of_range}
    if isinstance(depth, Variable):
        depth.stop_gradient = True
        inputs["depth_tensor"] = [depth]
    else:
        attrs["depth"] = depth
    helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    if op_type == "one_hot":
        out.stop_gradient = True
    return out


def gather(input: Variable, index: Variable, overwrite: bool = True) -> Variable:
    """The rows of input at the positions in index."""
    helper = LayerHelper("gather")
    out = helper.create_variable_for_type_inference(check_variable("gather", "input", input).dtype)
    inputs = {"X": input, "Index": index}
    helper.append_op(type="gather", inputs=inputs, outputs={"Out": [out]}, attrs={"overwrite": overwrite})
    return out


def gather_nd(input: Variable, index: Variable, name: str | None = None) -> Variable:
    """The pieces of input at the positions in the last dim of index."""
    helper = LayerHelper("gather_nd", name=name)
    out = helper.create_variable_for_type_inference(check_variable("gather_nd", "input", input).dtype)
    helper.append_op(type="gather_nd", inputs={"X": input, "Index": index}, outputs={"Out": [out]})
    return out


def scatter(
    input: Variable, index: Variable, updates: Variable, name: str | None = None, overwrite: bool = True
) -> Variable:
    """input with the rows in index replaced by updates, or with overwrite=False set to the sum of theirs."""
    helper = LayerHelper("scatter", name=name)
    out = helper.create_variable_for_type_inference(check_variable("scatter", "input", input).dtype)
    inputs = {"X": input, "Ids": index, "Updates": updates}
    helper.append_op(type="scatter", inputs=inputs, outputs={"Out": [out]}, attrs={"overwrite": overwrite})
    return out


def scatter_nd_add(ref: Variable, index: Variable, updates: Variable, name: str | None = None) -> Variable:
    """ref plus updates at the positions in the last dim of index."""
    if ref.dtype != updates.dtype:
        raise ValueError(
            f"scatter_nd_add: ref is {ref.dtype.name}, but updates is {updates.dtype.name}; both need the same dtype"
        )
    helper = LayerHelper("scatter_nd_add", name=name)
    out = helper.create_variable_for_type_inference(ref.dtype)
    inputs = {"X": [ref], "Index": index, "Updates": [updates]}
    helper.append_op(type="scatter_nd_add", inputs=inputs, outputs={"Out": [out]})
    return out


def scatter_nd(index: Variable, updates: Variable, shape: Sequence[int], name: str | None = None) -> Variable:
    """Zeros of the given shape plus updates at the positions in the last dim of index."""
    from fluidio.layers._create.tensors import zeros

    return scatter_nd_add(zeros(shape, updates.dtype), index, updates, name)


def multiplex(inputs: Sequence[Variable], index: Variable) -> Variable:
    """Row i taken from input number index[i]."""
    helper = LayerHelper("multiplex")
    if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
        raise ValueError("multiplex: inputs must be a list of at least two Variables")
    out = helper.create_variable_for_type_inference(inputs[0].dtype)
    helper.append_op(type="multiplex", inputs={"X": list(inputs), "Ids": [index]}, outputs={"Out": [out]})
    return out


def where(condition: Variable) -> Variable:
    """The positions at which the condition is true, one in each row."""
    helper = LayerHelper("where_index")
    out = helper.create_variable_for_type_inference("int64", stop_gradient=False)
    helper.append_op(type="where_index", inputs={"Condition": condition}, outputs={"Out": [out]})
    return out


def unique(x: Variable, dtype: DTypeLike = "int32") -> tuple[Variable, Variable]:
    """The distinct values in order of appearance, and each entry's index among them."""
    helper = LayerHelper("unique")
    out = helper.create_variable_for_type_inference(x.dtype)
    index = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="unique", inputs={"X": [x]}, outputs={"Out": [out], "Index": [index]}, attrs={"dtype": to_vartype(dtype)}
    )
    return out, index


def unique_with_counts(x: Variable, dtype: DTypeLike = "int32") -> tuple[Variable, Variable, Variable]:
    """The distinct values in order of appearance, each entry's index among them, and how often each appears."""
    if to_vartype(dtype) not in (VarType.INT32, VarType.INT64):
        raise TypeError(f"unique_with_counts: dtype must be int32 or int64, got {dtype}")
    if len(x.shape) != 1:
        raise ValueError(f"unique_with_counts: x must have one dim, it has shape {list(x.shape)}")
    helper = LayerHelper("unique_with_counts")
    out = helper.create_variable_for_type_inference(x.dtype)
    index = helper.create_variable_for_type_inference(dtype)
    count = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="unique_with_counts",
        inputs={"X": [x]},
        outputs={"Out": [out], "Index": [index], "Count": [count]},
        attrs={"dtype": to_vartype(dtype)},
    )
    return out, index, count


def shard_index(input: Variable, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Variable:
    """Each index relative to its shard if it falls into shard shard_id, else ignore_value."""
    if not 0 <= shard_id < nshards:
        raise ValueError(f"shard_index: shard_id must lie in 0 ... {nshards - 1}, got {shard_id}")
    helper = LayerHelper("shard_index")
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="shard_index",
        inputs={"X": [input]},
        outputs={"Out": [out]},
        attrs={"index_num": index_num, "nshards": nshards, "shard_id": shard_id, "ignore_value": ignore_value},
    )
    return out
