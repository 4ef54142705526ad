"""`layers.lstm`: a stack of LSTMs over [time, batch, width], with all weights in one buffer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__: list[str] = []

Array = npt.NDArray[np.float32]
_ORDER = [0, 3, 1, 2]  # input, forget, candidate, output in Fluid; input, output, forget, candidate in ONNX


def _cut(flat: Array, width: int, hidden: int, layers: int, directions: int) -> Iterator[tuple[Array, Array, Array]]:
    """Yield for each layer the matrices of input and state and the biases, in ONNX's layout."""
    matrices: list[list[tuple[Array, Array]]] = []
    at = 0
    for layer in range(layers):
        inputs = width if layer == 0 else hidden * directions
        matrices.append([])
        for _ in range(directions):
            parts = []
            for columns in (inputs, hidden):
                parts.append(flat[at : at + 4 * hidden * columns].reshape(4, hidden, columns))
                at += 4 * hidden * columns
            matrices[-1].append((parts[0], parts[1]))
    for each in matrices:
        biases = []
        for _ in range(directions):
            both = flat[at : at + 8 * hidden].reshape(2, 4, hidden)
            biases.append(np.concatenate([half[_ORDER].reshape(-1) for half in both]))
            at += 8 * hidden
        w, r = (np.stack([pair[i][_ORDER].reshape(4 * hidden, -1) for pair in each]) for i in (0, 1))
        yield w, r, np.stack(biases)


@maps("cudnn_lstm")
def cudnn_lstm(
    k: Op, x: Value, init_h: Value, init_c: Value, weight: Value, cache: Value | None
) -> tuple[Value, Value, Value]:
    hidden, layers = int(k.attr("hidden_size")), int(k.attr("num_layers"))
    directions = 2 if k.attr("is_bidirec") else 1
    width = k.dims("Input")[2]
    flat = k.const(weight, "the weight").reshape(-1)
    last_h, last_c = [], []
    for layer, parts in enumerate(_cut(flat, width, hidden, layers, directions)):
        states = [k.g.slice(each, 0, layer * directions, (layer + 1) * directions) for each in (init_h, init_c)]
        out, h, c = k.g.node(
            "LSTM",
            x,
            *parts,
            None,
            *states,
            dtypes=[x.dtype] * 3,
            ranks=[4, 3, 3],
            hidden_size=hidden,
            direction="bidirectional" if directions == 2 else "forward",
        )
        turned = k("Transpose", out, perm=[0, 2, 1, 3])
        x = k.g.reshape(turned, [0, 0, directions * hidden])
        last_h.append(h)
        last_c.append(c)
    joined = [each[0] if layers == 1 else k("Concat", *each, axis=0) for each in (last_h, last_c)]
    return x, joined[0], joined[1]
