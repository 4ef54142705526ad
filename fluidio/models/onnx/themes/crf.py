"""The best path of a linear-chain conditional random field, by two Scans."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Graph, Value
from fluidio.models.onnx.sequences import Segments, offsets_from_lengths
from fluidio.models.onnx.table import maps

__all__: list[str] = []


@maps("crf_decoding")
def crf_decoding(k: Op, emission: Value, transition: Value, label: Value | None, length: Value | None) -> Value:
    if length is not None:
        lengths = k.g.flat(k.g.cast(length, np.int64))
        s = Segments(k.g, offsets_from_lengths(k.g, lengths))
        width = k.g.dim(emission, 1)
        padded = emission
        places = k.g.unsqueeze(k.g.arange(width), 0)
        mask = k("Less", places, k.g.unsqueeze(lengths, 1))
    else:
        k.out_lods["ViterbiPath"] = k.lod("Emission")
        s = Segments(k.g, k.last_level("Emission"), emission)
        padded, mask = s.padded(emission, length=s.steps), s.mask
    path = _best_path(k, padded, mask, transition)
    if length is None:
        out = k.g.unsqueeze(s.flat(path), 1)
        return out if label is None else _agreeing(k, out, label)
    if label is not None:
        path = k.g.cast(k("Equal", path, k("Reshape", k.g.cast(label, np.int64), k.g.shape(path), rank=2)), np.int64)
    return k("Mul", path, k.g.cast(mask, np.int64))


def _agreeing(k: Op, path: Value, label: Value) -> Value:
    return k.g.cast(k("Equal", path, k.g.reshape(k.g.cast(label, np.int64), [-1, 1])), np.int64)


def _best_path(k: Op, padded: Value, mask: Value, transition: Value) -> Value:
    """Return the best tags [sequences, time] for emissions [sequences, time, tags]."""
    g = k.g
    first, last = (g.slice(transition, 0, i, i + 1) for i in range(2))
    moves = g.unsqueeze(g.slice(transition, 0, 2, 2**62), 0)
    start = g("Add", g.squeeze(g.slice(padded, 1, 0, 1), 1), first)
    # One extra step that belongs to no sequence: ONNX Runtime crashes on a Scan without steps.
    rest = g("Concat", g.slice(padded, 1, 1, 2**62), g.slice(padded, 1, 0, 1), axis=1)
    alive = g("Concat", g.slice(mask, 1, 1, 2**62), g("Xor", g.slice(mask, 1, 0, 1), g.slice(mask, 1, 0, 1)), axis=1)
    proto = _forward(g, padded.dtype, moves)
    scores, back = g.node(
        "Scan",
        start,
        rest,
        alive,
        dtypes=[padded.dtype, np.int64],
        ranks=[2, 3],
        body=proto,
        num_scan_inputs=2,
        scan_input_axes=[1, 1],
        scan_output_axes=[1],
    )
    end = g("ArgMax", g("Add", scores, last), axis=1, keepdims=1)
    _, tags = g.node(
        "Scan",
        end,
        back,
        dtypes=[np.int64, np.int64],
        ranks=[2, 2],
        body=_backward(g),
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1],
        scan_input_directions=[1],
        scan_output_directions=[1],
    )
    return tags


def _forward(g: Graph, dtype: object, moves: Value) -> object:
    """Step forward: the best path to each tag; a sequence that has ended keeps its scores."""
    b = g.child()
    scores, x, alive = b.given("scores", dtype, 2), b.given("emission", dtype, 2), b.given("alive", np.bool_, 1)
    reach = b("Add", b.unsqueeze(scores, 2), moves)
    best = b("ArgMax", reach, axis=1, keepdims=0, rank=2)
    new = b("Add", b("ReduceMax", reach, np.array([1]), keepdims=0), x)
    going = b.unsqueeze(alive, 1)
    stay = b("Expand", b.unsqueeze(b.arange(b.dim(scores, 1)), 0), b.shape(scores), rank=2)
    return b.body("forward", [scores, x, alive], [b("Where", going, new, scores), b("Where", going, best, stay)])


def _backward(g: Graph) -> object:
    """Step back: the tag before the chosen one."""
    b = g.child()
    tag, back = b.given("tag", np.int64, 2), b.given("back", np.int64, 2)
    before = b("GatherElements", back, tag, axis=1)
    return b.body("backward", [tag, back], [before, b.squeeze(before, 1)])
