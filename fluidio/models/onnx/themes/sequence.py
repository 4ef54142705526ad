"""Ops on sequences: flat rows and offsets."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.sequences import Segments, offsets_from_lengths
from fluidio.models.onnx.table import maps

__all__ = ["column", "segments_of"]

_LOWEST = -3.4028234663852886e38


def segments_of(k: Op, slot: str, x: Value) -> Segments:
    """Return the innermost sequences of an input."""
    return Segments(k.g, k.last_level(slot), x)


def column(k: Op, vector: Value, rank: int) -> Value:
    """Return one number per row in a shape that broadcasts over rows of `rank` dims."""
    return k.g.unsqueeze(vector, *range(1, rank)) if rank > 1 else vector


def _whole(k: Op, x: Value) -> Value:
    return k.g.flat(k.g.cast(x, np.int64))


def _pooled_room(k: Op, s: Segments, x: Value, number: float) -> Value:
    dims = k.g("Concat", s.count, k.g("Shape", x, start=1), axis=0, rank=1)
    room = k.g.filled(dims, number, x.dtype)
    return Value(room.name, room.dtype, x.rank)


def _total(k: Op, s: Segments, x: Value) -> Value:
    return k("ScatterND", _pooled_room(k, s, x, 0), k.g.unsqueeze(s.number, 1), x, reduction="add")


def _largest(k: Op, s: Segments, x: Value) -> Value:
    return k("ScatterND", _pooled_room(k, s, x, _LOWEST), k.g.unsqueeze(s.number, 1), x, reduction="max")


@maps("sequence_pool")
def sequence_pool(k: Op, x: Value) -> Value:
    s = segments_of(k, "X", x)
    k.out_lods["Out"] = k.lod("X")[:-1]
    kind, rank = str(k.attr("pooltype")).upper(), k.rank(x)
    if kind == "MAX":
        out = _largest(k, s, x)
    elif kind in ("FIRST", "LAST"):
        row = s.starts if kind == "FIRST" else k("Sub", s.ends, 1)
        last = k("Sub", s.rows, 1)
        out = k("Gather", x, k("Max", k("Min", row, last), 0), axis=0, rank=rank)
    else:
        out = _total(k, s, x)
        size = k.g.cast(k("Max", s.lengths, 1), x.dtype)
        if kind == "AVERAGE":
            out = k("Div", out, column(k, size, rank))
        elif kind == "SQRT":
            out = k("Div", out, column(k, k("Sqrt", size), rank))
    empty = column(k, k("Equal", s.lengths, 0), rank)
    return k("Where", empty, k.g.value(float(k.attr("pad_value") or 0.0), x), out, rank=rank)


@maps("sequence_softmax")
def sequence_softmax(k: Op, x: Value) -> Value:
    s = segments_of(k, "X", x)
    k.pass_lod()
    flat = k.g.flat(x)
    top = k("Gather", _largest(k, s, flat), s.number)
    weight = k("Exp", k("Max", k("Sub", flat, top), -64))
    whole = k("Gather", _total(k, s, weight), s.number)
    return k("Reshape", k("Div", weight, whole), k.g.shape(x), rank=x.rank)


@maps("sequence_conv")
def sequence_conv(k: Op, x: Value, padding: Value | None, weight: Value) -> Value:
    k.pass_lod()
    s = segments_of(k, "X", x)
    start, length = int(k.attr("contextStart")), int(k.attr("contextLength"))
    rows, last = k.g.arange(s.rows), k("Sub", s.rows, 1)
    parts = []
    for shift in range(start, start + length):
        place = k("Add", s.position, shift)
        inside = k("And", k("GreaterOrEqual", place, 0), k("Less", place, s.own_length))
        seen = k("Gather", x, k("Max", k("Min", k("Add", rows, shift), last), 0), axis=0)
        other = k.g.value(0, x) if padding is None else _padding_row(k, padding, s, place, max(0, -start))
        parts.append(k("Where", k.g.unsqueeze(inside, 1), seen, other, rank=2))
    windows = parts[0] if len(parts) == 1 else k("Concat", *parts, axis=1)
    return k("MatMul", windows, weight)


def _padding_row(k: Op, padding: Value, s: Segments, place: Value, before: int) -> Value:
    """Return the row of PaddingData for each position outside its sequence; those before a sequence come first."""
    behind = k("Add", k("Sub", place, s.own_length), before)
    row = k("Where", k("Less", place, 0), k("Add", place, before), behind)
    last = k("Sub", k.g.rows(padding), 1)
    return k("Gather", padding, k("Max", k("Min", row, last), 0), axis=0)


@maps("sequence_expand")
def sequence_expand(k: Op, x: Value, y: Value) -> Value:
    lod_y, lod_x = k.lod("Y"), k.lod("X")
    if not lod_y:
        k.refuse("input Y has no LoD")
    level = int(k.attr("ref_level"))
    order = Segments(k.g, lod_y[level if level >= 0 else len(lod_y) - 1]).number
    if not lod_x:
        return k("Gather", x, order, axis=0)
    level_x, *deeper = lod_x
    if deeper:
        k.refuse("input X has more than one LoD level")
    groups = Segments(k.g, level_x)
    lengths = k("Gather", groups.lengths, order)
    rows, own = groups.ranges(k("Gather", groups.starts, order), lengths)
    k.out_lods["Out"] = (own.offsets,)
    return k("Gather", x, rows, axis=0)


@maps("sequence_expand_as")
def sequence_expand_as(k: Op, x: Value, y: Value) -> Value:
    lod = k.lod("Y")
    if len(lod) != 1:
        k.refuse("input Y needs one LoD level")
    k.out_lods["Out"] = lod
    return k("Gather", x, Segments(k.g, lod[0]).number, axis=0)


@maps("sequence_reverse")
def sequence_reverse(k: Op, x: Value, like: Value | None = None) -> Value:
    slot = "X" if k.lod("X") else "Like"
    k.out_lods["Y"] = k.lod(slot)
    s = Segments(k.g, k.last_level(slot), x)
    row = k("Sub", k("Sub", k("Gather", s.ends, s.number), 1), s.position)
    return k("Gather", x, row, axis=0)


@maps("sequence_concat")
def sequence_concat(k: Op, xs: list[Value]) -> Value:
    lods = k.lods["X"]
    if not all(lods):
        k.refuse("an input has no LoD")
    starts, lengths, base = [], [], k.g.constant(np.zeros(1, np.int64))
    for x, lod in zip(xs, lods, strict=True):
        s = Segments(k.g, lod[-1], x)
        starts.append(k.g.unsqueeze(k("Add", s.starts, base), 1))
        lengths.append(k.g.unsqueeze(s.lengths, 1))
        base = k("Add", base, s.rows)
    wide = k("Concat", *lengths, axis=1)
    own = Segments(k.g, offsets_from_lengths(k.g, k("ReduceSum", wide, np.array([1]), keepdims=0)))
    rows, _ = own.ranges(k.g.flat(k("Concat", *starts, axis=1)), k.g.flat(wide))
    k.out_lods["Out"] = (own.offsets,)
    return k("Gather", k("Concat", *xs, axis=0), rows, axis=0)


@maps("sequence_slice")
def sequence_slice(k: Op, x: Value, offset: Value, length: Value) -> Value:
    s = segments_of(k, "X", x)
    rows, own = s.ranges(k("Add", s.starts, _whole(k, offset)), _whole(k, length))
    k.out_lods["Out"] = (own.offsets,)
    return k("Gather", x, rows, axis=0)


@maps("sequence_reshape")
def sequence_reshape(k: Op, x: Value) -> Value:
    new = int(k.attr("new_dim"))
    width = k.g.dim(x, 1)
    k.out_lods["Out"] = (k("Div", k("Mul", k.last_level("X"), width), new),)
    return k.g.reshape(x, [-1, new])


@maps("sequence_enumerate")
def sequence_enumerate(k: Op, x: Value) -> Value:
    k.pass_lod()
    s = segments_of(k, "X", x)
    steps = np.arange(int(k.attr("win_size"))).reshape(1, -1)
    place = k("Add", k.g.unsqueeze(s.position, 1), steps)
    inside = k("Less", place, k.g.unsqueeze(s.own_length, 1))
    rows = k("Add", k.g.unsqueeze(k.g.arange(s.rows), 1), steps)
    picked = k("Gather", k.g.flat(x), k("Where", inside, rows, 0), axis=0)
    return k("Where", inside, picked, k.g.value(int(k.attr("pad_value")), x))


@maps("sequence_erase")
def sequence_erase(k: Op, x: Value) -> Value:
    flat = k.g.flat(x)
    tokens = np.asarray(k.ints("tokens"), x.dtype).reshape(1, -1)
    if tokens.size:
        hits = k("ReduceMax", k.g.cast(k("Equal", k.g.unsqueeze(flat, 1), tokens), np.int32), np.array([1]), keepdims=0)
        kept = k("Equal", hits, 0)
    else:
        kept = k("Equal", flat, flat)
    counts = offsets_from_lengths(k.g, k.g.cast(kept, np.int64))
    k.out_lods["Out"] = (*k.lod("X")[:-1], k("Gather", counts, k.last_level("X")))
    return k.g.unsqueeze(k("Compress", flat, kept, axis=0, rank=1), 1)


@maps("sequence_scatter")
def sequence_scatter(k: Op, x: Value, ids: Value, updates: Value) -> Value:
    k.pass_lod()
    s = Segments(k.g, k.last_level("Ids"))
    cells = k("Concat", k.g.unsqueeze(s.number, 1), k.g.unsqueeze(_whole(k, ids), 1), axis=1)
    return k("ScatterND", x, cells, k.g.flat(updates), reduction="add")


@maps("sequence_mask")
def sequence_mask(k: Op, x: Value, longest: Value | None) -> Value:
    lengths = k.g.cast(x, np.int64)
    if longest is not None:
        width = _whole(k, longest)
    elif int(k.attr("maxlen")) >= 0:
        width = k.g.constant(np.array([int(k.attr("maxlen"))]))
    else:
        width = k("ReduceMax", k.g.flat(lengths), keepdims=1)
    mask = k("Less", k.g.arange(width), k.g.unsqueeze(lengths, k.rank(x)))
    return k.g.cast(mask, k.dtype_attr("out_dtype"))


@maps("sequence_pad")
def sequence_pad(k: Op, x: Value, pad_value: Value) -> tuple[Value, Value]:
    s = segments_of(k, "X", x)
    width = int(k.attr("padded_length"))
    length = s.longest if width < 0 else k.g.constant(np.array([width]))
    fill = pad_value
    if k.dims("PadValue") in ((1,), (), (-1,)):
        fill = k.g.scalar(pad_value)
    return s.padded(x, k.g.cast(fill, x.dtype), length), s.lengths


@maps("sequence_unpad")
def sequence_unpad(k: Op, x: Value, length: Value) -> Value:
    s = Segments(k.g, offsets_from_lengths(k.g, _whole(k, length)))
    k.out_lods["Out"] = (s.offsets,)
    out = s.flat(x)
    return k.g.unsqueeze(out, 1) if k.rank(x) == 2 else out


@maps("lod_reset")
def lod_reset(k: Op, x: Value, y: Value | None) -> Value:
    if y is not None:
        lod = k.lod("Y") or (_whole(k, y),)
    else:
        lod = (k.g.constant(np.asarray(k.ints("target_lod"), np.int64)),)
    k.out_lods["Out"] = (*k.lod("X"), *lod) if k.attr("append") else lod
    return k("Identity", x)


@maps("im2sequence")
def im2sequence(k: Op, x: Value, sizes: Value | None) -> Value:
    from fluidio.models.onnx.themes.conv import columns

    if sizes is not None:
        k.refuse("the real size of each image (input Y) is not mapped")
    channels = k.dims("X")[1]
    if channels < 0:
        k.refuse("the number of channels is not known")
    up, left, down, right = k.ints("paddings")
    wide = columns(k, x, channels, k.ints("kernels"), k.ints("strides"), [1, 1], [up, left, down, right])
    each = k.g.dim(wide, 2)
    k.out_lods["Out"] = (k("Mul", k.g.arange(k("Add", k.g.rows(x), 1)), each),)
    turned = k("Transpose", wide, perm=[0, 2, 1])
    kernel = k.ints("kernels")
    return k.g.reshape(turned, [-1, channels * kernel[0] * kernel[1]])


@maps("ctc_align")
def ctc_align(k: Op, tokens: Value, length: Value | None) -> tuple[Value, Value | None]:
    if length is not None:
        return _aligned_padded(k, tokens, length)
    s = segments_of(k, "Input", tokens)
    flat = k.g.flat(tokens)
    kept = _kept(k, flat, s)
    counts = offsets_from_lengths(k.g, k.g.cast(kept, np.int64))
    k.out_lods["Output"] = (k("Gather", counts, s.offsets),)
    out = k("Compress", flat, kept, axis=0, rank=1)
    # Fluid: an empty result is a single -1.
    nothing = k("Sub", k.g.constant(np.array([1])), k("Min", k.g.rows(out), 1))
    return k.g.unsqueeze(k.g.pad(out, [0], nothing, 0, fill=-1), 1), None


def _kept(k: Op, flat: Value, s: Segments) -> Value:
    """Return which tokens are neither blank nor, if requested, equal to the previous one."""
    kept = k("Not", k("Equal", flat, int(k.attr("blank"))))
    if k.attr("merge_repeated"):
        before = k("Gather", flat, k("Max", k("Sub", k.g.arange(s.rows), 1), 0), axis=0)
        same = k("And", k("Equal", flat, before), k("Greater", s.position, 0))
        kept = k("And", kept, k("Not", same))
    return kept


def _aligned_padded(k: Op, tokens: Value, length: Value) -> tuple[Value, Value]:
    s = Segments(k.g, offsets_from_lengths(k.g, _whole(k, length)))
    flat = s.flat(tokens)
    flat = k.g.flat(flat)
    kept = _kept(k, flat, s)
    counts = k("Gather", offsets_from_lengths(k.g, k.g.cast(kept, np.int64)), s.offsets)
    own = Segments(k.g, counts)
    dims = k.g.shape(tokens)
    room = k.g.filled(dims, int(k.attr("padding_value")), tokens.dtype)
    out = k("ScatterND", room, own.cells, k("Compress", flat, kept, axis=0, rank=1), rank=2)
    return out, k.g.unsqueeze(k.g.cast(own.lengths, tokens.dtype), 1)
