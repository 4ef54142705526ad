"""Diagonals, triangles, flips, rolls and selections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers._create.tensors import assign
from fluidio.layers._shape.lookup import where
from fluidio.layers._shape.manipulate import reshape, slice
from fluidio.layers.arguments import check_part, check_variable
from fluidio.program import Variable

__all__ = [
    "diag_embed",
    "filter_by_instag",
    "flip",
    "hash",
    "index_sample",
    "index_select",
    "meshgrid",
    "nonzero",
    "roll",
    "t",
    "trace",
    "tril",
    "triu",
]


def diag_embed(input: Variable, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Variable:
    """Matrices over dim1 and dim2 that have the last dim of the input on a diagonal."""
    helper = LayerHelper("diag_embed")
    x = input if isinstance(input, Variable) else assign(input)
    rank = len(x.shape)
    for name, dim in (("Dim1", dim1), ("Dim2", dim2)):
        if not -rank <= dim <= rank:
            raise ValueError(f"diag_embed: {name} must lie in {-rank - 1} ... {rank}, got {dim}")
    if dim1 % (rank + 1) == dim2 % (rank + 1):
        raise ValueError(f"diag_embed: dim1 ({dim1}) and dim2 ({dim2}) name the same dim")
    out = helper.create_variable_for_type_inference(x.dtype)
    attrs = {"offset": offset, "dim1": dim1, "dim2": dim2}
    helper.append_op(type="diag_embed", inputs={"Input": [x]}, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = True
    return out


def trace(
    input: Variable,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
    out: Variable | None = None,
    name: str | None = None,
) -> Variable:
    """The sums along a diagonal over dim1 and dim2."""
    helper = LayerHelper("trace", name=name)
    if out is None:
        out = helper.create_variable_for_type_inference(check_variable("trace", "input", input).dtype)
    attrs = {"offset": offset, "dim1": dim1, "dim2": dim2}
    helper.append_op(type="trace", inputs={"Input": [input]}, outputs={"Out": [out]}, attrs=attrs)
    return out


def _triangle(layer: str, input: Variable, diagonal: int, name: str | None) -> Variable:
    if len(check_variable(layer, "input", input).shape) < 2:
        raise ValueError(f"{layer}: input must have at least 2 dims, it has shape {list(input.shape)}")
    if not isinstance(diagonal, int):
        raise TypeError(f"{layer}: diagonal must be an int, got {type(diagonal).__name__}")
    helper = LayerHelper(layer, name=name)
    out = helper.create_variable(name=helper.name, dtype=input.dtype, persistable=False)
    attrs = {"diagonal": diagonal, "lower": layer == "tril"}
    helper.append_op(type="tril_triu", inputs={"X": [input]}, outputs={"Out": [out]}, attrs=attrs)
    return out


def tril(input: Variable, diagonal: int = 0, name: str | None = None) -> Variable:
    """The input with zeros above a diagonal."""
    return _triangle("tril", input, diagonal, name)


def triu(input: Variable, diagonal: int = 0, name: str | None = None) -> Variable:
    """The input with zeros below a diagonal."""
    return _triangle("triu", input, diagonal, name)


def flip(input: Variable, dims: Sequence[int], name: str | None = None) -> Variable:
    """The input reversed along the dims."""
    helper = LayerHelper("flip", name=name)
    dtype = check_variable("flip", "input", input).dtype
    out = (
        helper.create_variable(name=name, dtype=dtype, persistable=False)
        if name is not None
        else helper.create_variable_for_type_inference(dtype)
    )
    helper.append_op(type="flip", inputs={"X": [input]}, outputs={"Out": [out]}, attrs={"dims": list(dims)})
    return out


def roll(input: Variable, shifts: Any, dims: Any = None) -> Variable:
    """The input shifted along the dims, or flattened and shifted; elements that leave at one end return at the other.

    Fluid: without dims its gradient shifted whole rows instead of elements; here it shifts elements.
    """
    helper = LayerHelper("roll", input=input)
    steps = [shifts] if isinstance(shifts, int) else list(shifts)
    where_to = [dims] if isinstance(dims, int) else dims
    rank = len(check_variable("roll", "input", input).shape)
    if where_to:
        if len(where_to) != len(steps):
            raise ValueError(f"roll: got {len(steps)} shifts for {len(where_to)} dims; give one for each")
        for dim in where_to:
            if not -rank <= dim < rank:
                raise ValueError(f"roll: dim {dim} must lie in {-rank} ... {rank - 1}")
    out = helper.create_variable_for_type_inference(input.dtype)
    moved = input if where_to else reshape(input, shape=[-1, 1])
    attrs = {"dims": list(where_to) if where_to else [0], "shifts": steps}
    helper.append_op(type="roll", inputs={"X": [moved]}, outputs={"Out": [out]}, attrs=attrs)
    return reshape(out, shape=list(input.shape), inplace=True)


def t(input: Variable, name: str | None = None) -> Variable:
    """A matrix transposed; a vector unchanged."""
    rank = len(check_variable("t", "input", input).shape)
    if rank > 2:
        raise ValueError(f"t: input must have at most 2 dims, it has shape {list(input.shape)}; use transpose")
    helper = LayerHelper("t", name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    before = helper.create_variable_for_type_inference(input.dtype)
    if rank < 2:
        return input
    outputs = {"Out": [out], "XShape": [before]}
    helper.append_op(type="transpose2", inputs={"X": [input]}, outputs=outputs, attrs={"axis": [1, 0]})
    return out


def meshgrid(input: Sequence[Variable], name: str | None = None) -> list[Variable]:
    """Each vector along its own dim, repeated along those of the others."""
    if not isinstance(input, (list, tuple)):
        raise TypeError(f"meshgrid: input must be a list of Variables, got {type(input).__name__}")
    parts = [check_part("meshgrid", "input", x) for x in input]
    helper = LayerHelper("meshgrid", name=name)
    outs = [helper.create_variable_for_type_inference(x.dtype) for x in parts]
    helper.append_op(type="meshgrid", inputs={"X": parts}, outputs={"Out": outs})
    return outs


def nonzero(input: Variable, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero, [count, rank]; with as_tuple one column for each dim."""
    places = where(input)
    if not as_tuple:
        return places
    rank = len(input.shape)
    if rank <= 1:
        return (places,)
    return tuple(slice(places, axes=[1], starts=[i], ends=[i + 1]) for i in range(rank))


