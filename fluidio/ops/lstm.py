"""LSTM over sequences, with peepholes, and with a projection of the hidden state.

Gates stand as candidate, input, forget, output in the projected input, the weight and the bias; the bias goes on with
the peephole weights of input, forget (which see the old cell) and output (which sees the new one).
"""

from __future__ import annotations

from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.ragged import last_level
from fluidio.ops.registry import gradient, op
from fluidio.ops.time_major import TimeMajor, activation
from fluidio.program.infer import InferContext

__all__: list[str] = []

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
    """What forward and backward of one call share."""

    def __init__(self, k: Call, x: Any, weight: Any, bias: Any) -> None:
        a = k.attrs
        self.k, self.xp = k, k.xp
        self.size = weight.shape[1] // 4
        self.batches = TimeMajor(last_level(k, "Input", x.shape[0]), a["is_reverse"])
        self.rows = k.dev.upload(self.batches.rows)
        self.gate = activation(a["gate_activation"])
        self.cell = activation(a["cell_activation"])
        self.candidate = activation(a["candidate_activation"])
        flat, size = bias.reshape(-1), self.size
        self.bias = flat[: 4 * size]
        self.peepholes = flat[4 * size :].reshape(3, size) if a["use_peepholes"] else None
        self.one_tanh = self.gate.name == "sigmoid" and self.candidate.name == "tanh"

    def activate(self, gates: Any, old_cell: Any) -> None:
        """Turn pre-activations into candidate, input and forget gates (and the output gate without peepholes)."""
        size, xp = self.size, self.xp
        end = 4 * size
        if self.peepholes is not None:
            gates[:, size : 2 * size] += old_cell * self.peepholes[0]
            gates[:, 2 * size : 3 * size] += old_cell * self.peepholes[1]
            end = 3 * size
        if self.one_tanh:
            # sigmoid(x) = (1 + tanh(x / 2)) / 2: one call does all gates.
            rest, half = gates[:, size:end], gates.dtype.type(0.5)
            rest *= half
            xp.tanh(gates[:, :end], out=gates[:, :end])
            rest *= half
            rest += half
        else:
            gates[:, :size] = self.candidate.apply(xp, gates[:, :size])
            gates[:, size:end] = self.gate.apply(xp, gates[:, size:end])

    def activate_output(self, gates: Any, new_cell: Any) -> None:
        if self.peepholes is not None:
            out = gates[:, 3 * self.size :]
            out += new_cell * self.peepholes[2]
            out[...] = self.gate.apply(self.xp, out)


def _forward(k: Call, cell: _Cell, x: Any, h0: Any, c0: Any, weight: Any, project: Any) -> tuple[Any, ...]:
    """Return time-major gates, cells, hidden states and (projected) outputs."""
    xp, size, batches = k.xp, cell.size, cell.batches
    gates = x[cell.rows]
    gates += cell.bias
    cells = xp.empty((batches.total, size), x.dtype)
    hidden = xp.empty_like(cells)
    outputs = hidden if project is None else xp.empty((batches.total, project.shape[1]), x.dtype)
    width = outputs.shape[1]
    state: Any = batches.start_state(k, h0, width, x.dtype) if batches.time else None
    old: Any = batches.start_state(k, c0, size, x.dtype) if batches.time else None
    product = k.scratch("product", (batches.first, 4 * size), x.dtype)
    work = k.scratch("work", (batches.first, size), x.dtype)
    for step, (start, stop) in enumerate(batches.steps):
        n = stop - start
        g = gates[start:stop]
        if step or h0 is not None:
            g += xp.matmul(state[:n], weight, out=product[:n])
        cell.activate(g, old[:n])
        new = xp.multiply(g[:, :size], g[:, size : 2 * size], out=cells[start:stop])
        new += xp.multiply(g[:, 2 * size : 3 * size], old[:n], out=work[:n])
        if k.attrs.get("cell_clip"):
            xp.clip(new, -k.attrs["cell_clip"], k.attrs["cell_clip"], out=new)
        cell.activate_output(g, new)
        h = hidden[start:stop]
        h[...] = new
        h[...] = cell.cell.apply(xp, h)
        h *= g[:, 3 * size :]
        if project is not None:
            _project(k, h, project, outputs[start:stop])
        old, state = new, outputs[start:stop]
    return gates, cells, hidden, outputs


def _project(k: Call, h: Any, project: Any, out: Any) -> None:
    k.xp.matmul(h, project, out=out)
    out[...] = activation(k.attrs["proj_activation"]).apply(k.xp, out)
    if k.attrs["proj_clip"]:
        k.xp.clip(out, -k.attrs["proj_clip"], k.attrs["proj_clip"], out=out)


def _scattered(k: Call, cell: _Cell, values: Any) -> Any:
    out = k.xp.empty_like(values)
    out[cell.rows] = values
    return out


@op("lstm", "Input H0? C0? Weight Bias", "Hidden Cell BatchGate? BatchCellPreAct?", _ATTRS,
    infer=_infer_lstm, grad=True, lod="kernel")  # fmt: skip
def lstm(k: Call, x: Any, h0: Any, c0: Any, weight: Any, bias: Any) -> Any:
    """Hidden, Cell = an LSTM over each sequence; Input holds the input's part of the gates already."""
    cell = _Cell(k, x, weight, bias)
    k.out_lods["Hidden"] = k.out_lods["Cell"] = k.lod("Input")
    gates, cells, hidden, _ = _forward(k, cell, x, h0, c0, weight, None)
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
    return _backward(k, cell, x, h0, c0, weight, bias, gates, cells, outputs, None, None, dhidden, dcell)[:5]


