"""Ops that saved models hold in place of several others."""

from __future__ import annotations

import itertools

import numpy as np

from tests.differential.draw import OpDraw, draws

__all__: list[str] = []


@draws("fc", grad=False)
def fc(d: OpDraw) -> None:
    shape = d.shape(2, 4)
    columns = d.attr("in_num_col_dims", 1, *range(1, len(shape)))
    inner = 1
    for size in shape[columns:]:
        inner *= size
    width = d.size()
    d.put("Input", d.floats(shape))
    d.put("W", d.floats([inner, width]), fixed=True)
    if d.chance(0.7):
        d.put("Bias", d.floats(d.pick([width], [1, width])), fixed=True)
    d.attr("activation_type", "", "relu")


_FUNCTORS = [
    ["elementwise_add", "relu"],
    ["elementwise_add", "scale"],
    ["elementwise_mul", "scale"],
    ["elementwise_mul", "tanh"],
    ["elementwise_add", "sigmoid"],
    ["relu", "elementwise_add"],
    ["scale", "elementwise_add"],
    ["sigmoid", "elementwise_mul"],
    ["tanh", "elementwise_mul"],
]


@draws("fused_elemwise_activation")
def fused_elemwise_activation(d: OpDraw) -> None:
    shape = d.shape(2, 3)
    start = d.pick(0, len(shape) - 1)
    broadcast = d.chance()
    d.put("X", d.floats(shape))
    d.put("Y", d.floats(shape[start : start + 1] if broadcast else shape))
    d.attrs["axis"] = start if broadcast else -1
    d.attrs["functor_list"] = d.pick(*_FUNCTORS)
    d.attr("scale", 0.0, 0.5, -2.0, always=True)
    d.attr("save_intermediate_out", False, True, always=True)
    if broadcast and d.attrs["functor_list"] == ["elementwise_mul", "tanh"]:
        d.attrs["save_intermediate_out"] = True  # or Y's gradient takes 1 - y * y for the slope of tanh
    d.out("IntermediateOut")
    if not d.attrs["save_intermediate_out"]:
        d.unfetched("IntermediateOut")


@draws("fused_embedding_seq_pool")
def fused_embedding_seq_pool(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False)
    height, width = d.size(2, 6), d.size(1, 4)
    d.put("W", d.floats([height, width]), fixed=True)
    d.put("Ids", d.ids([rows, 1], height), lod=lod)
    d.attr("combiner", "sum", always=True)
    d.attr("padding_idx", -1, 0)
    if d.attr("is_sparse", False, True):
        d.read.add("W@GRAD")


def _gates(d: OpDraw) -> None:
    d.attr("gate_activation", "sigmoid", "tanh", "relu")
    d.attr("is_reverse", False, True)
    d.attr("use_seq", True, False)


@draws("fusion_gru", grad=False)
def fusion_gru(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False)
    width, size = d.size(1, 4), d.size(1, 4)
    d.put("X", d.floats([rows, width]), lod=lod)
    d.put("WeightX", d.floats([width, 3 * size]), fixed=True)
    d.put("WeightH", d.floats([size, 3 * size]), fixed=True)
    if d.chance():
        d.put("H0", d.floats([len(lod[0]), size]), fixed=True)
    if d.chance():
        d.put("Bias", d.floats([1, 3 * size]), fixed=True)
    d.attr("activation", "tanh", "sigmoid", "relu")
    d.attr("origin_mode", False, True)
    _gates(d)
    d.unfetched("ReorderedH0", "XX", "BatchedInput", "BatchedOut")


def _lstm(d: OpDraw, size: int, sequences: int) -> None:
    peepholes = d.attr("use_peepholes", True, False, always=True)
    d.put("Bias", d.floats([1, (7 if peepholes else 4) * size]), fixed=True)
    if d.chance():
        d.put("H0", d.floats([sequences, size]), fixed=True)
        d.put("C0", d.floats([sequences, size]), fixed=True)
    d.attr("cell_activation", "tanh", "sigmoid", "relu")
    d.attr("candidate_activation", "tanh", "sigmoid", "relu")
    _gates(d)
    d.unfetched(
        "XX", "BatchedInput", "BatchedHidden", "BatchedCell", "ReorderedH0", "ReorderedC0", "CheckedCell"
    )  # memory for its own use


@draws("fusion_lstm", grad=False)
def fusion_lstm(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False)
    width, size = d.size(1, 4), d.size(1, 4)
    d.put("X", d.floats([rows, width]), lod=lod)
    d.put("WeightX", d.floats([width, 4 * size]), fixed=True)
    d.put("WeightH", d.floats([size, 4 * size]), fixed=True)
    _lstm(d, size, len(lod[0]))


