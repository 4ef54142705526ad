"""GRU over sequences and single steps of recurrent cells.

Gates: update, reset, candidate. The weight [H, 3H] is one buffer: first [H, 2H] for update and reset, then
[H, H] for the candidate.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled.products import by_state, product
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import share_products
from fluidio.ops.sequence.ragged import last_level
from fluidio.ops.sequence.time_major import Activation, activation, recurrent_activation, time_major
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_gru(c: InferContext) -> None:
    x, weight = c.input("Input"), c.shape("Weight")
    size = weight[0]
    c.check(
        x.shape[-1] in (3 * size, -1),
        f"Input must have {3 * size} columns for a weight of shape {list(weight)}, it has {x.shape[-1]}",
    )
    for slot, width in (("BatchGate", 3), ("BatchResetHiddenPrev", 1), ("BatchHidden", 1), ("Hidden", 1)):
        c.set(slot, (x.shape[0], width * size), x.dtype, x.lod_level if slot == "Hidden" else 0)


def split_weight(weight: Array) -> tuple[Array, Array]:
    """Return the [H, 2H] and the [H, H] part of a GRU weight, as views."""
    size = weight.shape[0]
    flat = weight.reshape(-1)
    return flat[: 2 * size * size].reshape(size, 2 * size), flat[2 * size * size :].reshape(size, size)


class _Step:
    """One GRU step on a batch of rows; gates [3, rows, size] are updated in place."""

    def __init__(self, k: Call, weight: Array, gate: Activation, candidate: Activation) -> None:
        self.k, self.xp = k, k.xp
        self.size = weight.shape[0]
        both, self.state_weight = split_weight(weight)
        self.gates_weight = self.xp.ascontiguousarray(both.reshape(self.size, 2, self.size).transpose(1, 0, 2))
        self.gate, self.candidate = gate, candidate
        self.origin = k.attrs["origin_mode"]

    def split(self, x: Array) -> Array:
        """Return [rows, 3 * size] as [3, rows, size]."""
        return self.xp.ascontiguousarray(x.reshape(-1, 3, self.size).transpose(1, 0, 2))

    def join(self, gates: Any) -> Any:
        return gates.transpose(1, 0, 2).reshape(-1, 3 * self.size)

    def forward(self, g: Array, old: Array, reset_out: Array, out: Array, work: Any) -> None:
        """Fill `reset_out` and `out`; `work` is [2, rows, size] of scratch memory."""
        xp = self.xp
        g[:2] += by_state(xp, old, self.gates_weight, work)
        self.gate.apply(xp, g[:2])
        u, r, c = g
        xp.multiply(r, old, out=reset_out)
        c += by_state(xp, reset_out, self.state_weight[None], work[:1])[0]
        self.candidate.apply(xp, c)
        # h = (1 - u) old + u c, or with origin_mode h = u old + (1 - u) c
        xp.subtract(*((old, c) if self.origin else (c, old)), out=out)
        out *= u
        out += c if self.origin else old

    def prepare(self, gates: Array, old: Array) -> None:
        """Compute for all rows what backward() needs: the derivatives of the gates, and the fraction that is kept."""
        u, r, c = gates
        self.keep = u if self.origin else 1 - u
        self.to_update = (old - c if self.origin else c - old) * self.gate.slope(u)
        self.to_candidate = (1 - self.keep) * self.candidate.slope(c)
        self.to_reset = old * self.gate.slope(r)
        self.reset = r
        self.state_back = self.xp.ascontiguousarray(self.state_weight.T)
        self.gates_back = self.xp.ascontiguousarray(self.gates_weight.transpose(0, 2, 1))

    def backward(self, rows: slice, dh: Array, dg: Array) -> Array:
        """Fill dg with the gradient of the pre-activations and return that of the old state."""
        xp = self.xp
        xp.multiply(dh, self.to_update[rows], out=dg[0])
        xp.multiply(dh, self.to_candidate[rows], out=dg[2])
        dreset = by_state(xp, dg[2], self.state_back[None], xp.empty_like(dg[2:]))[0]
        xp.multiply(dreset, self.to_reset[rows], out=dg[1])
        dold = share_products(self.k, dg[:2], self.gates_back).sum(axis=0)
        dreset *= self.reset[rows]
        dold += dreset
        dold += xp.multiply(dh, self.keep[rows], out=dreset)
        return dold

    def weight_grad(self, weight: Array, old: Array, reset: Array, dg: Array) -> Array:
        size, xp = self.size, self.xp
        whole = xp.empty(weight.size, weight.dtype)
        for gate in (0, 1):
            whole[: 2 * size * size].reshape(size, 2, size)[:, gate] = product(old.T, dg[gate])
        whole[2 * size * size :] = product(reset.T, dg[2]).reshape(-1)
        return whole.reshape(weight.shape)


@op(
    "gru",
    "Input H0? Weight Bias?",
    "BatchGate? BatchResetHiddenPrev? BatchHidden? Hidden",
    {"activation": "tanh", "gate_activation": "sigmoid", "is_reverse": False, "origin_mode": False},
    infer=_infer_gru,
    grad=True,
    lod="kernel",
)
def gru(k: Call, x: Array, h0: Array, weight: Array, bias: Array | None) -> tuple[Array, ...]:
    """Hidden = a GRU over each sequence; Input already holds the input's share of the gates."""
    a = k.attrs
    batches = time_major(last_level(k, "Input", x.shape[0]), a["is_reverse"])
    rows = k.dev.upload(batches.rows)
    size = weight.shape[0]
    vector = not k.dev.is_gpu and x.dtype == np.float32 and size >= 8
    gate, candidate = (recurrent_activation(a[name], vector=vector) for name in ("gate_activation", "activation"))
    step = _Step(k, weight, gate, candidate)
    gates = step.split(x[rows])
    if bias is not None:
        gates += bias.reshape(3, 1, size)
    hidden = k.xp.empty((batches.total, size), x.dtype)
    reset = k.xp.empty_like(hidden)
    work = k.scratch("work", (2 * batches.first * size,), x.dtype)
    old = batches.start_state(k, h0, size, x.dtype)
    for start, stop in batches.steps:
        n = stop - start
        some = work[: 2 * n * size].reshape(2, n, size)
        step.forward(gates[:, start:stop], old[:n], reset[start:stop], hidden[start:stop], some)
        old = hidden[start:stop]
    k.out_lods["Hidden"] = k.lod("Input")
    out = k.xp.empty_like(hidden)
    out[rows] = hidden
    return step.join(gates), reset, hidden, out


