"""Recurrent ops over sequences: a Scan over padded steps, whose body is the cell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.sequences import Segments
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.activation import activate

__all__ = ["over_steps"]

_BY_NUMBER = {0: "identity", 1: "sigmoid", 2: "tanh", 3: "relu"}
Step = Callable[[Op, Value, list[Value]], tuple[list[Value], list[Value]]]
"""Takes a step's input and the old states, returns the new states and what is put out."""


def _gate(k: Op, name: str, x: Value) -> Value:
    # Fluid: ops over sequences clip the input of sigmoid.
    if name == "sigmoid":
        x = k("Clip", x, np.asarray(-40, x.dtype), np.asarray(13, x.dtype))
    return activate(k, name, x)


def over_steps(k: Op, padded: Value, states: list[Value], outputs: int, step: Step) -> list[Value]:
    """Run a cell over [sequences, time, width]; return its outputs as [sequences, time, ...]."""
    g = k.g
    body = g.child()
    inner = k.within(body)
    held = [body.given("state", state.dtype, state.rank) for state in states]
    current = body.given("step", padded.dtype, 2)
    new, out = step(inner, current, held)
    proto = body.body("steps", [*held, current], [*new, *out])
    found = g.node(
        "Scan",
        *states,
        padded,
        dtypes=[*[state.dtype for state in states], *[padded.dtype] * outputs],
        ranks=[*[state.rank for state in states], *[3] * outputs],
        body=proto,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1] * outputs,
    )
    return found[len(states) :]


class _Sequences:
    """Convert flat rows to padded steps (in reverse order for a reversed op) and back."""

    def __init__(self, k: Op, x: Value, reverse: bool) -> None:
        self.k = k
        self.segments = Segments(k.g, k.last_level("Input"), x)
        s = self.segments
        if reverse:
            place = k("Sub", k("Sub", s.own_length, 1), s.position)
            s.cells = k("Concat", k.g.unsqueeze(s.number, 1), k.g.unsqueeze(place, 1), axis=1)

    def padded(self, x: Value) -> Value:
        return self.segments.padded(x, length=self.segments.steps)

    def flat(self, x: Value) -> Value:
        return self.segments.flat(x)

    def start(self, given: Value | None, width: int, dtype: object) -> Value:
        """Return the initial states: given, or zeros."""
        if given is not None:
            return given
        dims = self.k.g.join([self.segments.count, width])
        zeros = self.k.g.filled(dims, 0, dtype)
        return Value(zeros.name, zeros.dtype, 2)


def _parts(k: Op, x: Value, count: int) -> list[Value]:
    return k.g.node("Split", x, dtypes=[x.dtype] * count, ranks=[x.rank] * count, axis=1, num_outputs=count)


def _lstm_cell(k: Op, weight: Value, bias: Value, size: int, project: Value | None) -> Step:
    """Return the step of an LSTM; X holds the input's share of candidate, input, forget and output gate."""
    flat = k.g.reshape(bias, [1, -1])
    gates_bias = k.g.slice(flat, 1, 0, 4 * size)
    peepholes: list[Value] = []
    if k.attr("use_peepholes"):
        peepholes = [k.g.slice(flat, 1, (4 + i) * size, (5 + i) * size) for i in range(3)]
    names = [str(k.attr(f"{each}_activation")) for each in ("gate", "cell", "candidate")]
    clip, proj_clip = float(k.attr("cell_clip") or 0), float(k.attr("proj_clip") or 0)

    def step(b: Op, x: Value, states: list[Value]) -> tuple[list[Value], list[Value]]:
        state, old = states
        gates = b("Add", b("Add", x, gates_bias), b("MatMul", state, weight))
        c, i, f, o = _parts(b, gates, 4)
        if peepholes:
            i = b("Add", i, b("Mul", old, peepholes[0]))
            f = b("Add", f, b("Mul", old, peepholes[1]))
        i, f = _gate(b, names[0], i), _gate(b, names[0], f)
        new = b("Add", b("Mul", _gate(b, names[2], c), i), b("Mul", f, old))
        if clip:
            new = b("Clip", new, np.asarray(-clip, x.dtype), np.asarray(clip, x.dtype))
        if peepholes:
            o = b("Add", o, b("Mul", new, peepholes[2]))
        hidden = b("Mul", _gate(b, names[1], new), _gate(b, names[0], o))
        if project is not None:
            hidden = b("MatMul", hidden, project)
            if k.attr("proj_activation") != "identity":
                hidden = _gate(b, names[1], hidden)  # Fluid: uses the cell's activation, whatever its own is
            if proj_clip:
                hidden = b("Clip", hidden, np.asarray(-proj_clip, x.dtype), np.asarray(proj_clip, x.dtype))
        return [hidden, new], [hidden, new]

    return step