@op("lstmp", "Input H0? C0? Weight ProjWeight Bias", "Projection Cell BatchGate? BatchCellPreAct? BatchHidden?",
    {**_ATTRS, "proj_activation": "tanh", "cell_clip": 0.0, "proj_clip": 0.0},
    infer=_infer_lstm, grad=True, lod="kernel")  # fmt: skip
def lstmp(k: Call, x: Any, h0: Any, c0: Any, weight: Any, project: Any, bias: Any) -> Any:
    """Projection, Cell = an LSTM whose hidden state goes through ProjWeight before it is handed on."""
    cell = _Cell(k, x, weight, bias)
    k.out_lods["Projection"] = k.out_lods["Cell"] = k.lod("Input")
    gates, cells, hidden, outputs = _forward(k, cell, x, h0, c0, weight, project)
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


def _backward(
    k: Call, cell: _Cell, x: Any, h0: Any, c0: Any, weight: Any, bias: Any, gates: Any, cells: Any, outputs: Any,
    project: Any, hidden: Any, dout: Any, dcell: Any,
) -> Any:  # fmt: skip
    """Return the gradients of Input, H0, C0, Weight, Bias and ProjWeight."""
    if gates is None or cells is None:
        raise EnforceNotMet("the gradient needs BatchGate and BatchCellPreAct, which the forward op does not keep")
    xp, size, batches = k.xp, cell.size, cell.batches
    dtype = x.dtype
    dout = xp.zeros_like(outputs) if dout is None else dout[cell.rows]
    dcells = None if dcell is None else dcell[cell.rows]
    shaped = gates.reshape(-1, 4, size)
    c, i, f, o = shaped[:, 0], shaped[:, 1], shaped[:, 2], shaped[:, 3]
    start_cell = batches.start_state(k, c0, size, dtype)
    before = batches.previous(k, cells, start_cell)
    seen = cell.cell.apply(xp, cells.copy())
    # Everything that does not depend on the way back is computed for all steps at once.
    to_output = seen * cell.gate.slope(o)
    to_cell = o * cell.cell.slope(seen)
    factors = xp.empty((batches.total, 3, size), dtype)
    xp.multiply(i, cell.candidate.slope(c), out=factors[:, 0])
    xp.multiply(c, cell.gate.slope(i), out=factors[:, 1])
    xp.multiply(before, cell.gate.slope(f), out=factors[:, 2])
    dgates = xp.empty((batches.total, 4 * size), dtype)
    dshaped = dgates.reshape(-1, 4, size)
    transposed = weight.T
    dprojected: Any = None
    project_slope: Any = None
    if project is not None:
        dprojected = xp.empty_like(outputs)
        project_slope = activation(k.attrs["proj_activation"]).slope(outputs)
    next_dc: Any = None
    next_n = 0
    for start, stop in reversed(batches.steps):
        dh = dout[start:stop]
        if next_n:
            dh[:next_n] += dgates[stop : stop + next_n] @ transposed
        if project is not None:
            dh = xp.multiply(dh, project_slope[start:stop], out=dprojected[start:stop]) @ project.T
        dg_out = xp.multiply(dh, to_output[start:stop], out=dshaped[start:stop, 3])
        dc = dh * to_cell[start:stop]
        if next_n:
            dc[:next_n] += next_dc
        if dcells is not None:
            dc += dcells[start:stop]
        if cell.peepholes is not None:
            dc += dg_out * cell.peepholes[2]
        dg = xp.multiply(factors[start:stop], dc[:, None], out=dshaped[start:stop, :3])
        dc *= f[start:stop]
        if cell.peepholes is not None:
            dc += dg[:, 1] * cell.peepholes[0]
            dc += dg[:, 2] * cell.peepholes[1]
        next_dc, next_n = dc, stop - start
    first = batches.first
    dx = xp.empty_like(x)
    dx[cell.rows] = dgates
    dh0 = batches.state_grad(k, h0, dgates[:first] @ transposed) if k.wants("H0@GRAD") else None
    dc0 = batches.state_grad(k, c0, next_dc) if k.wants("C0@GRAD") else None
    dweight = dbias = dproject = None
    if k.wants("Weight@GRAD"):
        dweight = outputs[k.dev.upload(batches.before)].T @ dgates[first:]
        if h0 is not None:
            dweight += batches.start_state(k, h0, outputs.shape[1], dtype).T @ dgates[:first]
    if k.wants("Bias@GRAD"):
        dbias = _bias_grad(k, cell, bias, dgates, dshaped, before, cells)
    if project is not None and k.wants("ProjWeight@GRAD"):
        dproject = hidden.T @ dprojected
    return dx, dh0, dc0, dweight, dbias, dproject


def _bias_grad(k: Call, cell: _Cell, bias: Any, dgates: Any, dshaped: Any, before: Any, cells: Any) -> Any:
    parts = [dgates.sum(axis=0)]
    if cell.peepholes is not None:
        parts += [(dshaped[:, 1] * before).sum(axis=0), (dshaped[:, 2] * before).sum(axis=0)]
        parts += [(dshaped[:, 3] * cells).sum(axis=0)]
    return k.xp.concatenate(parts).reshape(bias.shape)
