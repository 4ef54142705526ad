"""LSTM over sequences, with peepholes, and with a projection of the hidden state.

Gates stand as candidate, input, forget, output in the projected input, the weight and the bias; the bias goes on with
the peephole weights of input, forget (which see the old cell) and output (which sees the new one).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.ragged import last_level
from fluidio.ops.registry import gradient, op
from fluidio.ops.time_major import TimeMajor, activation
from fluidio.program.infer import InferContext

__all__ = ["ALL_GATES"]

ALL_GATES = "fluidio_all_gates"  # an attribute of ours: train all gates on the CPU, too
_told = False

_ATTRS = {
    "use_peepholes": True, "is_reverse": False, "gate_activation": "sigmoid", "cell_activation": "tanh",
    "candidate_activation": "tanh",
}  # fmt: skip


def _infer_lstm(c: InferContext) -> None:
    x, weight = c.input("Input"), c.shape("Weight")
    size = weight[1] // 4
    c.check(x.shape[-1] == 4 * size, f"Input has {x.shape[-1]} columns, the weight {list(weight)} needs {4 * size}")
    wanted = (7 if c.attrs["use_peepholes"] else 4) * size
    c.check(c.shape("Bias")[-1] == wanted, f"Bias has {c.shape('Bias')[-1]} columns, needs {wanted}")
    state = c.shape("ProjWeight")[1] if c.has("ProjWeight") else size
    c.set("Projection" if c.has("ProjWeight") else "Hidden", (x.shape[0], state), x.dtype, x.lod_level)
    c.set("Cell", (x.shape[0], size), x.dtype, x.lod_level)
    c.set("BatchGate", (x.shape[0], 4 * size), x.dtype, 0)
    c.set("BatchCellPreAct", (x.shape[0], size), x.dtype, 0)
    c.set("BatchHidden", (x.shape[0], size), x.dtype, 0)


class _Cell:
    """What forward and backward of one call share.

    Gates are kept as [4, rows, size], each gate by itself and rows in time-major order: then every array of a step is
    one piece of memory. BatchGate holds that.
    """

    def __init__(self, k: Call, x: Any, weight: Any, bias: Any) -> None:
        a = k.attrs
        self.k, self.xp = k, k.xp
        self.size = weight.shape[1] // 4
        self.batches = TimeMajor(last_level(k, "Input", x.shape[0]), a["is_reverse"])
        self.rows = k.dev.upload(self.batches.rows)
        self.gate = activation(a["gate_activation"])
        self.cell = activation(a["cell_activation"])
        self.candidate = activation(a["candidate_activation"])
        # sigmoid(x) = (1 + tanh(x / 2)) / 2: with halved inputs one tanh does all gates.
        self.halved = self.gate.name == "sigmoid" and self.candidate.name == "tanh"
        flat, size = bias.reshape(-1), self.size
        self.bias = flat[: 4 * size].reshape(4, 1, size)
        self.weight = self.xp.ascontiguousarray(weight.reshape(-1, 4, size).transpose(1, 0, 2))
        self.peepholes: Any = None
        if a["use_peepholes"]:
            wide = (3, max(self.batches.first, 1), size)
            self.peepholes = self.xp.ascontiguousarray(self.xp.broadcast_to(flat[4 * size :].reshape(3, 1, size), wide))

    def sorted_gates(self, x: Any) -> Any:
        """Return the input's share of the gates, bias added."""
        gates = self.xp.empty((4, self.batches.total, self.size), x.dtype)
        return self.xp.add(x[self.rows].reshape(-1, 4, self.size).transpose(1, 0, 2), self.bias, out=gates)

    def activate(self, gates: Any) -> None:
        """Turn pre-activations of gates 1 ... into values between 0 and 1, and gate 0 into the candidate."""
        if self.halved:
            self.xp.tanh(gates, out=gates)
            _unhalve(gates[1:])
        else:
            self.candidate.apply(self.xp, gates[0])
            self.gate.apply(self.xp, gates[1:])

    def activate_output(self, gate: Any) -> None:
        if self.halved:
            self.xp.tanh(gate, out=gate)
            _unhalve(gate)
        else:
            self.gate.apply(self.xp, gate)


def _unhalve(gates: Any) -> None:
    half = gates.dtype.type(0.5)
    gates *= half
    gates += half


