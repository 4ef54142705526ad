"""Ops that move elements: reshape, transpose, join, gather."""

from __future__ import annotations

import itertools

import numpy as np

from tests.differential.draw import OpDraw, draws


def _values(d: OpDraw, shape: list[int]) -> object:
    return d.floats(shape) if d.chance(0.85) else d.ids(shape, 9, dtype=d.pick("int32", "int64"))


@draws("reshape", "reshape2")
def reshape(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    target = list(shape)
    d.rng.shuffle(target)
    cut = d.rng.randrange(len(target))
    target = [*target[:cut], int(np.prod(target[cut:]))]
    if d.chance(0.4):
        target[d.rng.randrange(len(target))] = -1
    elif d.chance(0.3) and len(target) <= len(shape) and target[0] == shape[0]:
        target[0] = 0
    d.put("X", _values(d, shape))
    d.attrs["shape"] = target
    way = d.rng.random()
    if way < 0.15:
        d.put("Shape", np.array(target, "int32"), fixed=True)
    elif way < 0.3:
        d.put("ShapeTensor", *[np.array([one], "int32") for one in target], fixed=True)


@draws("transpose", "transpose2")
def transpose(d: OpDraw) -> None:
    shape = d.shape(1, 5, 3)
    axis = list(range(len(shape)))
    d.rng.shuffle(axis)
    d.put("X", _values(d, shape))
    d.attrs["axis"] = axis


@draws("squeeze", "squeeze2")
def squeeze(d: OpDraw) -> None:
    shape = [d.pick(1, 1, 2, 3) for _ in range(d.size(2, 5))]
    ones = [i for i, size in enumerate(shape) if size == 1]
    chosen = d.rng.sample(ones, d.rng.randint(0, len(ones)))
    d.put("X", _values(d, shape))
    d.attr("axes", [], [i - len(shape) if d.chance(0.3) else i for i in chosen])


@draws("unsqueeze", "unsqueeze2")
def unsqueeze(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    axes = []
    rank = len(shape)
    for _ in range(d.size(1, 2)):
        axes.append(d.rng.randint(-rank - 1, rank))
        rank += 1
    d.put("X", _values(d, shape))
    d.attrs["axes"] = axes
    way = d.rng.random()
    if way < 0.15:
        d.put("AxesTensor", np.array(axes, "int32"), fixed=True)
    elif way < 0.3:
        d.put("AxesTensorList", *[np.array([one], "int32") for one in axes], fixed=True)


@draws("flatten", "flatten2")
def flatten(d: OpDraw) -> None:
    shape = d.shape(1, 5, 3)
    d.put("X", _values(d, shape))
    d.attr("axis", 1, d.rng.randint(0, len(shape)))


@draws("concat")
def concat(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    axis = d.rng.randrange(-len(shape), len(shape))
    parts = []
    for _ in range(d.size(1, 3)):
        part = list(shape)
        part[axis] = d.size()
        parts.append(d.floats(part))
    d.put("X", *parts)
    d.attr("axis", axis, always=True)
    if d.chance(0.2):
        d.put("AxisTensor", np.array([axis], "int32"), fixed=True)


@draws("split")
def split(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    axis = d.rng.randrange(-len(shape), len(shape))
    count = d.size(1, 3)
    if d.chance():
        shape[axis] = count * d.size(1, 2)
        axis %= len(shape)  # counted from the end, the real one reads beside the dims
        d.attrs["num"] = count
    else:
        sections = [d.size(1, 3) for _ in range(count)]
        shape[axis] = sum(sections)
        if axis >= 0 and d.chance(0.3):  # counted from the end, the real one loses the -1
            sections[d.rng.randrange(count)] = -1
        d.attrs["sections"] = sections
    d.put("X", d.floats(shape), fixed=axis in (0, -len(shape)))
    d.attr("axis", axis, always=True)
    if axis >= 0 and "sections" in d.attrs and -1 not in d.attrs["sections"] and d.chance(0.2):
        d.put("SectionsTensorList", *[np.array([n], "int32") for n in d.attrs["sections"]], fixed=True)
        if d.chance(0.5):
            d.attrs["sections"] = [-1 if d.chance() else n for n in d.attrs["sections"]]
    if d.chance(0.15):
        d.put("AxisTensor", np.array([axis], "int32"), fixed=True)
    d.out("Out", count)


@draws("stack")
def stack(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    d.put("X", *[_values_like(d, shape) for _ in range(d.size(1, 3))])
    d.attr("axis", 0, d.rng.randint(-len(shape) - 1, len(shape)))


def _values_like(d: OpDraw, shape: list[int]) -> object:
    return d.floats(shape)


@draws("unstack")
def unstack(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    axis = d.attr("axis", 0, d.rng.randrange(-len(shape), len(shape)))
    d.put("X", d.floats(shape), fixed=True)
    d.attrs["num"] = shape[axis]
    d.out("Y", shape[axis])


@draws("expand")
def expand(d: OpDraw) -> None:
    shape = d.shape(1, 4, 3)
    times = [d.size(1, 3) for _ in shape]
    d.put("X", d.floats(shape))
    d.attrs["expand_times"] = times
    way = d.rng.random()
    if way < 0.15:
        d.put("ExpandTimes", np.array(times, "int32"), fixed=True)
    elif way < 0.3:
        d.put("expand_times_tensor", *[np.array([one], "int32") for one in times], fixed=True)


@draws("expand_as")
def expand_as(d: OpDraw) -> None:
    shape = d.shape(1, 4, 3)
    d.put("X", d.floats(shape))
    d.put("target_tensor", d.floats([size * d.size(1, 3) for size in shape]))
    d.no_grad("target_tensor")


@draws("gather")
def gather(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    n = d.size(1, 5)
    d.put("X", d.floats(shape))
    d.put("Index", d.ids(d.pick([n], [n, 1]), shape[0], dtype=d.pick("int32", "int64")))
    d.attr("overwrite", True, False)


@draws("gather_nd")
def gather_nd(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    depth = d.rng.randint(1, len(shape))
    lead = d.shape(1, 2, 3)
    index = np.stack([d.ids(lead, size, dtype="int64") for size in shape[:depth]], -1)
    d.put("X", d.floats(shape))
    d.put("Index", index.astype(d.pick("int32", "int64")))


@draws("scatter")
def scatter(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    overwrite = d.attr("overwrite", True, False)
    n = d.rng.randint(1, shape[0])
    ids = d.numpy.permutation(shape[0])[:n] if overwrite else d.numpy.randint(0, shape[0], n)
    d.put("X", d.floats(shape))
    d.put("Ids", ids.astype(d.pick("int32", "int64")))
    d.put("Updates", d.floats([n, *shape[1:]]))


@draws("scatter_nd_add")
def scatter_nd_add(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    depth = d.rng.randint(1, len(shape))
    lead = d.shape(1, 2, 3)
    index = np.stack([d.ids(lead, size) for size in shape[:depth]], -1).astype(d.pick("int32", "int64"))
    d.put("X", d.floats(shape))
    d.put("Index", index)
    d.put("Updates", d.floats([*lead, *shape[depth:]]))


@draws("reverse")
def reverse(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    axes = d.rng.sample(range(len(shape)), d.rng.randint(1, len(shape)))
    d.put("X", d.floats(shape))
    d.attrs["axis"] = [axis - len(shape) if d.chance(0.3) else axis for axis in axes]


@draws("multiplex")
def multiplex(d: OpDraw) -> None:
    count, shape = d.size(2, 4), d.shape(2, 3)
    d.put("Ids", d.ids([shape[0], 1], count, dtype="int32"))
    d.put("X", *[d.floats(shape) for _ in range(count)])


@draws("diag", grad=False)
def diag(d: OpDraw) -> None:
    d.put("Diagonal", _values(d, [d.size(1, 5)]), fixed=True)


@draws("one_hot", "one_hot_v2", grad=False)
def one_hot(d: OpDraw) -> None:
    depth = d.size(2, 6)
    shape = d.shape(1, 3)
    outside = d.attr("allow_out_of_range", False, True)
    last = [1] if d.op == "one_hot" else []
    lod = None
    if d.chance(0.2):
        lod, shape[0] = d.lod()
    ids = d.ids([*shape, *last], depth + 2 * outside, -1 if outside else 0, d.pick("int32", "int64"))
    d.put("X", ids, lod=lod)
    d.attrs.update(depth=depth, dtype=d.pick(5, 2, 3, 6))
    if d.chance(0.2):
        d.put("depth_tensor", np.array([depth], "int32"), fixed=True)


@draws("shard_index", grad=False)
def shard_index(d: OpDraw) -> None:
    total, shards = d.size(4, 20), d.size(1, 4)
    d.put("X", d.ids([d.size(1, 5), 1], total))
    d.attrs = {"index_num": total, "nshards": shards, "shard_id": d.rng.randrange(shards)}
    d.attr("ignore_value", -1, -7, 3)


@draws("space_to_depth")
def space_to_depth(d: OpDraw) -> None:
    block = d.pick(2, 3)
    d.put("X", d.floats([d.size(1, 2), block * block * d.size(1, 2), block * d.size(1, 2), block * d.size(1, 2)]))
    d.attrs["blocksize"] = block


@draws("pixel_shuffle")
def pixel_shuffle(d: OpDraw) -> None:
    factor = d.pick(1, 2, 3)
    d.put("X", d.floats([d.size(1, 2), factor * factor * d.size(1, 2), d.size(1, 3), d.size(1, 3)]), fixed=True)
    d.attrs["upscale_factor"] = factor


@draws("shuffle_channel")
def shuffle_channel(d: OpDraw) -> None:
    group = d.pick(1, 2, 3)
    d.put("X", d.floats([d.size(1, 2), group * d.size(1, 3), d.size(1, 3), d.size(1, 3)]))
    d.attrs["group"] = group


@draws("temporal_shift")
def temporal_shift(d: OpDraw) -> None:
    seg = d.size(1, 4)
    d.put("X", d.floats([seg * d.size(1, 2), d.size(4, 9), d.size(1, 2), d.size(1, 2)]))
    d.attrs["seg_num"] = seg
    d.real("shift_ratio", 0.25, 0.1, 0.49)


@draws("lod_reset")
def lod_reset(d: OpDraw) -> None:
    lod, rows = d.lod()
    d.put("X", d.floats([rows, d.size()]), lod=lod)
    cuts = sorted(d.rng.sample(range(1, rows), d.rng.randrange(rows))) if rows > 1 else []
    offsets = [0, *cuts, rows]
    way = d.rng.random()
    if way < 0.4:
        d.attrs["target_lod"] = offsets
    elif way < 0.7:
        d.put("Y", np.array(offsets, "int32"), fixed=True)
    else:
        lengths = [b - a for a, b in itertools.pairwise(offsets)]
        d.put("Y", d.floats([rows, 1]), lod=[lengths])
        d.no_grad("Y")
    if d.chance(0.2):
        d.attrs["append"] = True
