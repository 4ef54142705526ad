"""The steps of an LSTM over sequences sorted by length, forward and back; `lstm.py` makes ops of them.

Gates: candidate, input, forget, output, in the projected input, the weight and the bias. The bias is followed by the
peephole weights of input and forget (which see the old cell) and output (which sees the new one).
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.ops.compiled import products
from fluidio.ops.kernel import Call
from fluidio.ops.row_blocks import share_products
from fluidio.ops.sequence.ragged import last_level
from fluidio.ops.sequence.time_major import SIGMOID_TOP, activation, recurrent_activation, time_major
from fluidio.tensor.array import Array, ArrayLibrary

__all__ = ["ALL_GATES", "Cell", "all_gates_backward", "forward", "output_gate_backward"]

ALL_GATES = "fluidio_all_gates"  # fluidio's own attribute: train all gates on the CPU, too


class Cell:
    """State shared by forward and backward of one call.

    Gates are stored as [4, rows, size], with rows in time-major order, so that every array of a step is contiguous.
    """

    def __init__(self, k: Call, x: Array, weight: Array, bias: Array) -> None:
        a = k.attrs
        self.k, self.xp = k, k.xp
        self.size = weight.shape[1] // 4
        self.batches = time_major(last_level(k, "Input", x.shape[0]), a["is_reverse"])
        self.rows = k.dev.upload(self.batches.rows)
        self.vector = not k.dev.is_gpu and x.dtype == np.float32 and self.size % 8 == 0
        """Whether Fluid's AVX kernel is at work."""
        self.gate, self.cell, self.candidate = (
            recurrent_activation(a[f"{name}_activation"], vector=self.vector) for name in ("gate", "cell", "candidate")
        )
        # sigmoid(x) = (1 + tanh(x / 2)) / 2: with halved inputs one tanh serves all gates.
        self.halved = self.gate.name == "sigmoid" and self.candidate.name == "tanh" and not self.vector
        self._weight = weight
        self._bias = bias.reshape(-1)
        self.has_peepholes = bool(a["use_peepholes"])
        self.by_eights = self.vector and not a.get(ALL_GATES)
        """Whether to train as the AVX kernel does, which takes the cell for clipped at 0 where there is no clip."""

    @property
    def bias(self) -> Array:
        return self._bias[: 4 * self.size].reshape(4, 1, self.size)

    @cached_property
    def weight(self) -> Array:
        """One matrix for each gate."""
        out = self.k.empty((4, self._weight.shape[0], self.size), self._weight.dtype)
        out[...] = self._weight.reshape(-1, 4, self.size).transpose(1, 0, 2)
        return out

    @cached_property
    def peepholes(self) -> Array | None:
        """Peephole weights of input, forget and output gate for as many rows as the first step has."""
        if not self.has_peepholes:
            return None
        wide = (3, max(self.batches.first, 1), self.size)
        flat = self._bias[4 * self.size :].reshape(3, 1, self.size)
        out = self.k.empty(wide, flat.dtype)
        out[...] = flat
        return out

    @property
    def output_weight(self) -> Array:
        """The output gate's part of the weight."""
        return self._weight[:, 3 * self.size :]

    def activate(self, gates: Array) -> None:
        """Turn pre-activations of gates 1 ... into values between 0 and 1, and gate 0 into the candidate."""
        if self.halved:
            _cut_halves(self.xp, gates[1:])
            self.xp.tanh(gates, out=gates)
            _unhalve(gates[1:])
        else:
            self.candidate.apply(self.xp, gates[0])
            self.gate.apply(self.xp, gates[1:])

    def activate_output(self, gate: Array) -> None:
        if self.halved:
            _cut_halves(self.xp, gate)
            self.xp.tanh(gate, out=gate)
            _unhalve(gate)
        else:
            self.gate.apply(self.xp, gate)

    def within_clip(self, cells: Array) -> Array | None:
        """Return where a gradient passes the clip of the cell, or None without a clip.

        Fluid: its AVX kernel (float32, sizes divisible by 8) lets the first of 8 neighbours decide for all of them.
        """
        clip = cells.dtype.type(self.k.attrs.get("cell_clip") or 0)
        if clip <= 0:
            return None
        if not self.by_eights:
            return abs(cells) < clip
        return (abs(cells[:, ::8]) < clip).repeat(8, axis=1)

    def split(self, gates: Array) -> Array:
        """Return [rows, 4 * size] as [4, rows, size]."""
        return self.xp.ascontiguousarray(gates.reshape(-1, 4, self.size).transpose(1, 0, 2))

    def scattered(self, values: Array) -> Array:
        """Return time-major rows in the order of the input."""
        out = self.xp.empty_like(values)
        out[self.rows] = values
        return out


def _cut_halves(xp: ArrayLibrary | ModuleType, halves: Array) -> None:
    xp.minimum(halves, halves.dtype.type(SIGMOID_TOP / 2), out=halves)


def _unhalve(gates: Array) -> None:
    half = gates.dtype.type(0.5)
    gates *= half
    gates += half