def _forward(k: Call, cell: _Cell, x: Any, h0: Any, c0: Any, project: Any) -> tuple[Any, ...]:
    """Return time-major gates, cells, hidden states and (projected) outputs."""
    xp, size, batches = k.xp, cell.size, cell.batches
    gates = cell.sorted_gates(x)
    weight, peepholes = cell.weight, cell.peepholes
    if cell.halved:
        half = x.dtype.type(0.5)
        gates[1:] *= half
        weight = weight.copy()
        weight[1:] *= half
        peepholes = None if peepholes is None else peepholes * half
    cells = xp.empty((batches.total, size), x.dtype)
    hidden = xp.empty_like(cells)
    outputs = hidden if project is None else xp.empty((batches.total, project.shape[1]), x.dtype)
    state = batches.start_state(k, h0, outputs.shape[1], x.dtype)
    old = batches.start_state(k, c0, size, x.dtype)
    product = k.scratch("product", (4, batches.first, size), x.dtype)
    work = k.scratch("work", (batches.first, size), x.dtype)
    clip = k.attrs.get("cell_clip")
    tanh_cell = cell.cell.name == "tanh"
    for step, (start, stop) in enumerate(batches.steps):
        n = stop - start
        g = gates[:, start:stop]
        scratch = work[:n]
        before = old[:n]
        if step or h0 is not None:
            g += xp.matmul(state[:n], weight, out=product[:, :n])
        if peepholes is None:
            cell.activate(g)
        else:
            g[1:3] += xp.multiply(before, peepholes[:2, :n], out=product[:2, :n])
            cell.activate(g[:3])
        new = xp.multiply(g[0], g[1], out=cells[start:stop])
        new += xp.multiply(g[2], before, out=scratch)
        if clip:
            xp.clip(new, -clip, clip, out=new)
        if peepholes is not None:
            g[3] += xp.multiply(new, peepholes[2, :n], out=scratch)
            cell.activate_output(g[3])
        h = hidden[start:stop]
        if tanh_cell:
            xp.tanh(new, out=h)
        else:
            h[...] = new
            cell.cell.apply(xp, h)
        h *= g[3]
        if project is not None:
            _project(k, h, project, outputs[start:stop])
        old, state = new, outputs[start:stop]
    return gates, cells, hidden, outputs


def _project(k: Call, h: Any, project: Any, out: Any) -> None:
    k.xp.matmul(h, project, out=out)
    activation(k.attrs["proj_activation"]).apply(k.xp, out)
    if k.attrs["proj_clip"]:
        k.xp.clip(out, -k.attrs["proj_clip"], k.attrs["proj_clip"], out=out)


def _scattered(k: Call, cell: _Cell, values: Any) -> Any:
    out = k.xp.empty_like(values)
    out[cell.rows] = values
    return out


@op("lstm", "Input H0? C0? Weight Bias", "Hidden Cell BatchGate? BatchCellPreAct?", _ATTRS,
    infer=_infer_lstm, grad=True, lod="kernel")  # fmt: skip
def lstm(k: Call, x: Any, h0: Any, c0: Any, weight: Any, bias: Any) -> Any:
    """Hidden, Cell = an LSTM over each sequence; Input holds the input's part of the gates already.

    Fluid: its gradient passes over Cell@GRAD; ours does not. Where the hidden size is a multiple of 8, its CPU kernel
    for float32 trains the output gate alone: so do we on the CPU, for the same losses, unless asked for all gates.
    """
    cell = _Cell(k, x, weight, bias)
    k.out_lods["Hidden"] = k.out_lods["Cell"] = k.lod("Input")
    gates, cells, hidden, _ = _forward(k, cell, x, h0, c0, None)
    return _scattered(k, cell, hidden), _scattered(k, cell, cells), gates, cells


@gradient("lstm", "Input H0 C0 Weight Bias Hidden BatchGate BatchCellPreAct Hidden@GRAD Cell@GRAD",
          "Input@GRAD H0@GRAD C0@GRAD Weight@GRAD Bias@GRAD")  # fmt: skip
def lstm_grad(
    k: Call, x: Any, h0: Any, c0: Any, weight: Any, bias: Any, hidden: Any, gates: Any, cells: Any, dhidden: Any,
    dcell: Any,
) -> Any:  # fmt: skip
    cell = _Cell(k, x, weight, bias)
    k.out_lods["Input@GRAD"] = k.lod("Input")
    outputs = hidden[cell.rows]
    if _trains_output_gate_only(k, x, cell.size):
        return _output_gate_backward(k, cell, x, h0, c0, weight, bias, gates, cells, outputs, dhidden)
    return _backward(k, cell, x, h0, c0, weight, bias, gates, cells, outputs, None, None, dhidden, dcell)[:5]