_warned = False


def _tell_of_first_step() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "dynamic_gru with an h_0 that has no gradient: like Fluid 1.8.5, fluidio leaves the first step "
            "of each sequence out of the gradients of the reset gate and the weight; set h_0.stop_gradient = "
            "False to have them whole",
            stacklevel=2,
        )


@gradient(
    "gru",
    "Input H0 Weight Bias BatchGate BatchResetHiddenPrev BatchHidden Hidden@GRAD",
    "Input@GRAD H0@GRAD Weight@GRAD Bias@GRAD",
    carried="Hidden",
)
def gru_grad(
    k: Call,
    x: Array,
    h0: Array | None,
    weight: Array,
    bias: Array,
    gates: Array | None,
    reset: Array,
    hidden: Array,
    dout: Array,
) -> KernelResult:
    a = k.attrs
    if gates is None:
        raise EnforceNotMet("the gradient needs the output BatchGate of the forward op, which is not kept")
    batches = time_major(last_level(k, "Input", x.shape[0]), a["is_reverse"])
    rows = k.dev.upload(batches.rows)
    step = _Step(k, weight, recurrent_activation(a["gate_activation"]), recurrent_activation(a["activation"]))
    before = batches.previous(k, hidden, batches.start_state(k, h0, weight.shape[0], x.dtype))
    gates = step.split(gates)
    step.prepare(gates, before)
    dhidden = dout[rows]
    dgates = k.xp.empty_like(gates)
    carried: Any = None
    for start, stop in reversed(batches.steps):
        dh = dhidden[start:stop]
        if carried is not None:
            dh[: carried.shape[0]] += carried
        carried = step.backward(slice(start, stop), dh, dgates[:, start:stop])
    k.out_lods["Input@GRAD"] = k.lod("Input")
    # Fluid: if H0 needs no gradient, the reset gate and the weight get none from the first step.
    skipped = 0 if h0 is None or k.wants("H0@GRAD") else batches.first
    if skipped:
        _tell_of_first_step()
        dgates[1, :skipped] = 0
    dx = k.xp.empty(x.shape, x.dtype)
    dx.reshape(-1, 3, step.size)[rows] = dgates.transpose(1, 0, 2)
    dh0 = batches.state_grad(k, h0, carried) if k.wants("H0@GRAD") else None
    dweight = None
    if k.wants("Weight@GRAD"):
        dweight = step.weight_grad(weight, before[skipped:], reset[skipped:], dgates[:, skipped:])
    dbias = dgates.sum(axis=1).reshape(bias.shape) if k.wants("Bias@GRAD") else None
    return dx, dh0, dweight, dbias


