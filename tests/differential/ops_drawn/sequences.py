"""Ops on sequences (LoD), recurrent ops, CRF and CTC."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.draw import OpDraw, draws

_ACTIVATIONS = ("sigmoid", "tanh", "relu", "identity")


@draws("sequence_pool")
def sequence_pool(d: OpDraw) -> None:
    lod, rows = d.lod(d.pick(1, 1, 2))
    d.put("X", d.apart([rows, *d.shape(1, 2)]), lod=lod)
    d.attrs["pooltype"] = d.pick("AVERAGE", "SUM", "SQRT", "MAX", "LAST", "FIRST")
    if d.attrs["pooltype"] != "MAX":
        d.unfetched("MaxIndex")
    d.real("pad_value", 0.0, -1, 1)


@draws("sequence_softmax")
def sequence_softmax(d: OpDraw) -> None:
    lod, rows = d.lod(d.pick(1, 1, 2), empty=False)
    d.put("X", d.floats(d.pick([rows], [rows, 1])), lod=lod)


@draws("sequence_conv")
def sequence_conv(d: OpDraw) -> None:
    lod, rows = d.lod()
    width, length = d.size(1, 3), d.size(1, 4)
    d.put("X", d.floats([rows, width]), lod=lod)
    d.put("Filter", d.floats([length * width, d.size(1, 3)]), fixed=True)
    start = d.attr("contextStart", 0, -1, -2, -3, always=True)
    d.attrs.update(contextLength=length, contextStride=1)
    up, down = max(0, -start), max(0, start + length - 1)
    if d.chance(0.25) and up + down:
        d.attrs["paddingTrainable"] = True
        d.put("PaddingData", d.floats([up + down, width]), fixed=True)


@draws("sequence_concat")
def sequence_concat(d: OpDraw) -> None:
    count, width = d.size(1, 3), d.shape(1, 2)
    for _ in range(d.size(2, 3)):
        lod, rows = d.lod(sequences=count)
        d.put("X", d.floats([rows, *width]), lod=lod)


@draws("sequence_expand")
def sequence_expand(d: OpDraw) -> None:
    levels = d.size(1, 2)
    lod, rows = d.lod(levels)
    level = d.attr("ref_level", -1, *range(levels))
    count = len(lod[level])
    if d.chance(0.5):
        own, own_rows = d.lod(sequences=count)
        d.put("X", d.floats([own_rows, d.size()]), lod=own)
    else:
        d.put("X", d.floats([count, d.size()]))
    d.put("Y", d.floats([rows, 1]), lod=lod)
    d.no_grad("Y")


@draws("sequence_expand_as")
def sequence_expand_as(d: OpDraw) -> None:
    lod, rows = d.lod()
    d.put("X", d.floats([len(lod[0]), d.size()]))
    d.put("Y", d.floats([rows, 1]), lod=lod)
    d.no_grad("Y")


@draws("sequence_reverse")
def sequence_reverse(d: OpDraw) -> None:
    lod, rows = d.lod()
    d.put("X", d.floats([rows, *d.shape(1, 2)]), lod=lod)


@draws("sequence_reshape")
def sequence_reshape(d: OpDraw) -> None:
    lod, rows = d.lod()
    width = d.pick(1, 2, 4)
    d.put("X", d.floats([rows, width * 2]), lod=lod)
    d.attrs["new_dim"] = d.pick(1, 2, width, width * 2)


@draws("sequence_slice")
def sequence_slice(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    offsets = [d.rng.randrange(size) for size in lod[0]]
    lengths = [d.rng.randint(1, size - at) for size, at in zip(lod[0], offsets)]
    dtype = d.pick("int32", "int64")
    d.put("X", d.floats([rows, *d.shape(1, 2)]), lod=lod)
    d.put("Offset", np.array(offsets, dtype)[:, None])
    d.put("Length", np.array(lengths, dtype)[:, None])


@draws("sequence_pad")
def sequence_pad(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    d.put("X", d.floats([rows, *d.shape(1, 2)]), lod=lod)
    width = list(d.inputs["in_X"]["values"][0]["shape"][1:])
    d.put("PadValue", d.floats(d.pick([1], width)), fixed=True)
    d.attr("padded_length", -1, max(lod[0]), max(lod[0]) + 2)
    d.no_grad("PadValue")


@draws("sequence_unpad")
def sequence_unpad(d: OpDraw) -> None:
    n, longest = d.size(), d.size()
    d.put("X", d.floats([n, longest, *d.shape(0, 2)]))
    d.put("Length", d.ids([n], longest + 1, 1))


@draws("sequence_scatter")
def sequence_scatter(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    width = d.size(2, 5)
    d.put("X", d.floats([len(lod[0]), width]))
    d.put("Ids", d.ids([rows, 1], width, dtype=d.pick("int64", "int32")), lod=lod)
    d.put("Updates", d.floats([rows, 1]), lod=lod)


@draws("sequence_enumerate", grad=False)
def sequence_enumerate(d: OpDraw) -> None:
    lod, rows = d.lod()
    d.put("X", d.ids([rows, 1], 9, dtype=d.pick("int32", "int64")), lod=lod)
    d.attrs["win_size"] = d.size(1, 4)
    d.attr("pad_value", 0, 7)


@draws("sequence_erase", grad=False)
def sequence_erase(d: OpDraw) -> None:
    lod, rows = d.lod()
    d.put("X", d.ids([rows, 1], 5, dtype=d.pick("int32", "int64")), lod=lod)
    d.attrs["tokens"] = d.rng.sample(range(5), d.size(0, 3))


@draws("sequence_mask", grad=False)
def sequence_mask(d: OpDraw) -> None:
    x = d.ids(d.shape(1, 2), 6, 0, d.pick("int32", "int64"))
    d.put("X", x)
    d.attr("maxlen", -1, max(1, int(x.max())), int(x.max()) + 2)
    d.attrs["out_dtype"] = d.pick(0, 2, 3, 5, 6)
    if d.chance(0.2):
        d.put("MaxLenTensor", np.array([int(x.max()) + 1], "int32"), fixed=True)


@draws("lstm")
def lstm(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    width = d.pick(1, 2, 3, 8)
    d.put("Input", d.floats([rows, 4 * width], -1, 1), lod=lod)
    d.put("Weight", d.floats([width, 4 * width], -1, 1), fixed=True)
    peep = d.attr("use_peepholes", True, False)
    d.put("Bias", d.floats([1, (7 if peep else 4) * width], -1, 1), fixed=True)
    if d.chance(0.4):
        d.put("H0", d.floats([len(lod[0]), width], -1, 1))
        d.put("C0", d.floats([len(lod[0]), width], -1, 1))
    d.attr("is_reverse", False, True)
    for name, default in (
        ("gate_activation", "sigmoid"),
        ("cell_activation", "tanh"),
        ("candidate_activation", "tanh"),
    ):
        d.attr(name, default, default, *_ACTIVATIONS)


@draws("lstmp")
def lstmp(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    width, projected = d.pick(1, 2, 3, 8), d.pick(1, 2, 4)
    d.put("Input", d.floats([rows, 4 * width], -1, 1), lod=lod)
    d.put("Weight", d.floats([projected, 4 * width], -1, 1), fixed=True)
    d.put("ProjWeight", d.floats([width, projected], -1, 1), fixed=True)
    peep = d.attr("use_peepholes", True, False)
    d.put("Bias", d.floats([1, (7 if peep else 4) * width], -1, 1), fixed=True)
    if d.chance(0.3):
        d.put("H0", d.floats([len(lod[0]), projected], -1, 1))
        d.put("C0", d.floats([len(lod[0]), width], -1, 1))
    d.attr("is_reverse", False, True)
    for name, default in (
        ("gate_activation", "sigmoid"),
        ("cell_activation", "tanh"),
        ("candidate_activation", "tanh"),
        ("proj_activation", "tanh"),
    ):
        d.attr(name, default, default, *_ACTIVATIONS)
    if d.chance(0.3):
        d.attrs["cell_clip"] = d.pick(0.1, 0.5)
    if d.chance(0.3):
        d.attrs["proj_clip"] = d.pick(0.1, 0.5)


@draws("gru")
def gru(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    width = d.pick(1, 2, 3, 8)
    d.put("Input", d.floats([rows, 3 * width], -1, 1), lod=lod)
    d.put("Weight", d.floats([width, 3 * width], -1, 1), fixed=True)
    if d.chance():
        d.put("Bias", d.floats([1, 3 * width], -1, 1), fixed=True)
    if d.chance(0.4):
        d.put("H0", d.floats([len(lod[0]), width], -1, 1))
    d.attr("is_reverse", False, True)
    d.attr("origin_mode", False, True)
    for name, default in (("gate_activation", "sigmoid"), ("activation", "tanh")):
        d.attr(name, default, default, *_ACTIVATIONS)


@draws("gru_unit")
def gru_unit(d: OpDraw) -> None:
    n, width = d.size(), d.size()
    d.put("Input", d.floats([n, 3 * width], -1, 1))
    d.put("HiddenPrev", d.floats([n, width], -1, 1))
    d.put("Weight", d.floats([width, 3 * width], -1, 1), fixed=True)
    if d.chance():
        d.put("Bias", d.floats([1, 3 * width], -1, 1), fixed=True)
    d.attr("origin_mode", False, True)
    d.attr("gate_activation", 1, 1, 0, 2, 3)
    d.attr("activation", 2, 2, 0, 1, 3)


@draws("lstm_unit")
def lstm_unit(d: OpDraw) -> None:
    n, width = d.size(), d.size()
    d.put("X", d.floats([n, 4 * width]))
    d.put("C_prev", d.floats([n, width]))
    d.real("forget_bias", 0.0, -1, 1)


@draws("linear_chain_crf")
def linear_chain_crf(d: OpDraw) -> None:
    tags = d.size(2, 4)
    if d.chance(0.3):
        n, longest = d.size(1, 3), d.size(1, 4)
        d.put("Emission", d.floats([n, longest, tags]))
        d.put("Label", d.ids([n, longest], tags))
        d.put("Length", d.ids([n, 1], longest + 1, 1))
    else:
        lod, rows = d.lod()
        d.put("Emission", d.floats([rows, tags]), lod=lod)
        d.put("Label", d.ids([rows, 1], tags), lod=lod)
    d.put("Transition", d.floats([tags + 2, tags]), fixed=True)


@draws("crf_decoding", grad=False)
def crf_decoding(d: OpDraw) -> None:
    tags = d.size(1, 4)
    labelled = d.chance()
    if d.chance(0.3):
        n, longest = d.size(1, 3), d.size(1, 4)
        d.put("Emission", d.floats([n, longest, tags]))
        d.put("Length", d.ids([n, 1], longest + 1, 1))
        if labelled:
            d.put("Label", d.ids([n, longest], tags))
    else:
        lod, rows = d.lod()
        d.put("Emission", d.floats([rows, tags]), lod=lod)
        if labelled:
            d.put("Label", d.ids([rows, 1], tags), lod=lod)
    d.put("Transition", d.floats([tags + 2, tags]), fixed=True)
    d.out_dtypes["ViterbiPath"] = "int64"


@draws("warpctc")
def warpctc(d: OpDraw) -> None:
    d.float = "float32"
    classes, n = d.size(2, 5), d.size(1, 3)
    blank = d.attr("blank", 0, classes - 1)
    d.attr("norm_by_times", False, True)
    labels = [value for value in range(classes) if value != blank]
    if d.chance(0.6):
        lod = [[d.size(3, 6) for _ in range(n)]]
        label_lod = [[d.size(1, 2) for _ in range(n)]]
        d.put("Logits", d.floats([sum(lod[0]), classes]), lod=lod)
        d.put("Label", d.numpy.choice(labels, [sum(label_lod[0]), 1]).astype("int32"), lod=label_lod)
    else:
        longest = d.size(4, 6)
        d.put("Logits", d.floats([longest, n, classes]))
        d.put("Label", d.numpy.choice(labels, [n, 2]).astype("int32"))
        d.put("LogitsLength", d.ids([n], longest + 1, 4))
        d.put("LabelLength", d.ids([n], 3, 1))


@draws("ctc_align", grad=False)
def ctc_align(d: OpDraw) -> None:
    dtype = d.pick("int32", "int64")
    if d.chance(0.5):
        lod, rows = d.lod()
        d.put("Input", d.ids([rows, 1], 4, dtype=dtype), lod=lod)
    else:
        n, longest = d.size(1, 3), d.size(1, 5)
        d.put("Input", d.ids([n, longest], 4, dtype=dtype))
        d.put("InputLength", d.ids([n, 1], longest + 1, 1, dtype))
        d.out("OutputLength")
        d.attr("padding_value", 0, 9)
    d.attr("blank", 0, 1, 3)
    d.attr("merge_repeated", True, False)


@draws("edit_distance", grad=False)
def edit_distance(d: OpDraw) -> None:
    n = d.size(1, 3)
    if d.chance(0.5):
        for slot in ("Hyps", "Refs"):
            lod, rows = d.lod(sequences=n, empty=slot == "Hyps")
            d.put(slot, d.ids([rows, 1], 4), lod=lod)
    else:
        for slot in ("Hyps", "Refs"):
            longest = d.size(1, 5)
            d.put(slot, d.ids([n, longest], 4))
            d.put(slot + "Length", d.ids([n], longest + 1, 1))
    d.attr("normalized", False, True)
    d.out_dtypes.update(SequenceNum="int64", Out="float32")


@draws("chunk_eval", grad=False)
def chunk_eval(d: OpDraw) -> None:
    kinds = d.size(1, 3)
    scheme = d.attr("chunk_scheme", "IOB", "IOE", "IOBES", "plain")
    tags = {"IOB": 2, "IOE": 2, "IOBES": 4, "plain": 1}[scheme] * kinds + 1
    d.attrs["num_chunk_types"] = kinds
    d.attr("excluded_chunk_types", [], [0])
    if d.chance(0.7):
        lod, rows = d.lod(most=6)
        d.put("Inference", d.ids([rows, 1], tags), lod=lod)
        d.put("Label", d.ids([rows, 1], tags), lod=lod)
    else:
        n, longest = d.size(1, 3), d.size(1, 5)
        d.put("Inference", d.ids([n, longest], tags))
        d.put("Label", d.ids([n, longest], tags))
        d.put("SeqLength", d.ids([n, 1], longest + 1, 1))


@draws("gather_tree", grad=False)
def gather_tree(d: OpDraw) -> None:
    shape = [d.size(1, 4), d.size(1, 3), d.size(1, 3)]
    dtype = d.pick("int32", "int64")
    d.put("Ids", d.ids(shape, 9, dtype=dtype))
    d.put("Parents", d.ids(shape, shape[2], dtype=dtype))


def _quarters(d: OpDraw, shape: list[int]) -> Any:
    return (d.ids(shape, 4) * 0.25 + 0.25).astype("float32")


@draws("beam_search", grad=False)
def beam_search(d: OpDraw) -> None:
    d.float = "float32"
    sources, beam, choices = d.size(1, 2), d.size(1, 3), d.size(2, 4)
    lengths = [d.size(1, beam) for _ in range(sources)]
    rows = sum(lengths)
    lod = [lengths, [1] * rows]
    end = d.size(0, 3)
    d.put("pre_ids", d.ids([rows, 1], 5), lod=lod)
    ties = d.chance(0.4)  # several candidates have the same score
    d.put("pre_scores", _quarters(d, [rows, 1]) if ties else d.floats([rows, 1]), lod=lod)
    d.put("ids", d.ids([rows, choices], 5), lod=lod)
    d.put("scores", _quarters(d, [rows, choices]) if ties else d.apart([rows, choices], 0.05, 0.95), lod=lod)
    d.attrs.update(level=0, beam_size=beam, end_id=end)
    d.attr("is_accumulated", True, False)
    d.out("parent_idx")
    d.out_dtypes["parent_idx"] = "int32"
    d.out_dtypes["selected_ids"] = "int64"