def index_sample(x: Variable, index: Variable) -> Variable:
    """In each row, the elements of x at the positions in the same row of index."""
    helper = LayerHelper("index_sample")
    out = helper.create_variable_for_type_inference(check_variable("index_sample", "x", x).dtype)
    inputs = {"X": [x], "Index": [check_variable("index_sample", "index", index)]}
    helper.append_op(type="index_sample", inputs=inputs, outputs={"Out": [out]})
    return out


def index_select(input: Variable, index: Variable, dim: int = 0) -> Variable:
    """The slices along dim at the positions in index."""
    helper = LayerHelper("index_select", input=input)
    if not isinstance(index, Variable):
        raise TypeError(f"index_select: index must be a Variable, got {type(index).__name__}")
    out = helper.create_variable_for_type_inference(check_variable("index_select", "input", input).dtype)
    inputs = {"X": [input], "Index": [index]}
    helper.append_op(type="index_select", inputs=inputs, outputs={"Out": [out]}, attrs={"dim": dim})
    return out


def hash(input: Variable, hash_size: int, num_hash: int = 1, name: str | None = None) -> Variable:
    """num_hash hashes of each row of ids, below hash_size.

    Fluid: 1.8 refused every hash_size by mistake; older versions and this one accept it.
    """
    helper = LayerHelper("hash", name=name)
    out = helper.create_variable_for_type_inference("int64", stop_gradient=True)
    attrs = {"num_hash": num_hash, "mod_by": hash_size}
    helper.append_op(type="hash", inputs={"X": [input]}, outputs={"Out": [out]}, attrs=attrs)
    return out


def filter_by_instag(
    ins: Variable, ins_tag: Variable, filter_tag: Variable, is_lod: bool, out_val_if_empty: int = 0
) -> list[Variable]:
    """The instances with one of the wanted tags, and a weight for each: 1, or 0 if nothing is left."""
    helper = LayerHelper("filter_by_instag")
    out = helper.create_variable_for_type_inference(ins.dtype)
    weight = helper.create_variable_for_type_inference("float64")
    table = helper.create_variable_for_type_inference(ins_tag.dtype)
    helper.append_op(
        type="filter_by_instag",
        inputs={"Ins": [ins], "Ins_tag": [ins_tag], "Filter_tag": [filter_tag]},
        outputs={"Out": [out], "LossWeight": [weight], "IndexMap": [table]},
        attrs={"is_lod": is_lod, "out_val_if_empty": out_val_if_empty},
    )
    return [out, weight]