def _lstm(
    k: Op, x: Value, h0: Value | None, c0: Value | None, weight: Value, bias: Value, project: Value | None
) -> tuple[Value, Value]:
    first = "Hidden" if project is None else "Projection"
    k.out_lods[first] = k.out_lods["Cell"] = k.lod("Input")
    size = k.dims("Weight")[1] // 4
    rows = _Sequences(k, x, bool(k.attr("is_reverse")))
    width = size if project is None else k.dims("ProjWeight")[1]
    states = [rows.start(h0, width, x.dtype), rows.start(c0, size, x.dtype)]
    found = over_steps(k, rows.padded(x), states, 2, _lstm_cell(k, weight, bias, size, project))
    return rows.flat(found[0]), rows.flat(found[1])


@maps("lstm")
def lstm(k: Op, x: Value, h0: Value | None, c0: Value | None, weight: Value, bias: Value) -> tuple[Value, Value]:
    return _lstm(k, x, h0, c0, weight, bias, None)


@maps("lstmp")
def lstmp(
    k: Op, x: Value, h0: Value | None, c0: Value | None, weight: Value, project: Value, bias: Value
) -> tuple[Value, Value]:
    return _lstm(k, x, h0, c0, weight, bias, project)


def _gru_weights(k: Op, weight: Value, size: int) -> tuple[Value, Value]:
    flat = k.g.flat(weight)
    both = k.g.reshape(k.g.slice(flat, 0, 0, 2 * size * size), [size, 2 * size])
    return both, k.g.reshape(k.g.slice(flat, 0, 2 * size * size, 3 * size * size), [size, size])


def _gru_step(
    b: Op, x: Value, old: Value, weights: tuple[Value, Value], size: int, names: tuple[str, str], cut: bool
) -> tuple[Value, Value, Value]:
    """Return the gates, the reset state and the new state."""
    gate = _gate if cut else activate
    both = b("Add", b.g.slice(x, 1, 0, 2 * size), b("MatMul", old, weights[0]))
    u, r = _parts(b, gate(b, names[0], both), 2)
    reset = b("Mul", r, old)
    c = gate(b, names[1], b("Add", b.g.slice(x, 1, 2 * size, 3 * size), b("MatMul", reset, weights[1])))
    if b.attr("origin_mode"):
        new = b("Add", b("Mul", u, b("Sub", old, c)), c)
    else:
        new = b("Add", b("Mul", u, b("Sub", c, old)), old)
    return b("Concat", u, r, c, axis=1), reset, new


@maps("gru")
def gru(k: Op, x: Value, h0: Value | None, weight: Value, bias: Value | None) -> tuple[None, None, None, Value]:
    k.out_lods["Hidden"] = k.lod("Input")
    size = k.dims("Weight")[0]
    weights = _gru_weights(k, weight, size)
    names = str(k.attr("gate_activation")), str(k.attr("activation"))
    given = x if bias is None else k("Add", x, k.g.reshape(bias, [1, -1]))

    def step(b: Op, current: Value, states: list[Value]) -> tuple[list[Value], list[Value]]:
        new = _gru_step(b, current, states[0], weights, size, names, True)[2]
        return [new], [new]

    rows = _Sequences(k, x, bool(k.attr("is_reverse")))
    found = over_steps(k, rows.padded(given), [rows.start(h0, size, x.dtype)], 1, step)
    return None, None, None, rows.flat(found[0])


@maps("gru_unit")
def gru_unit(k: Op, x: Value, old: Value, weight: Value, bias: Value | None) -> tuple[Value, Value, Value]:
    size = k.dims("Weight")[0]
    given = x if bias is None else k("Add", x, k.g.reshape(bias, [1, -1]))
    names = _BY_NUMBER[int(k.attr("gate_activation"))], _BY_NUMBER[int(k.attr("activation"))]
    return _gru_step(k, given, old, _gru_weights(k, weight, size), size, names, False)


@maps("lstm_unit")
def lstm_unit(k: Op, x: Value, old: Value) -> tuple[Value, Value]:
    i, f, o, c = _parts(k, x, 4)
    f = k("Add", f, float(k.attr("forget_bias")))
    kept = k("Mul", k("Sigmoid", f), old)
    new = k("Add", kept, k("Mul", k("Sigmoid", i), k("Tanh", c)))
    return new, k("Mul", k("Sigmoid", o), k("Tanh", new))