def _trains_output_gate_only(k: Call, x: Any, size: int) -> bool:
    """Tell whether Fluid's CPU kernel would pass no gradient to the cell (seen in 1.8.5: float32, a multiple of 8)."""
    global _told
    short = not k.dev.is_gpu and x.dtype == np.float32 and size % 8 == 0 and not k.attrs.get(ALL_GATES)
    if short and not _told:
        _told = True
        warnings.warn(
            f"dynamic_lstm with a hidden size of {size}: where it is a multiple of 8 the CPU kernel of Fluid 1.8.5 "
            "trains only the output gate, and so does fluidio, for the same losses; dynamic_lstm(..., all_gates=True) "
            "trains all",
            stacklevel=2,
        )
    return short


@op("lstmp", "Input H0? C0? Weight ProjWeight Bias", "Projection Cell BatchGate? BatchCellPreAct? BatchHidden?",
    {**_ATTRS, "proj_activation": "tanh", "cell_clip": 0.0, "proj_clip": 0.0},
    infer=_infer_lstm, grad=True, lod="kernel")  # fmt: skip
def lstmp(k: Call, x: Any, h0: Any, c0: Any, weight: Any, project: Any, bias: Any) -> Any:
    """Projection, Cell = an LSTM whose hidden state goes through ProjWeight before it is handed on."""
    cell = _Cell(k, x, weight, bias)
    k.out_lods["Projection"] = k.out_lods["Cell"] = k.lod("Input")
    gates, cells, hidden, outputs = _forward(k, cell, x, h0, c0, project)
    return _scattered(k, cell, outputs), _scattered(k, cell, cells), gates, cells, hidden


@gradient("lstmp",
          "Input H0 C0 Weight ProjWeight Bias Projection BatchGate BatchCellPreAct BatchHidden Projection@GRAD "
          "Cell@GRAD", "Input@GRAD H0@GRAD C0@GRAD Weight@GRAD Bias@GRAD ProjWeight@GRAD")  # fmt: skip
def lstmp_grad(
    k: Call, x: Any, h0: Any, c0: Any, weight: Any, project: Any, bias: Any, projection: Any, gates: Any, cells: Any,
    hidden: Any, dprojection: Any, dcell: Any,
) -> Any:  # fmt: skip
    cell = _Cell(k, x, weight, bias)
    k.out_lods["Input@GRAD"] = k.lod("Input")
    outputs = projection[cell.rows]
    return _backward(k, cell, x, h0, c0, weight, bias, gates, cells, outputs, project, hidden, dprojection, dcell)


def _output_gate_backward(
    k: Call, cell: _Cell, x: Any, h0: Any, c0: Any, weight: Any, bias: Any, gates: Any, cells: Any, outputs: Any,
    dout: Any,
) -> Any:  # fmt: skip
    """Return the gradients of Input, H0, C0, Weight and Bias where only the output gate has one."""
    xp, size, batches = k.xp, cell.size, cell.batches
    first = batches.first
    dout = xp.zeros_like(outputs) if dout is None else dout[cell.rows]
    seen = cells.copy()
    cell.cell.apply(xp, seen)
    to_output = seen * cell.gate.slope(gates[3])
    back = xp.ascontiguousarray(cell.weight[3].T)
    dgate = xp.empty_like(to_output)
    next_n = 0
    for start, stop in reversed(batches.steps):
        dh = dout[start:stop]
        if next_n:
            dh[:next_n] += dgate[stop : stop + next_n] @ back
        xp.multiply(dh, to_output[start:stop], out=dgate[start:stop])
        next_n = stop - start
    dx = xp.zeros_like(x)
    dx.reshape(-1, 4, size)[cell.rows, 3] = dgate
    dh0 = dc0 = dweight = dbias = None
    if k.wants("H0@GRAD"):
        dh0 = batches.state_grad(k, h0, dgate[:first] @ back)
    if k.wants("C0@GRAD"):
        dc0 = xp.zeros_like(c0)
    if k.wants("Weight@GRAD"):
        dweight = xp.zeros_like(weight)
        part = outputs[k.dev.upload(batches.before)].T @ dgate[first:]
        if h0 is not None:
            part += batches.start_state(k, h0, size, x.dtype).T @ dgate[:first]
        dweight[:, 3 * size :] = part
    if k.wants("Bias@GRAD"):
        dbias = xp.zeros_like(bias)
        dbias[0, 3 * size : 4 * size] = dgate.sum(axis=0)
        if cell.peepholes is not None:
            dbias[0, 6 * size :] = (dgate * cells).sum(axis=0)
    return dx, dh0, dc0, dweight, dbias


