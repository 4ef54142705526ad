"""`fluid.contrib.layers`: matching of sequence pairs, tree convolutions, tree-based item indices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from fluidio import layers
from fluidio.dtypes import DTypeLike, to_vartype
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.param_attr import AttrLike
from fluidio.program import Variable
from fluidio.program.arguments import Sizes
from fluidio.program.op_def import RIGHT_GRADIENT_ATTR

__all__ = [
    "match_matrix_tensor",
    "rank_attention",
    "sequence_topk_avg_pooling",
    "tdm_child",
    "tdm_sampler",
    "tree_conv",
    "var_conv_2d",
]


def _pair(value: Any) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def match_matrix_tensor(
    x: Variable,
    y: Variable,
    channel_num: int,
    act: str | None = None,
    param_attr: AttrLike = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """x W_t y' for every pair of rows of two sequences, as an image with channel_num channels; and x W."""
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"match_matrix_tensor: x has {x.shape[1]} columns, y has {y.shape[1]}; they must have as many")
    helper = LayerHelper("match_matrix_tensor", param_attr=param_attr, act=act, name=name)
    shape = [x.shape[1], channel_num, y.shape[1]]
    weight = helper.create_parameter(helper.param_attr, shape, dtype)
    out = helper.create_variable_for_type_inference(dtype)
    joined = helper.create_variable_for_type_inference(dtype, stop_gradient=True)
    helper.append_op(
        type="match_matrix_tensor",
        inputs={"X": [x], "Y": [y], "W": [weight]},
        outputs={"Out": [out], "Tmp": [joined]},
        attrs={"dim_t": channel_num},
    )
    return helper.append_activation(out), joined


def var_conv_2d(
    input: Variable,
    row: Variable,
    col: Variable,
    input_channel: int,
    output_channel: int,
    filter_size: Sizes,
    stride: Sizes = 1,
    param_attr: AttrLike = None,
    act: str | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Variable:
    """A convolution of images of different sizes; row and col are sequences as long as the images' sides."""
    helper = LayerHelper("var_conv_2d", param_attr=param_attr, act=act, name=name)
    kernel, step = _pair(filter_size), _pair(stride)
    shape = [output_channel, input_channel * kernel[0] * kernel[1]]
    weight = helper.create_parameter(helper.param_attr, shape, dtype)
    out = helper.create_variable_for_type_inference(dtype)
    read = helper.create_variable_for_type_inference(dtype, stop_gradient=True)
    helper.append_op(
        type="var_conv_2d",
        inputs={"X": [input], "ROW": [row], "COLUMN": [col], "W": [weight]},
        outputs={"Out": [out], "Col": [read]},
        attrs={
            "InputChannel": input_channel,
            "OutputChannel": output_channel,
            "StrideH": step[0],
            "StrideW": step[1],
            "KernelH": kernel[0],
            "KernelW": kernel[1],
        },
    )
    return helper.append_activation(out)


def sequence_topk_avg_pooling(
    input: Variable, row: Variable, col: Variable, topks: Sequence[int], channel_num: int
) -> Variable:
    """The mean of the k largest elements of each row of a channel, for each k in topks."""
    helper = LayerHelper("sequence_topk_avg_pooling")
    out = helper.create_variable_for_type_inference(input.dtype)
    places = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    helper.append_op(
        type="sequence_topk_avg_pooling",
        inputs={"X": [input], "ROW": [row], "COLUMN": [col]},
        outputs={"Out": [out], "pos": [places]},
        attrs={"topks": list(topks), "channel_num": channel_num},
    )
    return out


def tree_conv(
    nodes_vector: Variable,
    edge_set: Variable,
    output_size: int,
    num_filters: int = 1,
    max_depth: int = 2,
    act: str | None = "tanh",
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
    *,
    right_gradient: bool = False,
) -> Variable:
    """A convolution over the nodes below each node of a tree, down to max_depth.

    Fluid: with more than one output the nodes' gradient is wrong; so it is here, unless `right_gradient` is set.
    """
    if output_size * num_filters > 1 and not right_gradient:
        warnings.warn(
            "tree_conv: like Fluid, fluidio computes a wrong gradient for nodes_vector; tree_conv(..., "
            "right_gradient=True) corrects it"
        )
    helper = LayerHelper("tree_conv", param_attr=param_attr, bias_attr=bias_attr, act=act, name=name)
    dtype = nodes_vector.dtype
    shape = [nodes_vector.shape[2], 3, output_size, num_filters]
    weight = helper.create_parameter(helper.param_attr, shape, dtype)
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="tree_conv",
        inputs={"NodesVector": [nodes_vector], "EdgeSet": [edge_set], "Filter": [weight]},
        outputs={"Out": [out]},
        attrs={"max_depth": max_depth, **({RIGHT_GRADIENT_ATTR: True} if right_gradient else {})},
    )
    before = helper.append_bias_op(out) if helper.bias_attr is not False else out
    return helper.append_activation(before)


