"""Ops that saved models and servers hold."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws

__all__: list[str] = []


@draws("attention_lstm", grad=False)
def attention_lstm(d: OpDraw) -> None:
    d.float = "float32"
    lod, rows = d.lod(empty=False)
    width, size, count = d.size(1, 4), d.size(1, 4), len(lod[0])
    d.put("X", d.floats([rows, width]), lod=lod)
    d.put("C0", d.floats([count, size]), fixed=True)
    if d.chance():
        d.put("H0", d.floats([count, size]), fixed=True)
    d.put("AttentionWeight", d.floats([width + size, 1]), fixed=True)
    if d.chance():
        d.put("AttentionBias", d.floats([1, 1]), fixed=True)
    if d.chance():
        d.put("AttentionScalar", d.floats([1, 1]), fixed=True)
        if d.chance():
            d.put("AttentionScalarBias", d.floats([1, 1]), fixed=True)
    d.put("LSTMWeight", d.floats([width + size, 4 * size]), fixed=True)
    d.put("LSTMBias", d.floats([1, 4 * size]), fixed=True)
    d.attr("gate_activation", "sigmoid", "tanh")
    d.attr("cell_activation", "tanh", "relu", "sigmoid", "identity")
    d.attr("candidate_activation", "tanh", "sigmoid", "relu", "identity")
    d.unfetched("AttentionFCOut", "LSTMX", "LSTMOUT")  # memory that the last step used


@draws("lookup_table_dequant", grad=False)
def lookup_table_dequant(d: OpDraw) -> None:
    d.float = "float32"
    rows, width = d.size(2, 5), d.size(1, 3)
    low = d.floats([rows, 1])
    packed = d.numpy.randint(1, 100, [rows, width * 4]).astype(np.uint8)
    numbers = np.ascontiguousarray(packed).view(np.float32)  # small positive ones: the highest byte is below 100
    d.put("W", np.concatenate([low, low + 1, numbers], 1).astype("float32"), fixed=True)
    d.put("Ids", d.ids([d.size(1, 4), 1], rows))


@draws("split_ids", grad=False)
def split_ids(d: OpDraw) -> None:
    d.put("Ids", *[d.ids([d.size(1, 5), 1], 12) for _ in range(d.size(1, 2))], fixed=True)
    d.out("Out", d.size(1, 3))


@draws("ref_by_trainer_id", grad=False)
def ref_by_trainer_id(d: OpDraw) -> None:
    count = d.size(1, 3)
    d.put("X", *[d.floats([2, 3]) for _ in range(count)], fixed=True)
    d.put("TrainerId", d.ids([1], count), fixed=True)


@draws("dgc_clip_by_norm", grad=False)
def dgc_clip_by_norm(d: OpDraw) -> None:
    d.float = "float32"
    d.put("X", d.floats(d.shape(1, 3)), fixed=True)
    d.put("current_step", np.array([5.0], "float32"), fixed=True)
    d.attr("rampup_begin_step", 0.0, 3.0, always=True)
    d.attr("max_norm", 1.0, 0.5, 4.0, always=True)


@draws("coalesce_tensor", grad=False)
def coalesce_tensor(d: OpDraw) -> None:
    count = d.size(1, 3)
    d.put("Input", *[d.floats(d.shape(1, 2)) for _ in range(count)], fixed=True)
    d.attrs["dtype"] = 6 if d.float == "float64" else 5
    if d.chance():
        d.attr("copy_data", True, always=True)
    else:
        d.attrs.update(set_constant=True, constant=d.pick(0.5, -1.0))
    d.out("Output", count)
    if d.attr("check_name", False, False, True):
        d.same(Output="Input")
    d.unfetched("FusedOutput")  # between the pieces it is as it was in memory


@draws("equal_reduce", grad=False)
def equal_reduce(d: OpDraw) -> None:
    x = d.ids([2, 2], 2).astype(d.float)
    d.put("X", x, fixed=True)
    d.put("Y", x if d.chance() else d.ids([2, 2], 2).astype(d.float), fixed=True)
    d.out_dtypes["Out"] = "bool"