def _backward(
    k: Call, cell: _Cell, x: Any, h0: Any, c0: Any, weight: Any, bias: Any, gates: Any, cells: Any, outputs: Any,
    project: Any, hidden: Any, dout: Any, dcell: Any,
) -> Any:  # fmt: skip
    """Return the gradients of Input, H0, C0, Weight, Bias and ProjWeight."""
    if gates is None or cells is None:
        raise EnforceNotMet("the gradient needs BatchGate and BatchCellPreAct, which the forward op does not keep")
    xp, size, batches = k.xp, cell.size, cell.batches
    dtype, peepholes = x.dtype, cell.peepholes
    dout = xp.zeros_like(outputs) if dout is None else dout[cell.rows]
    dcells = None if dcell is None else dcell[cell.rows]
    c, i, f, o = gates
    before = batches.previous(k, cells, batches.start_state(k, c0, size, dtype))
    seen = cells.copy()
    cell.cell.apply(xp, seen)
    # Everything that does not depend on the way back is computed for all steps at once.
    to_output = seen * cell.gate.slope(o)
    to_cell = o * cell.cell.slope(seen)
    factors = xp.empty((3, batches.total, size), dtype)
    xp.multiply(i, cell.candidate.slope(c), out=factors[0])
    xp.multiply(c, cell.gate.slope(i), out=factors[1])
    xp.multiply(before, cell.gate.slope(f), out=factors[2])
    dgates = xp.empty((4, batches.total, size), dtype)
    transposed = xp.ascontiguousarray(cell.weight.transpose(0, 2, 1))
    product = k.scratch("product", (4, batches.first, outputs.shape[1]), dtype)
    dprojected: Any = None
    project_slope: Any = None
    if project is not None:
        dprojected = xp.empty_like(outputs)
        project_slope = activation(k.attrs["proj_activation"]).slope(outputs)
    next_dc: Any = None
    next_n = 0
    for start, stop in reversed(batches.steps):
        n = stop - start
        dh = dout[start:stop]
        if next_n:
            part = xp.matmul(dgates[:, stop : stop + next_n], transposed, out=product[:, :next_n])
            dh[:next_n] += part.sum(axis=0)
        if project is not None:
            dh = xp.multiply(dh, project_slope[start:stop], out=dprojected[start:stop]) @ project.T
        dg = dgates[:, start:stop]
        xp.multiply(dh, to_output[start:stop], out=dg[3])
        dc = dh * to_cell[start:stop]
        if next_n:
            dc[:next_n] += next_dc
        if dcells is not None:
            dc += dcells[start:stop]
        if peepholes is not None:
            dc += dg[3] * peepholes[2, :n]
        xp.multiply(factors[:, start:stop], dc, out=dg[:3])
        dc *= f[start:stop]
        if peepholes is not None:
            dc += dg[1] * peepholes[0, :n]
            dc += dg[2] * peepholes[1, :n]
        next_dc, next_n = dc, n
    first = batches.first
    dx = xp.empty_like(x)
    dx.reshape(-1, 4, size)[cell.rows] = dgates.transpose(1, 0, 2)
    dh0 = dc0 = dweight = dbias = dproject = None
    if k.wants("H0@GRAD"):
        dh0 = batches.state_grad(k, h0, xp.matmul(dgates[:, :first], transposed).sum(axis=0))
    if k.wants("C0@GRAD"):
        dc0 = batches.state_grad(k, c0, next_dc)
    if k.wants("Weight@GRAD"):
        dweight = outputs[k.dev.upload(batches.before)].T @ dgates[:, first:]
        if h0 is not None:
            dweight += batches.start_state(k, h0, outputs.shape[1], dtype).T @ dgates[:, :first]
        dweight = dweight.transpose(1, 0, 2).reshape(weight.shape)
    if k.wants("Bias@GRAD"):
        parts = [dgates.sum(axis=1).reshape(-1)]
        if peepholes is not None:
            parts += [(dgates[1] * before).sum(axis=0), (dgates[2] * before).sum(axis=0)]
            parts += [(dgates[3] * cells).sum(axis=0)]
        dbias = xp.concatenate(parts).reshape(bias.shape)
    if project is not None and k.wants("ProjWeight@GRAD"):
        dproject = hidden.T @ dprojected
    return dx, dh0, dc0, dweight, dbias, dproject