@draws("fused_embedding_fc_lstm", grad=False)
def fused_embedding_fc_lstm(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False)
    height, size = d.size(2, 6), d.size(1, 4)
    d.put("Ids", d.ids([rows, 1], height), lod=lod)
    d.put("Embeddings", d.floats([height, 4 * size]), fixed=True)
    d.put("WeightH", d.floats([size, 4 * size]), fixed=True)
    _lstm(d, size, len(lod[0]))


@draws("fusion_repeated_fc_relu", grad=False)
def fusion_repeated_fc_relu(d: OpDraw) -> None:
    d.float = "float32"
    sizes = [d.size() for _ in range(d.size(3, 5))]
    d.put("X", d.floats([d.size(), sizes[0]]))
    d.put("W", *[d.floats(list(pair)) for pair in itertools.pairwise(sizes)], fixed=True)
    d.put("Bias", *[d.floats([1, size]) for size in sizes[1:]], fixed=True)
    d.out("ReluOut", len(sizes) - 2)


@draws("fusion_seqconv_eltadd_relu", grad=False)
def fusion_seqconv_eltadd_relu(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False, most=6)
    width, out, length = d.size(1, 3), d.size(1, 4), d.size(1, 4)
    d.put("X", d.floats([rows, width]), lod=lod)
    d.put("Filter", d.floats([length * width, out]), fixed=True)
    d.put("Bias", d.floats([1, out]), fixed=True)
    d.attrs.update(contextLength=length, contextStart=-d.rng.randrange(length), contextStride=1)
    d.unfetched("ColMat")


@draws("fusion_seqexpand_concat_fc", grad=False)
def fusion_seqexpand_concat_fc(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False)
    widths, out = [d.size(1, 3) for _ in range(d.size(2, 3))], d.size()
    d.put("X", d.floats([rows, widths[0]]), lod=lod)
    for width in widths[1:]:
        d.put("X", d.floats([len(lod[0]), width]), lod=[[1] * len(lod[0])])
    d.put("FCWeight", d.floats([sum(widths), out]), fixed=True)
    if d.chance():
        d.put("FCBias", d.floats([1, out]), fixed=True)
    d.attr("fc_activation", "identity", "relu", "tanh", "sigmoid")
    d.unfetched("FCOut")


@draws("fusion_seqpool_concat", "fusion_seqpool_cvm_concat", grad=False)
def fusion_seqpool_concat(d: OpDraw) -> None:
    d.float = "float32"
    count, width, sequences = d.size(1, 3), d.size(3, 5), d.size(1, 3)
    for _ in range(count):
        lod, rows = d.lod(empty=False, sequences=sequences)
        d.put("X", d.floats([rows, width], 0.1, 2.0), lod=lod)
    if "cvm" in d.op:
        d.put("CVM", d.floats([sequences, 2], 0.1, 2.0), fixed=True)
        d.attr("use_cvm", True, always=True)
    d.attr("pooltype", "SUM", "AVERAGE", "SQRT")
    d.attr("axis", 1, always=True)


@draws("fusion_squared_mat_sub", grad=False)
def fusion_squared_mat_sub(d: OpDraw) -> None:
    d.float = "float32"
    rows, inner, columns = d.size(), d.size(), d.size()
    d.put("X", d.floats([rows, inner]))
    d.put("Y", d.floats([inner, columns]), fixed=True)
    d.attr("scalar", 1.0, 0.5, -2.0)


@draws("inplace_abn", grad=False)
def inplace_abn(d: OpDraw) -> None:
    channels = d.size(1, 3)
    last = d.attr("data_layout", "NCHW", "NHWC") == "NHWC"
    shape = [d.size(2, 3), d.size(1, 3), d.size(1, 3)]
    d.put("X", d.floats([*shape, channels] if last else [shape[0], channels, *shape[1:]]))
    d.put("Scale", d.floats([channels], 0.5, 1.5), fixed=True)
    d.put("Bias", d.floats([channels]), fixed=True)
    d.put("Mean", d.floats([channels]), fixed=True)
    d.put("Variance", d.floats([channels], 0.5, 1.5), fixed=True)
    d.no_grad("Mean", "Variance")
    d.real("momentum", 0.9, 0.1, 0.8)
    d.attr("epsilon", 1e-5, 1e-3)
    d.attr("activation", "", "identity", "leaky_relu", "elu")
    d.attr("alpha", 0.1, 0.5)
    d.attr("trainable_statistics", False, True)
    if d.chance(0.2):
        d.put("MomentumTensor", np.array([0.7], "float32"), fixed=True)
    moving = d.attr("is_test", False, True)
    if d.attr("use_global_stats", False, True) or moving:
        d.unfetched("SavedMean", "SavedVariance")
    d.same(Y="X", MeanOut="Mean", VarianceOut="Variance")
    d.unfetched("ReserveSpace")
