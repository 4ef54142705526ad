"""An LSTM with attention over its whole sequence at every step, weighted by the cell; one op in saved models."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import last_level
from fluidio.ops.sequence.time_major import recurrent_activation
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    rows, width = c.shape("X")
    size = c.shape("LSTMWeight")[1] // 4
    x = c.input("X")
    c.check(c.shape("LSTMWeight")[0] == size + width, f"LSTMWeight must have {size + width} rows")
    for slot in ("Hidden", "Cell"):
        c.set(slot, (rows, size), x.dtype, x.lod_level)
    c.set("AttentionedX", (rows, 1), x.dtype, 0)
    c.set("AttentionFCOut", None, x.dtype, 0)
    c.set("LSTMX", (1, width), x.dtype, 0)
    c.set("LSTMOUT", (1, 4 * size), x.dtype, 0)


@op(
    "attention_lstm",
    "X C0 H0? AttentionWeight AttentionBias? AttentionScalar? AttentionScalarBias? LSTMWeight LSTMBias",
    "Hidden Cell AttentionedX AttentionFCOut LSTMX LSTMOUT",
    {"gate_activation": "sigmoid", "cell_activation": "tanh", "candidate_activation": "tanh"},
    infer=_infer,
    grad=False,
    lod="kernel",
)
def attention_lstm(
    k: Call,
    x: Array,
    c0: Array,
    h0: Array | None,
    weight: Array,
    bias: Array | None,
    scalar: Array,
    scalar_bias: Array,
    lstm_weight: Array,
    lstm_bias: Array,
) -> tuple[Array, ...]:
    """Hidden, Cell = an LSTM whose input is the mean of its sequence, weighted by row and cell."""
    xp, width, size = k.xp, x.shape[1], lstm_weight.shape[1] // 4
    k.out_lods["Hidden"] = k.out_lods["Cell"] = k.lod("X")
    gate, candidate, cell_of = (
        recurrent_activation(k.attrs[f"{name}_activation"]) for name in ("gate", "candidate", "cell")
    )
    is_shown = k.attrs["cell_activation"] != "identity"
    seen = x @ weight[:width] + (0 if bias is None else bias.reshape(()))
    hidden, cells = xp.empty((x.shape[0], size), x.dtype), xp.empty((x.shape[0], size), x.dtype)
    longest = 0
    scores: Any = seen[:0]
    mixed, gates = xp.zeros((1, width), x.dtype), xp.zeros((1, 4 * size), x.dtype)
    offsets = last_level(k, "X", x.shape[0]).tolist()
    for number, (start, stop) in enumerate(pairwise(offsets)):
        cell = c0[number : number + 1]
        state = None if h0 is None else h0[number : number + 1]
        longest = max(longest, stop - start)
        for row in range(start, stop):
            scores = _scores(xp, seen[start:stop] + cell @ weight[width:], scalar, scalar_bias)
            mixed = scores.T @ x[start:stop]
            gates = mixed @ lstm_weight[size:] + lstm_bias.reshape(1, -1)
            if state is not None:
                gates = gates + state @ lstm_weight[:size]
            gate.apply(xp, gates[:, : 3 * size])
            candidate.apply(xp, gates[:, 3 * size :])
            forget, take, out, new = (gates[:, i * size : (i + 1) * size] for i in range(4))
            kept_cell = forget * cell
            cell = kept_cell + take * new
            if is_shown:
                shown = cell.copy()
                cell_of.apply(xp, shown)
            else:  # Fluid: "identity" copies nothing, so the previous cell's share is left there
                shown = kept_cell
            state = shown * out
            cells[row], hidden[row] = cell[0], state[0]
    kept = xp.zeros((longest, 1), x.dtype)
    kept[: scores.shape[0]] = scores
    return hidden, cells, seen, kept, mixed, gates


def _scores(xp: ArrayLibrary | ModuleType, raw: Array, scalar: Array | None, scalar_bias: Array | None) -> Array:
    """Return the weights of a sequence's rows: a softmax of their positive parts, optionally scaled."""
    raw = xp.maximum(raw, 0)
    if scalar is not None:
        raw = raw * scalar.reshape(()) + (0 if scalar_bias is None else scalar_bias.reshape(()))
        raw = xp.maximum(raw, 0)
    powers = xp.exp(raw - raw.max())
    return (powers / powers.sum()).astype(np.dtype(raw.dtype), copy=False)
