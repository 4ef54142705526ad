"""GRU over sequences and single steps of recurrent cells.

Gates stand as update, reset, candidate. The weight [H, 3H] is one buffer: first [H, 2H] for update and reset, then
[H, H] for the candidate.
"""

from __future__ import annotations

from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.ragged import last_level
from fluidio.ops.registry import gradient, op
from fluidio.ops.time_major import Activation, TimeMajor, activation
from fluidio.program.infer import InferContext

__all__: list[str] = []


def _infer_gru(c: InferContext) -> None:
    x, weight = c.input("Input"), c.shape("Weight")
    size = weight[0]
    c.check(x.shape[-1] == 3 * size, f"Input has {x.shape[-1]} columns, the weight {list(weight)} needs {3 * size}")
    for slot, width in (("BatchGate", 3), ("BatchResetHiddenPrev", 1), ("BatchHidden", 1), ("Hidden", 1)):
        c.set(slot, (x.shape[0], width * size), x.dtype, x.lod_level if slot == "Hidden" else 0)


def split_weight(weight: Any) -> tuple[Any, Any]:
    """Return the [H, 2H] and the [H, H] part of a GRU weight, as views."""
    size = weight.shape[0]
    flat = weight.reshape(-1)
    return flat[: 2 * size * size].reshape(size, 2 * size), flat[2 * size * size :].reshape(size, size)


class _Step:
    """One GRU step on a batch of rows; gates are updated in place."""

    def __init__(self, k: Call, weight: Any, gate: Activation, candidate: Activation) -> None:
        self.k, self.xp = k, k.xp
        self.size = weight.shape[0]
        self.gates_weight, self.state_weight = split_weight(weight)
        self.gate, self.candidate = gate, candidate
        self.origin = k.attrs["origin_mode"]

    def forward(self, g: Any, old: Any, reset_out: Any, out: Any) -> None:
        xp, size = self.xp, self.size
        both = g[:, : 2 * size]
        both += old @ self.gates_weight
        both[...] = self.gate.apply(xp, both)
        u, r, c = g[:, :size], g[:, size : 2 * size], g[:, 2 * size :]
        xp.multiply(r, old, out=reset_out)
        c += reset_out @ self.state_weight
        c[...] = self.candidate.apply(xp, c)
        # h = (1 - u) old + u c, or with origin_mode h = u old + (1 - u) c
        xp.subtract(*((old, c) if self.origin else (c, old)), out=out)
        out *= u
        out += c if self.origin else old

    def backward(self, g: Any, old: Any, dh: Any, dg: Any) -> Any:
        """Fill dg with the gradient of the pre-activations and return that of the old state."""
        xp, size = self.xp, self.size
        u, r, c = g[:, :size], g[:, size : 2 * size], g[:, 2 * size :]
        difference = old - c if self.origin else c - old
        xp.multiply(dh * difference, self.gate.slope(u), out=dg[:, :size])
        keep = u if self.origin else 1 - u
        xp.multiply(dh * (1 - keep), self.candidate.slope(c), out=dg[:, 2 * size :])
        dreset = dg[:, 2 * size :] @ self.state_weight.T
        xp.multiply(dreset * old, self.gate.slope(r), out=dg[:, size : 2 * size])
        dold = dh * keep
        dold += dreset * r
        dold += dg[:, : 2 * size] @ self.gates_weight.T
        return dold

    def weight_grad(self, weight: Any, old: Any, reset: Any, dg: Any) -> Any:
        size, xp = self.size, self.xp
        whole = xp.empty(weight.size, weight.dtype)
        whole[: 2 * size * size] = (old.T @ dg[:, : 2 * size]).reshape(-1)
        whole[2 * size * size :] = (reset.T @ dg[:, 2 * size :]).reshape(-1)
        return whole.reshape(weight.shape)


@op("gru", "Input H0? Weight Bias?", "BatchGate? BatchResetHiddenPrev? BatchHidden? Hidden",
    {"activation": "tanh", "gate_activation": "sigmoid", "is_reverse": False, "origin_mode": False},
    infer=_infer_gru, grad=True, lod="kernel")  # fmt: skip
def gru(k: Call, x: Any, h0: Any, weight: Any, bias: Any) -> Any:
    """Hidden = a GRU over each sequence; Input holds the input's part of the gates already."""
    a = k.attrs
    batches = TimeMajor(last_level(k, "Input", x.shape[0]), a["is_reverse"])
    rows = k.dev.upload(batches.rows)
    gates = x[rows]
    if bias is not None:
        gates += bias.reshape(-1)
    size = weight.shape[0]
    hidden = k.xp.empty((batches.total, size), x.dtype)
    reset = k.xp.empty_like(hidden)
    step = _Step(k, weight, activation(a["gate_activation"]), activation(a["activation"]))
    old = batches.start_state(k, h0, size, x.dtype)
    for start, stop in batches.steps:
        step.forward(gates[start:stop], old[: stop - start], reset[start:stop], hidden[start:stop])
        old = hidden[start:stop]
    k.out_lods["Hidden"] = k.lod("Input")
    out = k.xp.empty_like(hidden)
    out[rows] = hidden
    return gates, reset, hidden, out


@gradient("gru", "Input H0 Weight Bias BatchGate BatchResetHiddenPrev BatchHidden Hidden@GRAD",
          "Input@GRAD H0@GRAD Weight@GRAD Bias@GRAD")  # fmt: skip