# -- single steps --------------------------------------------------------------------------------------------------

_BY_NUMBER = ("identity", "sigmoid", "tanh", "relu")


def _infer_gru_unit(c: InferContext) -> None:
    x, size = c.input("Input"), c.shape("HiddenPrev")[1]
    c.check(
        x.shape[-1] in (3 * size, -1),
        f"Input must have {3 * size} columns, three times those of HiddenPrev; it has {x.shape[-1]}",
    )
    c.set("Gate", (x.shape[0], 3 * size), x.dtype, 0)
    c.set("ResetHiddenPrev", (x.shape[0], size), x.dtype, 0)
    c.set("Hidden", (x.shape[0], size), x.dtype, 0)


def _unit(k: Call, weight: Array) -> _Step:
    a = k.attrs
    return _Step(k, weight, activation(_BY_NUMBER[a["gate_activation"]]), activation(_BY_NUMBER[a["activation"]]))


@op(
    "gru_unit",
    "Input HiddenPrev Weight Bias?",
    "Gate ResetHiddenPrev Hidden",
    {"activation": 2, "gate_activation": 1, "origin_mode": False},
    infer=_infer_gru_unit,
    grad=True,
)
def gru_unit(k: Call, x: Array, old: Array, weight: Array, bias: Array | None) -> tuple[Array, ...]:
    """Hidden = one step of a GRU for each row."""
    step = _unit(k, weight)
    gates = step.split(x if bias is None else x + bias.reshape(-1))
    reset, hidden = k.xp.empty_like(old), k.xp.empty_like(old)
    step.forward(gates, old, reset, hidden, k.scratch("work", (2, *old.shape), old.dtype))
    return step.join(gates), reset, hidden


@gradient(
    "gru_unit",
    "Input HiddenPrev Weight Bias Gate ResetHiddenPrev Hidden@GRAD",
    "Input@GRAD HiddenPrev@GRAD Weight@GRAD Bias@GRAD",
)
def gru_unit_grad(
    k: Call, x: Array, old: Array, weight: Array, bias: Array, gates: Array, reset: Array, dh: Array
) -> KernelResult:
    step = _unit(k, weight)
    split = step.split(gates)
    step.prepare(split, old)
    dgates = k.xp.empty_like(split)
    dold = step.backward(slice(None), dh, dgates)
    dweight = step.weight_grad(weight, old, reset, dgates) if k.wants("Weight@GRAD") else None
    dbias = dgates.sum(axis=1).reshape(bias.shape) if k.wants("Bias@GRAD") else None
    return step.join(dgates), dold, dweight, dbias


def _infer_lstm_unit(c: InferContext) -> None:
    for slot in ("C", "H"):
        c.set(slot, c.shape("C_prev"), c.dtype("C_prev"), 0)


def _parts(k: Call, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return the input, forget and output gates and the candidate of an lstm_unit."""
    size = x.shape[1] // 4
    xp = k.xp
    i, o = x[:, :size].copy(), x[:, 2 * size : 3 * size].copy()
    f = x[:, size : 2 * size] + x.dtype.type(k.attrs["forget_bias"])
    for gate in (i, f, o):
        activation("sigmoid").apply(xp, gate)
    return i, f, o, xp.tanh(x[:, 3 * size :])


@op("lstm_unit", "X C_prev", "C H", {"forget_bias": 0.0}, infer=_infer_lstm_unit, grad=True)
def lstm_unit(k: Call, x: Array, old: Array) -> tuple[Array, Array]:
    """C, H = one step of an LSTM for each row; X holds the input, forget and output gates and the candidate."""
    i, f, o, c = _parts(k, x)
    new = f * old + i * c
    return new, o * k.xp.tanh(new)


@gradient("lstm_unit", "X C_prev C C@GRAD H@GRAD", "X@GRAD C_prev@GRAD")
def lstm_unit_grad(k: Call, x: Array, old: Array, new: Array, dnew: Array, dh: Array) -> tuple[Array, Array]:
    i, f, o, c = _parts(k, x)
    seen = k.xp.tanh(new)
    dc = dh * o * (1 - seen * seen) + dnew
    parts = [dc * c * i * (1 - i), dc * old * f * (1 - f), dh * seen * o * (1 - o), dc * i * (1 - c * c)]
    return k.xp.concatenate(parts, axis=1), dc * f
