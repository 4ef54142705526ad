"""Functions of `fluid.core` on descs and graphs, for code that calls Fluid's C++ directly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fluidio.errors import EnforceNotMet
from fluidio.program.clone import clone_program
from fluidio.program.desc import ProgramDesc
from fluidio.program.ir_graph import Graph, IrGraph, IrNode
from fluidio.program.ir_nodes import Node, sorted_ops
from fluidio.program.prune import prune as pruned

__all__ = [
    "build_adjacency_list",
    "graph_num",
    "graph_safe_remove_nodes",
    "has_circle",
    "infer_no_need_buffer_slots",
    "prune",
    "prune_backward",
    "topology_sort",
]

# Fluid 1.8.5: op types, and the inputs of which they need only the shape.
_UNREAD = """
affine_channel_grad X; argsort_grad X; bicubic_interp_grad X; bilinear_interp_grad X; center_loss_grad X
concat_grad X; crop Y; cvm CVM; cvm_grad X; elementwise_add_grad X Y; elementwise_add_grad_grad DOut Y
elementwise_sub_grad X Y; elementwise_sub_grad_grad DOut Y; expand_as_grad X; expand_grad X
fill_constant_batch_size_like Input; fill_zeros_like2 X; flatten_grad X; gather_grad X; gather_nd_grad X
gaussian_random_batch_size_like Input; gru_grad Bias Input; gru_unit_grad Bias; hierarchical_sigmoid_grad Bias
index_sample_grad X; index_select_grad X; kldiv_loss_grad X; layer_norm_grad Bias
linear_chain_crf_grad Emission Transition; lod_reset_grad X; lookup_table_grad W; lookup_table_v2_grad W
max_pool2d_with_index_grad X; max_pool3d_with_index_grad X; mean_grad X; nce_grad Bias; nearest_interp_grad X
pad2d_grad X; push_dense Ids; rank_attention_grad RankParam; reduce_mean_grad X; reduce_sum_grad X
reshape2_grad_grad DOut; roi_align_grad X; roll_grad X; scatter_grad Updates; scatter_nd_add_grad Updates
sequence_concat_grad X; sequence_expand Y; sequence_expand_as Y; sequence_expand_as_grad X Y
sequence_expand_grad X Y; sequence_pad_grad X; sequence_pool_grad X; sequence_scatter_grad Updates
sequence_slice_grad X; sequence_softmax_grad X; sequence_unpad_grad X; slice_grad Input; space_to_depth_grad X
squared_l2_distance_grad X Y; squeeze_grad X; strided_slice_grad Input; trace_grad Input; trilinear_interp_grad X
unfold_grad X; uniform_random_batch_size_like Input; unsqueeze_grad X; warpctc_grad Logits; where_grad X Y
"""
_UNREAD_SLOTS = {
    words[0]: frozenset(words[1:])
    for words in (entry.split() for entry in _UNREAD.replace("\n", ";").split(";"))
    if words
}


def infer_no_need_buffer_slots(
    op_type: str, inputs: Mapping[str, object], outputs: Mapping[str, object], attrs: Mapping[str, object]
) -> set[str]:
    """Return the inputs of which 1.8.5 reads only the shape, so that their data may be freed before the op."""
    return set(_UNREAD_SLOTS.get(op_type, ()))


def prune(
    desc: ProgramDesc, feeds: Iterable[str], targets: Sequence[Sequence[int]]
) -> tuple[ProgramDesc, dict[int, int]]:
    """Return the part of a program that some ops need, and a mapping of old to new block numbers.

    Args:
        feeds: variables that are given, so that the ops that compute them are not needed.
        targets: the ops, as pairs of a block's number and an op's index.
    """
    program = desc._program
    try:
        wanted = [program.blocks[block].ops[index] for block, index in targets]
    except IndexError as error:
        raise EnforceNotMet(
            f"prune: a target names an op that the program does not have: {[list(t) for t in targets]}"
        ) from error
    found = pruned(program, wanted, tuple(feeds))
    return ProgramDesc(found), {block.idx: block.idx for block in found.blocks}


def prune_backward(desc: ProgramDesc) -> tuple[ProgramDesc, dict[int, int]]:
    """Return a program without its backward, optimizer and schedule ops, and a mapping of old to new block numbers.

    Fluid: the mapping is empty if the program has no such ops.
    """
    found = clone_program(desc._program, for_test=False, drop_training=True)
    if [len(block.ops) for block in found.blocks] == [len(block.ops) for block in desc._program.blocks]:
        return ProgramDesc(found), {}
    return ProgramDesc(found), {block.idx: block.idx for block in found.blocks}


def has_circle(graph: Graph) -> bool:
    return IrGraph(graph).has_circle()


def graph_num(graph: Graph) -> int:
    return IrGraph(graph).graph_num()


def topology_sort(graph: Graph) -> list[Node]:
    return sorted_ops(graph.nodes())


def build_adjacency_list(graph: Graph) -> dict[Node, set[Node]]:
    found = IrGraph(graph).build_adjacency_list()
    return {node.node: {other.node for other in before} for node, before in found.items()}


def graph_safe_remove_nodes(graph: Graph, nodes: Iterable[Node]) -> None:
    IrGraph(graph).safe_remove_nodes([IrNode(node) for node in nodes])