def gru_grad(k: Call, x: Any, h0: Any, weight: Any, bias: Any, gates: Any, reset: Any, hidden: Any, dout: Any) -> Any:
    a = k.attrs
    if gates is None:
        raise EnforceNotMet("the gradient needs BatchGate, which the forward op does not keep")
    batches = TimeMajor(last_level(k, "Input", x.shape[0]), a["is_reverse"])
    rows = k.dev.upload(batches.rows)
    step = _Step(k, weight, activation(a["gate_activation"]), activation(a["activation"]))
    start_state = batches.start_state(k, h0, weight.shape[0], x.dtype)
    before = batches.previous(k, hidden, start_state)
    dhidden = dout[rows]
    dgates = k.xp.empty_like(gates)
    carried: Any = None
    for start, stop in reversed(batches.steps):
        dh = dhidden[start:stop]
        if carried is not None:
            dh[: carried.shape[0]] += carried
        carried = step.backward(gates[start:stop], before[start:stop], dh, dgates[start:stop])
    k.out_lods["Input@GRAD"] = k.lod("Input")
    dx = k.xp.empty_like(x)
    dx[rows] = dgates
    dh0 = batches.state_grad(k, h0, carried) if k.wants("H0@GRAD") else None
    dweight = step.weight_grad(weight, before, reset, dgates) if k.wants("Weight@GRAD") else None
    dbias = dgates.sum(axis=0).reshape(bias.shape) if k.wants("Bias@GRAD") else None
    return dx, dh0, dweight, dbias


# -- single steps --------------------------------------------------------------------------------------------------

_BY_NUMBER = ("identity", "sigmoid", "tanh", "relu")


def _infer_gru_unit(c: InferContext) -> None:
    x, size = c.input("Input"), c.shape("HiddenPrev")[1]
    c.check(x.shape[-1] == 3 * size, f"Input has {x.shape[-1]} columns, HiddenPrev {size}: three times as many needed")
    c.set("Gate", (x.shape[0], 3 * size), x.dtype, 0)
    c.set("ResetHiddenPrev", (x.shape[0], size), x.dtype, 0)
    c.set("Hidden", (x.shape[0], size), x.dtype, 0)


def _unit(k: Call, weight: Any) -> _Step:
    a = k.attrs
    return _Step(k, weight, activation(_BY_NUMBER[a["gate_activation"]]), activation(_BY_NUMBER[a["activation"]]))


@op("gru_unit", "Input HiddenPrev Weight Bias?", "Gate ResetHiddenPrev Hidden",
    {"activation": 2, "gate_activation": 1, "origin_mode": False}, infer=_infer_gru_unit, grad=True)  # fmt: skip
def gru_unit(k: Call, x: Any, old: Any, weight: Any, bias: Any) -> Any:
    """Hidden = one step of a GRU for each row."""
    gates = x.copy() if bias is None else x + bias.reshape(-1)
    reset, hidden = k.xp.empty_like(old), k.xp.empty_like(old)
    _unit(k, weight).forward(gates, old, reset, hidden)
    return gates, reset, hidden


@gradient("gru_unit", "Input HiddenPrev Weight Bias Gate ResetHiddenPrev Hidden@GRAD",
          "Input@GRAD HiddenPrev@GRAD Weight@GRAD Bias@GRAD")  # fmt: skip
def gru_unit_grad(k: Call, x: Any, old: Any, weight: Any, bias: Any, gates: Any, reset: Any, dh: Any) -> Any:
    step = _unit(k, weight)
    dgates = k.xp.empty_like(gates)
    dold = step.backward(gates, old, dh, dgates)
    dweight = step.weight_grad(weight, old, reset, dgates) if k.wants("Weight@GRAD") else None
    dbias = dgates.sum(axis=0).reshape(bias.shape) if k.wants("Bias@GRAD") else None
    return dgates, dold, dweight, dbias


def _infer_lstm_unit(c: InferContext) -> None:
    for slot in ("C", "H"):
        c.set(slot, c.shape("C_prev"), c.dtype("C_prev"), 0)


def _parts(k: Call, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return input, forget, output gates and candidate of an lstm_unit."""
    sigmoid = activation("sigmoid").apply
    size = x.shape[1] // 4
    xp = k.xp
    i = sigmoid(xp, x[:, :size].copy())
    f = sigmoid(xp, x[:, size : 2 * size] + x.dtype.type(k.attrs["forget_bias"]))
    o = sigmoid(xp, x[:, 2 * size : 3 * size].copy())
    return i, f, o, xp.tanh(x[:, 3 * size :])


@op("lstm_unit", "X C_prev", "C H", {"forget_bias": 0.0}, infer=_infer_lstm_unit, grad=True)
def lstm_unit(k: Call, x: Any, old: Any) -> Any:
    """C, H = one step of an LSTM for each row; X holds input, forget, output gate and candidate."""
    i, f, o, c = _parts(k, x)
    new = f * old + i * c
    return new, o * k.xp.tanh(new)


@gradient("lstm_unit", "X C_prev C H C@GRAD H@GRAD", "X@GRAD C_prev@GRAD")
def lstm_unit_grad(k: Call, x: Any, old: Any, new: Any, h: Any, dnew: Any, dh: Any) -> Any:
    i, f, o, c = _parts(k, x)
    seen = k.xp.tanh(new)
    dc = dh * o * (1 - seen * seen) + dnew
    parts = [dc * c * i * (1 - i), dc * old * f * (1 - f), dh * seen * o * (1 - o), dc * i * (1 - c * c)]
    return k.xp.concatenate(parts, axis=1), dc * f