def forward(k: Call, cell: Cell, x: Array, h0: Array | None, c0: Array, project: Array | None) -> tuple[Array, ...]:
    """Return gates, cells, activated cells, hidden states and (projected) outputs, all time-major.

    The input is gathered step by step, so that a step works on nearby memory.
    """
    xp, size, batches = k.xp, cell.size, cell.batches
    dtype, total = x.dtype, batches.total
    weight, peepholes, bias = cell.weight, cell.peepholes, cell.bias
    half = dtype.type(0.5)
    if cell.halved and peepholes is not None:
        peepholes = xp.multiply(peepholes, half, out=k.scratch("peepholes", peepholes.shape, dtype))
    by_gate = x.reshape(-1, size)
    gate_rows = k.dev.upload(batches.rows_by_column(4))
    kept = k.empty((total, 4, size), dtype)
    cells, seen, hidden = (k.empty((total, size), dtype) for _ in range(3))
    outputs = hidden if project is None else k.empty((total, project.shape[1]), dtype)
    state = batches.start_state(k, h0, outputs.shape[1], dtype)
    old = batches.start_state(k, c0, size, dtype)
    gate_memory = k.scratch("gates", (4 * batches.first * size,), dtype)
    work = k.scratch("work", (4 * batches.first * size,), dtype)
    clip = k.attrs.get("cell_clip")
    tanh_cell = cell.cell.name == "tanh" and not cell.vector
    n = -1
    g = product = work  # views for a step with n sequences; the next step usually has as many
    for step, (start, stop) in enumerate(batches.steps):
        if n != stop - start:
            n = stop - start
            g = gate_memory[: 4 * n * size].reshape(4, n, size)
            product = work[: 4 * n * size].reshape(4, n, size)
        c, i, f, o = g
        before, scratch = old[:n], product[0]
        xp.add(by_gate.take(gate_rows[4 * start : 4 * stop], axis=0).reshape(4, n, size), bias, out=g)
        if step or h0 is not None:
            g += products.by_state(xp, state[:n], weight, product)
        if cell.halved:
            g[1:] *= half
        if peepholes is None:
            cell.activate(g)
        else:
            g[1:3] += xp.multiply(before, peepholes[:2, :n], out=product[1:3])
            cell.activate(g[:3])
        new = xp.multiply(c, i, out=cells[start:stop])
        new += xp.multiply(f, before, out=scratch)
        if clip and clip > 0:
            xp.clip(new, -clip, clip, out=new)
        if peepholes is not None:
            o += xp.multiply(new, peepholes[2, :n], out=scratch)
            cell.activate_output(o)
        active = seen[start:stop]
        if tanh_cell:
            xp.tanh(new, out=active)
        else:
            active[...] = new
            cell.cell.apply(xp, active)
        h = xp.multiply(active, o, out=hidden[start:stop])
        kept[start:stop] = g.transpose(1, 0, 2)
        if project is not None:
            _project(k, cell, h, project, outputs[start:stop])
        old, state = new, outputs[start:stop]
    return kept.reshape(-1, 4 * size), cells, seen, hidden, outputs


def _project(k: Call, cell: Cell, h: Array, project: Array, out: Array) -> None:
    products.by_state(k.xp, h, project[None], out[None])
    if k.attrs["proj_activation"] != "identity":
        cell.cell.apply(k.xp, out)  # Fluid: the projection uses the cell's activation, whatever its own is
    if k.attrs["proj_clip"] > 0:
        k.xp.clip(out, -k.attrs["proj_clip"], k.attrs["proj_clip"], out=out)


def _project_slope(k: Call, cell: Cell, outputs: Array) -> Array:
    """Return the derivative of the projection's activation and clip at its outputs."""
    slope = (
        activation("identity").slope(outputs) if k.attrs["proj_activation"] == "identity" else cell.cell.slope(outputs)
    )
    if k.attrs["proj_clip"] > 0:
        slope = slope * (abs(outputs) < outputs.dtype.type(k.attrs["proj_clip"]))
    return slope


