"""Stacked LSTM over padded tensors [time, batch, width], with weights in one buffer as cuDNN lays them out.

First all matrices, layer by layer and direction by direction: input weights of the gates input, forget, candidate,
output, then their recurrent weights, each [hidden, inputs]; then all biases in the same order, two for each gate.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled.products import product
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__ = ["weight_size"]


def weight_size(width: int, hidden: int, layers: int, directions: int) -> int:
    """Return the number of weights and biases."""
    total = 0
    for layer in range(layers):
        inputs = width if layer == 0 else hidden * directions
        total += directions * 4 * hidden * (inputs + hidden + 2)
    return total


def _infer(c: InferContext) -> None:
    time, batch, _ = c.shape("Input")
    directions = 2 if c.attrs["is_bidirec"] else 1
    c.set("Out", (time, batch, c.attrs["hidden_size"] * directions), c.dtype("Input"), 0)
    for slot, source in (("last_h", "InitH"), ("last_c", "InitC")):
        c.set(slot, c.shape(source), c.dtype("Input"), 0)


class _Weights:
    """Views of the parts of a weight buffer, by layer and direction."""

    def __init__(self, k: Call, width: int, flat: Array) -> None:
        a = k.attrs
        self.directions = 2 if a["is_bidirec"] else 1
        hidden, layers = a["hidden_size"], a["num_layers"]
        wanted = weight_size(width, hidden, layers, self.directions)
        if flat.size != wanted:
            raise EnforceNotMet(f"W must hold {wanted} numbers, it holds {flat.size}")
        self.matrices: list[tuple[Any, Any]] = []
        self.biases: list[tuple[Any, Any]] = []
        at = 0
        for layer in range(layers):
            inputs = width if layer == 0 else hidden * self.directions
            for _ in range(self.directions):
                parts = []
                for columns in (inputs, hidden):
                    parts.append(flat[at : at + 4 * hidden * columns].reshape(4 * hidden, columns))
                    at += 4 * hidden * columns
                self.matrices.append((parts[0], parts[1]))
        for _ in range(layers * self.directions):
            self.biases.append((flat[at : at + 4 * hidden], flat[at + 4 * hidden : at + 8 * hidden]))
            at += 8 * hidden


def _sigmoid(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    return xp.tanh(x * x.dtype.type(0.5)) * x.dtype.type(0.5) + x.dtype.type(0.5)


def _run(
    xp: ArrayLibrary | ModuleType,
    x: Array,
    weights: tuple[Array, Array],
    bias: tuple[Array, Array],
    h: Array,
    c: Array,
    reverse: bool,
) -> Any:
    """Run one direction of one layer; return outputs, last states and what its gradient needs."""
    time = x.shape[0]
    size = h.shape[1]
    shares = product(x.reshape(-1, x.shape[2]), weights[0].T).reshape(time, x.shape[1], -1) + (bias[0] + bias[1])
    gates = xp.empty_like(shares)
    hidden = xp.empty((time, *h.shape), x.dtype)
    cells = xp.empty_like(hidden)
    olds = (xp.empty_like(hidden), xp.empty_like(hidden))
    order = range(time - 1, -1, -1) if reverse else range(time)
    for t in order:
        olds[0][t], olds[1][t] = h, c
        g = gates[t]
        g[...] = shares[t] + h @ weights[1].T
        g[:, : 2 * size] = _sigmoid(xp, g[:, : 2 * size])
        g[:, 2 * size : 3 * size] = xp.tanh(g[:, 2 * size : 3 * size])
        g[:, 3 * size :] = _sigmoid(xp, g[:, 3 * size :])
        c = g[:, size : 2 * size] * c + g[:, :size] * g[:, 2 * size : 3 * size]
        h = g[:, 3 * size :] * xp.tanh(c)
        hidden[t], cells[t] = h, c
    return hidden, h, c, (x, gates, cells, olds)


def _back(
    xp: ArrayLibrary | ModuleType,
    kept: Array,
    weights: tuple[Array, Array],
    dout: Array,
    dh: Array,
    dc: Array,
    reverse: bool,
) -> tuple[Any, Any, Any, tuple[Any, Any], Any]:
    """Return the gradients of the input, initial states, both matrices and bias."""
    x, gates, cells, (old_h, old_c) = kept
    time, size = x.shape[0], cells.shape[2]
    dgates = xp.empty_like(gates)
    order = range(time) if reverse else range(time - 1, -1, -1)
    for t in order:
        i, f, j, o = (gates[t][:, n * size : (n + 1) * size] for n in range(4))
        seen = xp.tanh(cells[t])
        dh = dh + dout[t]
        dc = dc + dh * o * (1 - seen * seen)
        parts = [dc * j * i * (1 - i), dc * old_c[t] * f * (1 - f), dc * i * (1 - j * j), dh * seen * o * (1 - o)]
        dgates[t] = xp.concatenate(parts, axis=1)
        dc = dc * f
        dh = dgates[t] @ weights[1]
    flat = dgates.reshape(-1, 4 * size)
    dmatrices = (product(flat.T, x.reshape(-1, x.shape[2])), product(flat.T, old_h.reshape(-1, size)))
    return product(flat, weights[0]).reshape(x.shape), dh, dc, dmatrices, flat.sum(axis=0)


@op(
    "cudnn_lstm",
    "Input InitH InitC W Cache?",
    "Out last_h last_c Reserve?",
    {
        "max_len": 20,
        "dropout_prob": 0.0,
        "is_bidirec": False,
        "input_size": 10,
        "hidden_size": 100,
        "num_layers": 1,
        "is_test": False,
        "seed": 0,
    },
    infer=_infer,
    grad=True,
    lod="none",
)
def cudnn_lstm(k: Call, x: Any, init_h: Any, init_c: Any, flat: Any, cache: Any) -> Any:
    """Out = a stack of LSTMs, in one or both directions, with dropout between the layers."""
    xp, a = k.xp, k.attrs
    weights = _Weights(k, x.shape[2], flat.reshape(-1))
    directions = weights.directions
    last_h, last_c = xp.empty_like(init_h), xp.empty_like(init_c)
    kept, masks = [], []
    engine = k.state.setdefault("engine", np.random.default_rng(a["seed"] if a["seed"] > 0 else None))
    for layer in range(a["num_layers"]):
        mask = None
        if layer and a["dropout_prob"] and not a["is_test"]:
            keep = 1.0 - a["dropout_prob"]
            mask = k.dev.upload(((engine.random(x.shape) < keep) / keep).astype(x.dtype))
            x = x * mask
        masks.append(mask)
        outs = []
        for direction in range(directions):
            n = layer * directions + direction
            out, last_h[n], last_c[n], saved = _run(
                xp, x, weights.matrices[n], weights.biases[n], init_h[n], init_c[n], direction == 1
            )
            outs.append(out)
            kept.append(saved)
        x = outs[0] if directions == 1 else xp.concatenate(outs, axis=2)
    return x, last_h, last_c, (kept, masks)


@gradient(
    "cudnn_lstm",
    "Input InitH InitC W Reserve Out@GRAD last_h@GRAD last_c@GRAD",
    "Input@GRAD InitH@GRAD InitC@GRAD W@GRAD",
)
def cudnn_lstm_grad(
    k: Call,
    x: Array,
    init_h: Array,
    init_c: Array,
    flat: Array,
    reserve: Array,
    dout: Array,
    dlast_h: Array,
    dlast_c: Array,
) -> tuple[Array, ...]:
    xp, a = k.xp, k.attrs
    kept, masks = reserve
    weights = _Weights(k, x.shape[2], flat.reshape(-1))
    dflat = xp.zeros_like(flat)
    dweights = _Weights(k, x.shape[2], dflat.reshape(-1))
    directions, size = weights.directions, a["hidden_size"]
    dinit_h, dinit_c = xp.empty_like(init_h), xp.empty_like(init_c)
    for layer in range(a["num_layers"] - 1, -1, -1):
        total: Any = None
        for direction in range(directions):
            n = layer * directions + direction
            part = dout[:, :, direction * size : (direction + 1) * size]
            dx, dinit_h[n], dinit_c[n], dmatrices, dbias = _back(
                xp, kept[n], weights.matrices[n], part, dlast_h[n], dlast_c[n], direction == 1
            )
            for target, gradient_part in zip((*dweights.matrices[n], *dweights.biases[n]), (*dmatrices, dbias, dbias)):
                target[...] = gradient_part
            total = dx if total is None else total + dx
        dout = total if masks[layer] is None else total * masks[layer]
    return dout, dinit_h, dinit_c, dflat
