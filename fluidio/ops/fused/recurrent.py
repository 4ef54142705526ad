"""LSTM and GRU fused with the preceding product: fusion_lstm, fusion_gru, fused_embedding_fc_lstm. Inference only."""

from __future__ import annotations

from typing import Any

from fluidio.ops.compiled.products import product
from fluidio.ops.fused.dense import activated
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.shape.gather import check_index
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_LSTM: dict[str, Any] = {
    "use_peepholes": True,
    "is_reverse": False,
    "use_seq": True,
    "gate_activation": "sigmoid",
    "cell_activation": "tanh",
    "candidate_activation": "tanh",
}
_GRU: dict[str, Any] = {
    "activation": "tanh",
    "gate_activation": "sigmoid",
    "is_reverse": False,
    "use_seq": True,
    "origin_mode": False,
}


def _sequences(k: Call, slot: str) -> list[range]:
    """Return the rows of each sequence in reading order."""
    ends = k.lod(slot)[-1]
    found = [range(int(ends[n]), int(ends[n + 1])) for n in range(len(ends) - 1)]
    return [rows[::-1] for rows in found] if k.attrs["is_reverse"] else found


def _lstm(
    k: Call, slot: str, gates: Array, weight: Array, bias: Array, h0: Array | None, c0: Array | None
) -> tuple[Array, Array]:
    """Return hidden states and cells; `gates` are the inputs' shares of candidate, input, forget and output."""
    xp, a, size = k.xp, k.attrs, weight.shape[0]
    c0 = None if h0 is None else c0  # Fluid reads them together
    hidden, cells = xp.empty((gates.shape[0], size), gates.dtype), xp.empty((gates.shape[0], size), gates.dtype)
    peep = bias.reshape(-1)[4 * size :].reshape(3, size) if a["use_peepholes"] else xp.zeros((3, size), gates.dtype)
    for n, rows in enumerate(_sequences(k, slot)):
        h = xp.zeros(size, gates.dtype) if h0 is None else h0[n]
        c = xp.zeros(size, gates.dtype) if c0 is None else c0[n]
        for row in rows:
            new, i, f, o = (gates[row] + h @ weight).reshape(4, size)
            i = activated(xp, i + c * peep[0], a["gate_activation"])
            f = activated(xp, f + c * peep[1], a["gate_activation"])
            c = f * c + i * activated(xp, new, a["candidate_activation"])
            o = activated(xp, o + c * peep[2], a["gate_activation"])
            h = o * activated(xp, c, a["cell_activation"])
            hidden[row], cells[row] = h, c
    lod = k.lod(slot)
    k.out_lods["Hidden"] = k.out_lods["Cell"] = k.out_lods["XX"] = lod
    return hidden, cells


def _infer_lstm(slot: str) -> Any:
    def infer(c: InferContext) -> None:
        rows, size = c.shape(slot)[0], c.shape("WeightH")[0]
        for out in ("Hidden", "Cell"):
            c.set(out, (rows, size), c.dtype("WeightH"), c.input(slot).lod_level)
        _infer_held(c, slot, 4 * size)
        for out in ("BatchedHidden", "BatchedCell") if not c.attrs["use_seq"] else ():
            c.set(out, (rows, size), c.dtype("WeightH"))
        if c.attrs["use_peepholes"]:
            c.set("CheckedCell", (2, size), c.dtype("WeightH"))

    return infer


def _infer_held(c: InferContext, slot: str, width: int) -> None:
    """Describe the inputs' shares; Fluid computes the product before or after sorting the rows by steps."""
    rows, dtype = c.shape(slot)[0], c.dtype("WeightH")
    narrow = width if c.attrs["use_seq"] or slot == "Ids" else min(c.shape(slot)[1], width)
    c.set("XX", (rows, narrow), dtype, c.input(slot).lod_level)
    if not c.attrs["use_seq"]:
        c.set("BatchedInput", (rows, width), dtype)


_HELD = "XX? BatchedInput? BatchedHidden? BatchedCell? ReorderedH0? ReorderedC0?"


@op(
    "fusion_lstm",
    "X WeightX WeightH Bias H0? C0?",
    f"Hidden Cell {_HELD} CheckedCell?",
    _LSTM,
    infer=_infer_lstm("X"),
    grad=False,
    lod="kernel",
)
def fusion_lstm(k: Call, x: Any, weight_x: Any, weight: Any, bias: Any, h0: Any, c0: Any) -> Any:
    """Hidden, Cell = an LSTM over X @ WeightX + Bias."""
    gates = product(x, weight_x) + bias.reshape(-1)[: weight.shape[1]]
    return (*_lstm(k, "X", gates, weight, bias, h0, c0), gates, *(None,) * 6)


@op(
    "fused_embedding_fc_lstm",
    "Ids Embeddings WeightH Bias H0? C0?",
    f"Hidden Cell {_HELD}",
    _LSTM,
    infer=_infer_lstm("Ids"),
    grad=False,
    lod="kernel",
)
def fused_embedding_fc_lstm(k: Call, ids: Any, table: Any, weight: Any, bias: Any, h0: Any, c0: Any) -> Any:
    """Hidden, Cell = an LSTM over the rows of Embeddings, which already include product and bias."""
    rows = ids.reshape(-1)
    check_index(k, rows, table.shape[0], "id")
    gates = table.take(rows, axis=0)
    return (*_lstm(k, "Ids", gates, weight, bias, h0, c0), gates, *(None,) * 5)


def _infer_gru(c: InferContext) -> None:
    rows, size = c.shape("X")[0], c.shape("WeightH")[0]
    c.set("Hidden", (rows, size), c.dtype("X"), c.input("X").lod_level)
    _infer_held(c, "X", 3 * size)
    if not c.attrs["use_seq"]:
        c.set("BatchedOut", (rows, size), c.dtype("X"))


@op(
    "fusion_gru",
    "X H0? WeightX WeightH Bias?",
    "ReorderedH0? XX? BatchedInput? BatchedOut? Hidden",
    _GRU,
    infer=_infer_gru,
    grad=False,
    lod="kernel",
)
def fusion_gru(
    k: Call, x: Array, h0: Array | None, weight_x: Array, weight: Array, bias: Array | None
) -> tuple[Array | None, ...]:
    """Hidden = a GRU over X @ WeightX + Bias."""
    xp, a, size = k.xp, k.attrs, weight.shape[0]
    gates = product(x, weight_x)
    if bias is not None:
        gates += bias.reshape(-1)
    # The weight is two consecutive matrices: update and reset, then the candidate.
    flat = weight.reshape(-1)
    both, last = flat[: 2 * size * size].reshape(size, 2 * size), flat[2 * size * size :].reshape(size, size)
    hidden = xp.empty((x.shape[0], size), gates.dtype)
    for n, rows in enumerate(_sequences(k, "X")):
        h = xp.zeros(size, gates.dtype) if h0 is None else h0[n]
        for row in rows:
            update, reset = activated(xp, gates[row, : 2 * size] + h @ both, a["gate_activation"]).reshape(2, size)
            new = activated(xp, gates[row, 2 * size :] + (reset * h) @ last, a["activation"])
            # Fluid: origin_mode has no effect here.
            h = (1 - update) * h + update * new
            hidden[row] = h
    k.out_lods["Hidden"] = k.out_lods["XX"] = k.lod("X")
    return None, gates, None, None, hidden
