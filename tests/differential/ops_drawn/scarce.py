"""Ops that few programs use: losses and metrics of other names, trees, matching, instances by tag."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.draw import OpDraw, draws

__all__: list[str] = []


@draws("bce_loss")
def bce_loss(d: OpDraw) -> None:
    shape = d.shape()
    d.put("X", d.floats(shape, 0.05, 0.95))
    d.put("Label", d.floats(shape, 0.0, 1.0))
    d.no_grad("Label")


@draws("nll_loss")
def nll_loss(d: OpDraw) -> None:
    rows, classes = d.size(), d.size(2, 4)
    inner = d.pick([], [d.size(1, 3), d.size(1, 3)])
    d.put("X", d.floats([rows, classes, *inner]))
    d.put("Label", d.ids([rows, *inner], classes))
    if d.chance():
        d.put("Weight", d.floats([classes], 0.1, 2.0), fixed=True)
        d.no_grad("Weight")
    d.attr("reduction", "mean", "sum", "none", always=True)
    d.attr("ignore_index", -100, 0, 1)
    d.unfetched(*(["Total_weight"] if d.attrs["reduction"] == "none" else []))
    d.steady.add("Total_weight")


@draws("p_norm")
def p_norm(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    d.put("X", d.apart(shape))
    d.attr("porder", 2.0, 1.0, 3.0, 1.5)
    d.attr("axis", -1, *range(-len(shape), len(shape)))
    d.attr("keepdim", False, True)
    d.attr("epsilon", 1e-12, 1e-5)


@draws("frobenius_norm")
def frobenius_norm(d: OpDraw) -> None:
    shape = d.shape(2, 4)
    d.put("X", d.floats(shape))
    rank = len(shape)
    d.attrs["dim"] = d.pick([0], [rank - 1], [-1], [0, rank - 1], [-2, -1])
    d.attr("keep_dim", False, True)
    d.attr("reduce_all", False, True, always=len(d.attrs["dim"]) < rank)
    if d.float == "float32" and d.chance(0.2):
        d.attrs.update(in_dtype=5, out_dtype=5)
    if len(d.attrs["dim"]) == rank:
        d.attrs["reduce_all"] = True  # or it reads beyond the result


@draws("conv_shift")
def conv_shift(d: OpDraw) -> None:
    d.float = "float32"
    rows, width = d.size(), d.size(3, 6)
    d.put("X", d.floats([rows, width]))
    d.put("Y", d.floats([rows, d.pick(1, 3)]))


@draws("spp")
def spp(d: OpDraw) -> None:
    d.put("X", d.apart([d.size(1, 2), d.size(1, 3), d.size(4, 6), d.size(4, 6)]), fixed=True)
    d.attrs["pyramid_height"] = d.size(1, 3)
    d.attrs["pooling_type"] = d.pick("max", "avg")


@draws("unpool")
def unpool(d: OpDraw) -> None:
    images, channels, height, width = d.size(1, 2), d.size(1, 2), d.size(1, 3), d.size(1, 3)
    d.put("X", d.floats([images, channels, height, width]), fixed=True)
    tops = (np.arange(height)[:, None] * 2 * (2 * width) + np.arange(width)[None] * 2).astype("int32")
    offsets = d.ids([images, channels, height, width], 2, dtype="int32")
    d.put("Indices", np.broadcast_to(tops, offsets.shape) + offsets, fixed=True)
    d.attrs.update(ksize=[2, 2], strides=[2, 2], paddings=[0, 0], unpooling_type="max")
    if d.chance(0.2):
        d.attrs.update(ksize=[4, 4], paddings=[1, 1])


@draws("positive_negative_pair", grad=False)
def positive_negative_pair(d: OpDraw) -> None:
    rows, columns = d.size(1, 6), d.size(1, 3)
    d.put("Score", d.floats([rows, columns]))
    d.put("Label", d.ids([rows, 1], 3).astype(d.float))
    d.put("QueryID", d.ids([rows, 1], 2))
    if d.chance():
        for kind in ("Positive", "Negative", "Neutral"):
            d.put(f"Accumulate{kind}Pair", d.floats([1], 0.0, 5.0), fixed=True)
    if d.chance():
        d.put("Weight", d.floats([rows, 1], 0.1, 2.0))
    d.attr("column", -1, *range(columns))
    d.out("NeutralPair")


@draws("precision_recall", grad=False)
def precision_recall(d: OpDraw) -> None:
    rows, classes = d.size(1, 6), d.size(1, 4)
    d.put("MaxProbs", d.floats([rows, 1], 0.1, 1.0))
    d.put("Indices", d.ids([rows, 1], classes, dtype="int32"))
    d.put("Labels", d.ids([rows, 1], classes, dtype="int32"))
    if d.chance():
        d.put("Weights", d.floats([rows, 1], 0.1, 2.0))
    if d.chance():
        d.put("StatesInfo", d.floats([classes, 4], 0.0, 5.0).astype("float32"), fixed=True)
    d.attrs["class_number"] = classes
    d.out_dtypes.update(BatchMetrics="float64", AccumMetrics="float64", AccumStatesInfo="float32")


@draws("filter_by_instag")
def filter_by_instag(d: OpDraw) -> None:
    sequences = d.size(1, 4)
    tags, tag_rows = d.lod(empty=False, sequences=sequences, most=2)
    if d.attr("is_lod", True, False, always=True):
        lod, rows = d.lod(empty=False, sequences=sequences)
        d.put("Ins", d.floats([rows, d.size()]), lod=lod)
    else:
        d.put("Ins", d.floats([sequences, d.size()]))
    d.put("Ins_tag", d.ids([tag_rows, 1], 4), lod=tags)
    d.put("Filter_tag", d.ids([d.size(1, 2)], 4), fixed=True)
    d.attr("out_val_if_empty", 0, 3)
    d.out_dtypes.update(LossWeight="float32", IndexMap="int64")


@draws("shuffle_batch")
def shuffle_batch(d: OpDraw) -> None:
    lod, rows = d.lod() if d.chance(0.3) else (None, d.size())
    d.put("X", d.floats([rows, *d.shape(1, 2)]), lod=lod)
    d.put("Seed", np.array([d.size(1, 99)], "int64"), fixed=True)
    d.out_dtypes.update(ShuffleIdx="int64", SeedOut="int64")


def _tree(d: OpDraw) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return item, layer, parent and two children of each node of a tree of seven; node 0 is padding."""
    rows = [[0, 0, 0, 0, 0], [0, 0, 0, 2, 3], [0, 1, 1, 4, 5], [0, 1, 1, 6, 7]]
    rows += [[10 + node, 2, node // 2, 0, 0] for node in range(4, 8)]
    return np.array(rows)


@draws("tdm_child", grad=False)
def tdm_child(d: OpDraw) -> None:
    kind = d.pick(("int32", 2), ("int64", 3))
    lod, rows = d.lod() if d.chance(0.3) else (None, d.size())
    d.put("X", d.ids([rows, d.size(1, 3)], 8, dtype=d.pick("int32", "int64")), lod=lod)
    d.put("TreeInfo", _tree(d).astype(d.pick("int32", "int64")), fixed=True)
    d.attrs.update(child_nums=2, dtype=kind[1])
    d.out_dtypes.update(Child=kind[0], LeafMask=kind[0])


@draws("tdm_sampler", grad=False)
def tdm_sampler(d: OpDraw) -> None:
    kind = d.pick(("int32", 2), ("int64", 3))
    dtype = d.pick("int32", "int64")
    d.put("X", d.ids([d.size(), 1], 4, dtype=dtype))
    d.put("Travel", np.array([[1, 3], [1, 4], [2, 5], [2, 6]], dtype), fixed=True)
    d.put("Layer", np.array([[1], [2], [3], [4], [5], [6]], dtype), fixed=True)
    d.attrs.update(neg_samples_num_list=[1, 3], layer_offset_lod=[0, 2, 6], dtype=kind[1])
    d.attr("output_positive", True, False)
    d.out("Labels")
    d.out_dtypes.update(Out=kind[0], Labels=kind[0], Mask=kind[0])
    d.unfetched("Out")  # drawn by a generator of its own


@draws("tree_conv")
def tree_conv(d: OpDraw) -> None:
    d.float = "float32" if d.chance(0.7) else "float64"
    batch, nodes, width = d.size(1, 2), 5, d.size(1, 3)
    d.put("NodesVector", d.floats([batch, nodes, width]))
    edges = np.array([[1, 2], [1, 3], [2, 4], [2, 5], [0, 0]], "int32")
    d.put("EdgeSet", np.stack([edges] * batch))
    d.put("Filter", d.floats([width, 3, d.size(1, 2), d.size(1, 2)]), fixed=True)
    d.attr("max_depth", 2, 1, 3)


@draws("match_matrix_tensor")
def match_matrix_tensor(d: OpDraw) -> None:
    d.float = "float32"
    left, rows = d.lod(empty=False)
    right, columns = d.lod(empty=False, sequences=len(left[0]))
    width, depth = d.size(1, 3), d.size(1, 3)
    d.put("X", d.floats([rows, width]), lod=left)
    d.put("Y", d.floats([columns, width]), lod=right)
    d.put("W", d.floats([width, depth, width]), fixed=True)
    d.attrs["dim_t"] = depth
    d.unread.add("Tmp")


@draws("var_conv_2d")
def var_conv_2d(d: OpDraw) -> None:
    d.float = "float32"
    sequences, channels, out = d.size(1, 2), d.size(1, 2), d.size(1, 3)
    rows, row_count = d.lod(sequences=sequences)
    columns, column_count = d.lod(empty=False, sequences=sequences)
    lengths = [channels * high * wide for high, wide in zip(rows[0], columns[0])]
    kernel = [d.pick(1, 2, 3), d.pick(1, 2, 3)]
    d.put("X", d.floats([sum(lengths), 1]), lod=[lengths])
    d.put("ROW", d.floats([row_count, 1]), lod=rows)
    d.put("COLUMN", d.floats([column_count, 1]), lod=columns)
    d.put("W", d.floats([out, channels * kernel[0] * kernel[1]]), fixed=True)
    d.attrs.update(InputChannel=channels, OutputChannel=out, KernelH=kernel[0], KernelW=kernel[1])
    d.attr("StrideH", 1, 2, always=True)
    d.attr("StrideW", 1, 2, always=True)
    d.no_grad("ROW", "COLUMN")
    d.unread.add("Col")


@draws("sequence_topk_avg_pooling")
def sequence_topk_avg_pooling(d: OpDraw) -> None:
    d.float = "float32"
    sequences, channels = d.size(1, 2), d.size(1, 2)
    rows, row_count = d.lod(empty=False, sequences=sequences)
    columns, column_count = d.lod(empty=False, sequences=sequences)
    lengths = [channels * high * wide for high, wide in zip(rows[0], columns[0])]
    d.put("X", d.apart([sum(lengths), 1]), lod=[lengths])
    d.put("ROW", d.floats([row_count, 1]), lod=rows)
    d.put("COLUMN", d.floats([column_count, 1]), lod=columns)
    d.attrs.update(topks=d.pick([1], [1, 3], [2, 3, 5]), channel_num=channels)
    d.no_grad("ROW", "COLUMN")


@draws("sample_logits")
def sample_logits(d: OpDraw) -> None:
    rows, classes, true, samples = d.size(), d.size(6, 9), d.size(1, 2), d.size(1, 3)
    d.put("Logits", d.floats([rows, classes]))
    d.put("Labels", d.ids([rows, true], classes))
    drawn = np.concatenate([np.zeros([rows, true]), d.ids([rows, samples], classes)], 1).astype("int64")
    drawn[:, :true] = np.array(d.inputs["in_Labels"]["values"][0]["data"]).reshape(rows, true)
    d.put("CustomizedSamples", drawn)
    d.put("CustomizedProbabilities", d.floats(list(drawn.shape), 0.05, 0.9))
    d.no_grad("CustomizedSamples", "CustomizedProbabilities")
    d.attrs.update(use_customized_samples=True, num_samples=samples)
    d.attr("uniq", True, False)
    d.attr("remove_accidental_hits", True, False)
    d.out_dtypes.update(Samples="int64", SampledLabels="int64")
    d.same(Samples="CustomizedSamples", Probabilities="CustomizedProbabilities")
    d.unfetched("LogitsDim", "LabelsDim")


def _bloom_filter(d: OpDraw) -> Any:
    """Draw a filter as the op reads it: magic, bits, hashes, entries; then bits, here those of arbitrary floats."""
    bits = d.floats([d.size(2, 6), 1], -3e4, 3e4).astype("<f4")
    header = np.array([17070416, 32 * len(bits) - d.size(0, 7), d.size(1, 2), 5], "<u8").view("<f4").reshape(-1, 1)
    return np.concatenate([header, bits])


@draws("pyramid_hash", grad=False)
def pyramid_hash(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False, most=6)
    space, rand, emb = 100, d.pick(4, 8, 16), 16
    d.put("X", d.ids([rows, 1], 50, dtype="int32"), lod=lod)
    d.put("W", d.floats([space + rand, 1]), fixed=True)
    for slot, length in (("WhiteList", "white_list_len"), ("BlackList", "black_list_len")):
        words = _bloom_filter(d) if d.chance() else np.zeros([1, 1], "float32")
        d.put(slot, words, fixed=True)
        d.attrs[length] = len(words) if len(words) > 1 else 0
    d.attrs.update(num_emb=emb, space_len=space, pyramid_layer=d.pick(2, 3, 4), rand_len=rand, seed=d.size(1, 50))
    d.attrs.update(use_filter=d.chance(0.8), drop_out_percent=0.0, is_training=d.pick(0, 1), lr=0.002)
    d.attrs["drop_out_percent"] = d.pick(0.0, 0.25, 0.5)
    d.out_dtypes["DropPos"] = "int32"
    d.unfetched("DropPos")  # behind the last run it is as it was in memory


@draws("dpsgd", grad=False)
def dpsgd(d: OpDraw) -> None:
    d.float = "float32"
    shape = d.shape(1, 2)
    d.put("Param", d.floats(shape), fixed=True)
    d.put("Grad", d.floats(shape), fixed=True)
    d.put("LearningRate", d.floats([1], 0.01, 0.5), fixed=True)
    d.attr("clip", 10.0, 0.5, 2.0)
    d.attr("batch_size", 16.0, 4.0)
    d.attr("sigma", 1.0, 0.0, 2.5, always=True)
    d.attrs["seed"] = d.size(1, 50)
    d.same(ParamOut="Param")
