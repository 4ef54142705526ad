"""pyramid_hash: runs of words become rows, each assembled from pieces of one long parameter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.sequence.bloom import BloomFilter
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__ = ["xxh32"]

_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_MASK = 0xFFFFFFFF
_RAND_MAX = 2147483647


def _rotate(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (32 - bits))) & _MASK


def xxh32(data: bytes, seed: int) -> int:
    """Return the 32-bit xxHash of a multiple of four bytes."""
    words = np.frombuffer(data, "<u4").tolist()
    at = 0
    if len(words) >= 4:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed & _MASK, (seed - _P1) & _MASK]
        while at + 4 <= len(words):
            lanes = [_rotate((lane + words[at + i] * _P2) & _MASK, 13) * _P1 & _MASK for i, lane in enumerate(lanes)]
            at += 4
        found = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & _MASK
    else:
        found = (seed + _P5) & _MASK
    found = (found + len(data)) & _MASK
    for word in words[at:]:
        found = _rotate((found + word * _P3) & _MASK, 17) * _P4 & _MASK
    found = (found ^ (found >> 15)) * _P2 & _MASK
    found = (found ^ (found >> 13)) * _P3 & _MASK
    return found ^ (found >> 16)


def _rand(state: int) -> tuple[int, int]:
    """Return the next number of C's `rand_r` and its state."""
    found = 0
    for bits in (11, 10, 10):
        state = (state * 1103515245 + 12345) & _MASK
        found = (found << 10) ^ ((state >> 16) % (1 << bits))
    return found, state


_ATTRS: dict[str, Any] = {
    "num_emb": 0,
    "space_len": 0,
    "pyramid_layer": 2,
    "rand_len": 0,
    "drop_out_percent": 0.0,
    "is_training": 0,
    "use_filter": True,
    "white_list_len": 0,
    "black_list_len": 0,
    "seed": 0,
    "lr": 0.0,
    "distribute_update_vars": "",
}


def _infer(c: InferContext) -> None:
    c.check(c.attrs["num_emb"] % max(c.attrs["rand_len"], 1) == 0, "num_emb must be a multiple of rand_len")
    c.set("Out", (-1, c.attrs["num_emb"]), c.dtype("W"), c.input("X").lod_level)
    c.set("X_Temp_Out", c.shape("X"))


def _terms(k: Call, words: Array) -> list[list[Array]]:
    """Return the runs of two to `pyramid_layer` words of each sequence, shortest first."""
    ends = [int(end) for end in k.lod("X")[-1]]
    found = []
    for start, stop in itertools.pairwise(ends):
        lengths = range(2, min(k.attrs["pyramid_layer"], stop - start) + 1)
        found.append([words[i : i + n] for n in lengths for i in range(start, stop - n + 1)])
    return found


def _pieces(k: Call, term: Array) -> list[int]:
    """Return the start in W of each piece of a term's row."""
    data, step, space = term.tobytes(), k.attrs["rand_len"], k.attrs["space_len"]
    return [xxh32(data, at) % space for at in range(0, k.attrs["num_emb"], step)]


def _float_words(k: Call, x: Array) -> Array:
    return k.dev.download(x).reshape(-1).astype(np.float32)


def _filter(k: Call, words: Array | None, length: str) -> BloomFilter | None:
    if not k.attrs["use_filter"] or not k.attrs[length] or words is None:
        return None
    return BloomFilter(k.dev.download(words))


@op(
    "pyramid_hash",
    "X W WhiteList? BlackList?",
    "Out DropPos X_Temp_Out",
    _ATTRS,
    infer=_infer,
    grad=True,
    lod="kernel",
)
def pyramid_hash(k: Call, x: Array, w: Array, white: Array, black: Array) -> tuple[Array, ...]:
    """Out = one row for each run of words kept, at least one (of zeros) for a sequence. On the host.

    With use_filter, runs not in WhiteList and runs in BlackList are left out.

    Fluid: outside of training the rows are multiplied by `drop_out_percent`.
    """
    a = k.attrs
    listed = _filter(k, white, "white_list_len")
    barred = _filter(k, black, "black_list_len")
    table, words = k.dev.download(w).reshape(-1), _float_words(k, x)
    rows: list[Any] = []
    lengths: list[int] = []
    kept: list[bool] = []
    kept_counts: list[int] = []
    state = a["seed"] & _MASK
    for terms in _terms(k, words):
        before = len(rows)
        for term in terms:
            name = term.tobytes()
            keep = (listed is None or name in listed) and (barred is None or name not in barred)
            if keep and a["is_training"]:
                number, state = _rand(state)
                keep = number / _RAND_MAX >= a["drop_out_percent"]
            kept.append(keep)
            if keep:
                step = a["rand_len"]
                rows.append(np.concatenate([table[at : at + step] for at in _pieces(k, term)]))
        kept_counts.append(len(rows) - before)
        if len(rows) == before:
            rows.append(np.zeros(a["num_emb"], table.dtype))
        lengths.append(len(rows) - before)
    out = np.stack(rows) if a["is_training"] else np.stack(rows) * table.dtype.type(a["drop_out_percent"])
    k.out_lods["Out"] = (np.cumsum([0, *lengths]).astype(np.int64),)
    k.out_lods["DropPos"] = (np.cumsum([0, *kept_counts]).astype(np.int64),)
    drops = np.zeros((words.size * a["pyramid_layer"], 1), np.int32)
    drops[: len(kept), 0] = kept
    return k.dev.upload(out), k.dev.upload(drops), k.dev.upload(words.reshape(-1, 1))


@gradient("pyramid_hash", "X W DropPos X_Temp_Out? Out@GRAD", "X@GRAD")
def pyramid_hash_grad(k: Call, x: Array, w: Array, drops: Any, words: Array, dout: Array) -> None:
    """Fluid: W has no gradient; the op itself updates W at the rate `lr`."""
    d, kept = k.dev.download(dout), k.dev.download(drops).reshape(-1)
    table, step, row, at = k.dev.download(w).reshape(-1).copy(), k.attrs["rand_len"], 0, 0
    for terms in _terms(k, _float_words(k, x)):
        before = row
        for term in terms:
            if kept[at]:
                for n, place in enumerate(_pieces(k, term)):
                    table[place : place + step] -= table.dtype.type(k.attrs["lr"]) * d[row, n * step : (n + 1) * step]
                row += 1
            at += 1
        row += row == before
    w[...] = k.dev.upload(table.reshape(w.shape))
    return