def output_gate_backward(
    k: Call,
    cell: Cell,
    x: Any,
    h0: Any,
    c0: Any,
    weight: Any,
    bias: Any,
    gate: Any,
    cells: Any,
    seen: Any,
    outputs: Any,
    project: Any,
    hidden: Any,
    dout: Any,
) -> Any:
    """Return the gradients of Input, H0, C0, Weight, Bias and ProjWeight if only the output gate is trained."""
    xp, size, batches = k.xp, cell.size, cell.batches
    first = batches.first
    dout = xp.zeros_like(outputs) if dout is None else dout.take(cell.rows, axis=0)
    if cell.gate.name == "sigmoid":
        to_output = 1 - gate  # times the hidden state: tanh(cell) gate (1 - gate)
        to_output *= hidden
    else:
        to_output = seen * cell.gate.slope(gate)
    back = xp.ascontiguousarray(cell.output_weight.T)
    dgate = xp.empty_like(to_output)
    product = k.scratch("product", (first, outputs.shape[1]), x.dtype)
    dprojected: Any = None
    project_slope: Any = None
    if project is not None:
        dprojected = xp.empty_like(outputs)
        project_slope = _project_slope(k, cell, outputs)
    next_n = 0
    for start, stop in reversed(batches.steps):
        dh = dout[start:stop]
        if next_n:
            dh[:next_n] += products.by_state(xp, dgate[stop : stop + next_n], back[None], product[None, :next_n])[0]
        if project is not None:
            dh = xp.multiply(dh, project_slope[start:stop], out=dprojected[start:stop]) @ project.T
        xp.multiply(dh, to_output[start:stop], out=dgate[start:stop])
        next_n = stop - start
    dx = xp.zeros(x.shape, x.dtype)
    dx.reshape(-1, size)[cell.rows * 4 + 3] = dgate
    dh0 = dc0 = dweight = dbias = dproject = None
    if k.wants("H0@GRAD"):
        dh0 = batches.state_grad(k, h0, dgate[:first] @ back)
    if k.wants("C0@GRAD"):
        dc0 = xp.zeros_like(c0)
    if k.wants("Weight@GRAD"):
        dweight = xp.zeros_like(weight)
        part = products.product(outputs.take(k.dev.upload(batches.before), axis=0).T, dgate[first:])
        if h0 is not None:
            part += batches.start_state(k, h0, outputs.shape[1], x.dtype).T @ dgate[:first]
        dweight[:, 3 * size :] = part
    if k.wants("Bias@GRAD"):
        dbias = xp.zeros_like(bias)
        dbias[0, 3 * size : 4 * size] = dgate.sum(axis=0)
        if cell.has_peepholes:
            dbias[0, 6 * size :] = xp.multiply(dgate, cells, out=to_output).sum(axis=0)
    if project is not None and k.wants("ProjWeight@GRAD"):
        dproject = hidden.T @ dprojected
    return dx, dh0, dc0, dweight, dbias, dproject


def all_gates_backward(
    k: Call,
    cell: Cell,
    x: Array,
    h0: Array | None,
    c0: Array,
    weight: Array,
    bias: Array,
    gates: Array,
    cells: Array,
    seen: Array,
    outputs: Array,
    project: Array | None,
    hidden: Array,
    dout: Array | None,
    dcell: Array | None,
) -> tuple[Array | None, ...]:
    """Return the gradients of Input, H0, C0, Weight, Bias and ProjWeight."""
    xp, size, batches = k.xp, cell.size, cell.batches
    dtype, peepholes = x.dtype, cell.peepholes
    dout = xp.zeros_like(outputs) if dout is None else dout[cell.rows]
    dcells = None if dcell is None else dcell[cell.rows]
    c, i, f, o = cell.split(gates)
    before = batches.previous(k, cells, batches.start_state(k, c0, size, dtype))
    # Everything that does not depend on later steps is computed for all steps at once.
    to_output = seen * cell.gate.slope(o)
    to_cell = o * cell.cell.slope(seen)
    factors = xp.empty((3, batches.total, size), dtype)
    xp.multiply(i, cell.candidate.slope(c), out=factors[0])
    xp.multiply(c, cell.gate.slope(i), out=factors[1])
    xp.multiply(before, cell.gate.slope(f), out=factors[2])
    dgates = xp.empty((4, batches.total, size), dtype)
    transposed = xp.ascontiguousarray(cell.weight.transpose(0, 2, 1))
    dprojected: Any = None
    project_slope: Any = None
    if project is not None:
        dprojected = xp.empty_like(outputs)
        project_slope = _project_slope(k, cell, outputs)
    within = cell.within_clip(cells)
    next_dc: Any = None
    next_n = 0
    for start, stop in reversed(batches.steps):
        n = stop - start
        dh = dout[start:stop]
        if next_n:
            dh[:next_n] += share_products(k, dgates[:, stop : stop + next_n], transposed).sum(axis=0)
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
        if within is not None:
            dc *= within[start:stop]
        xp.multiply(factors[:, start:stop], dc, out=dg[:3])
        dc *= f[start:stop]
        if peepholes is not None:
            dc += dg[1] * peepholes[0, :n]
            dc += dg[2] * peepholes[1, :n]
        next_dc, next_n = dc, n
    first = batches.first
    dx = xp.empty(x.shape, x.dtype)
    dx.reshape(-1, 4, size)[cell.rows] = dgates.transpose(1, 0, 2)
    dh0 = dc0 = dweight = dbias = dproject = None
    if k.wants("H0@GRAD"):
        dh0 = batches.state_grad(k, h0, xp.matmul(dgates[:, :first], transposed).sum(axis=0))
    if k.wants("C0@GRAD"):
        dc0 = batches.state_grad(k, c0, next_dc)
    if k.wants("Weight@GRAD"):
        before_each = outputs[k.dev.upload(batches.before)].T
        dweight = xp.stack([products.product(before_each, dgate) for dgate in dgates[:, first:]])
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