def tdm_child(
    x: Variable, node_nums: int, child_nums: int, param_attr: AttrLike = None, dtype: DTypeLike = "int32"
) -> tuple[Variable, Variable]:
    """The children of tree nodes, and which of them are items; param_attr names the tree."""
    helper = LayerHelper("tdm_child", param_attr=param_attr)
    kind, zeros = to_vartype(dtype), Constant(0)
    tree = helper.create_parameter(helper.param_attr, [node_nums, 3 + child_nums], kind, default_initializer=zeros)
    tree.stop_gradient = True
    child = helper.create_variable_for_type_inference(dtype)
    leaf = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="tdm_child",
        inputs={"X": [x], "TreeInfo": [tree]},
        outputs={"Child": [child], "LeafMask": [leaf]},
        attrs={"child_nums": child_nums, "dtype": to_vartype(dtype)},
    )
    return child, leaf


def tdm_sampler(
    x: Variable,
    neg_samples_num_list: Sequence[int],
    layer_node_num_list: Sequence[int],
    leaf_node_num: int,
    tree_travel_attr: object = None,
    tree_layer_attr: object = None,
    output_positive: bool = True,
    output_list: bool = True,
    seed: int = 0,
    tree_dtype: DTypeLike = "int32",
    dtype: DTypeLike = "int32",
) -> Any:
    """Each item's ancestor in each layer of a tree, and other nodes of the layer: nodes, labels (1, 0) and mask.

    Args:
        output_list: return a list with a Variable for each layer instead of one Variable for all.
    """
    if len(neg_samples_num_list) != len(layer_node_num_list):
        raise ValueError(
            f"tdm_sampler: neg_samples_num_list has {len(neg_samples_num_list)} entries, layer_node_num_list "
            f"{len(layer_node_num_list)}; give one number of samples for each layer"
        )
    for count, nodes in zip(neg_samples_num_list, layer_node_num_list):
        if count >= nodes:
            raise ValueError(
                f"tdm_sampler: cannot draw {count} negative samples from a layer of {nodes} nodes, one of "
                "which is positive"
            )
    helper = LayerHelper("tdm_sampler", tree_layer_attr=tree_layer_attr)
    depth = len(layer_node_num_list)
    zeros = Constant(0)
    way = helper.create_parameter(tree_travel_attr, [leaf_node_num, depth], tree_dtype, default_initializer=zeros)
    rows = sum(layer_node_num_list)
    table = helper.create_parameter(tree_layer_attr, [rows, 1], tree_dtype, default_initializer=zeros)
    found = [helper.create_variable_for_type_inference(dtype) for _ in range(3)]
    for variable in (way, table, *found):
        variable.stop_gradient = True
    ends = [0]
    for nodes in layer_node_num_list:
        ends.append(ends[-1] + nodes)
    helper.append_op(
        type="tdm_sampler",
        inputs={"X": [x], "Travel": [way], "Layer": [table]},
        outputs={"Out": [found[0]], "Labels": [found[1]], "Mask": [found[2]]},
        attrs={
            "neg_samples_num_list": list(neg_samples_num_list),
            "output_positive": output_positive,
            "layer_offset_lod": ends,
            "seed": seed,
            "dtype": to_vartype(dtype),
        },
    )
    return _by_layer(found, neg_samples_num_list, output_positive) if output_list else tuple(found)


def _by_layer(found: list[Variable], counts: Sequence[int], positive: bool) -> tuple[list[Variable], ...]:
    """Return nodes, labels and mask, each as a list with one Variable per layer."""
    lists: tuple[list[Variable], ...] = ([], [], [])
    start = 0
    for count in counts:
        width = count + int(positive)
        parts = [layers.slice(v, axes=[1], starts=[start], ends=[start + width]) for v in found]
        for group, part in zip(lists, parts):
            group.append(layers.reshape(part, [-1, width, 1]))
            group[-1].stop_gradient = True
        start += width
    return lists


def rank_attention(
    input: Variable, rank_offset: Variable, rank_param_shape: Sequence[int], rank_param_attr: object, max_rank: int = 3
) -> Variable:
    """Combine each row with the rows of its page listed in rank_offset, with one matrix for each pair of ranks.

    Args:
        rank_offset: int32 [N, 1 + 2 max_rank]: the row's own rank from 1, then the rank and number of each other row;
            0 means none.
        rank_param_shape: [width max_rank max_rank, size of the result].

    Fluid: it ran only on GPUs. Only the matrices are trained.
    """
    if input.shape[1] * max_rank * max_rank != rank_param_shape[0]:
        wanted = input.shape[1] * max_rank * max_rank
        raise ValueError(f"rank_attention: rank_param_shape must begin with {wanted}, got {list(rank_param_shape)}")
    helper = LayerHelper("rank_attention")
    param = helper.create_parameter(rank_param_attr, list(rank_param_shape), input.dtype)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)  # Fluid creates it but does not use it
    helper.append_op(
        type="rank_attention",
        inputs={"X": [input], "RankOffset": [rank_offset], "RankParam": [param]},
        outputs={"Out": [out]},
        attrs={"MaxRank": max_rank},
    )
    return out
