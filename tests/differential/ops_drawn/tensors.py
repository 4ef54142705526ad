"""Ops of the last versions on plain tensors: products, indexing, diagonals; and recommenders' ops."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws


@draws("addmm")
def addmm(d: OpDraw) -> None:
    m, k, n = d.size(), d.size(), d.size()
    d.put("Input", d.floats([m, n]))
    d.put("X", d.floats([m, k]))
    d.put("Y", d.floats([k, n]))
    d.real("Alpha", 1.0, -2, 2)
    d.real("Beta", 1.0, -2, 2)


@draws("cross")
def cross(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    axis = d.rng.randrange(len(shape))
    shape[axis] = 3
    d.put("X", d.floats(shape))
    d.put("Y", d.floats(shape))
    if d.chance(0.7) or shape.index(3) != axis:
        d.attrs["dim"] = axis - len(shape) if d.chance(0.3) else axis


@draws("dot")
def dot(d: OpDraw) -> None:
    shape = d.shape(1, 2)
    d.put("X", d.floats(shape))
    d.put("Y", d.floats(shape))


@draws("dist")
def dist(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    d.put("X", d.floats(shape), fixed=True)
    d.put("Y", d.floats([size if d.chance(0.8) else 1 for size in shape]), fixed=True)
    d.attrs["p"] = d.pick(0.0, 1.0, 2.0, 3.0, float(np.float32(1.5)))


@draws("kron")
def kron(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape(1, 3, 3)))
    d.put("Y", d.floats(d.shape(1, 3, 3)))


@draws("l1_norm")
def l1_norm(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape()))


@draws("diag_embed", "trace")
def diagonals(d: OpDraw) -> None:
    shape = d.shape(1, 3) if d.op == "diag_embed" else [d.size(2, 4) for _ in range(d.size(2, 4))]
    rank = len(shape) + (d.op == "diag_embed")
    if d.op == "diag_embed":
        d.steady.add("Input")  # it has no gradient
    one, other = d.rng.sample(range(rank), 2)
    d.put("Input", d.floats(shape), fixed=True)
    d.attr("offset", 0, 1, -1, always=True)
    d.attrs.update(dim1=one - rank if d.chance(0.3) else one, dim2=other)


@draws("flip")
def flip(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    d.put("X", d.floats(shape))
    axes = d.rng.sample(range(len(shape)), d.rng.randint(1, len(shape)))
    d.attrs["dims"] = [axis - len(shape) if d.chance(0.3) else axis for axis in axes]


@draws("roll")
def roll(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    d.put("X", d.floats(shape))
    axes = d.rng.sample(range(len(shape)), d.rng.randint(1, len(shape)))
    d.attrs.update(dims=axes, shifts=[d.size(0, 6) - 3 for _ in axes])


@draws("index_sample")
def index_sample(d: OpDraw) -> None:
    rows, width = d.size(), d.size(2, 5)
    d.put("X", d.floats([rows, width]))
    d.put("Index", d.ids([rows, d.size()], width, dtype=d.pick("int32", "int64")))


@draws("index_select")
def index_select(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    axis = d.attr("dim", 0, d.rng.randrange(-len(shape), len(shape)))
    d.put("X", d.floats(shape))
    d.put("Index", d.ids([d.size()], shape[axis], dtype=d.pick("int32", "int64")))


@draws("meshgrid")
def meshgrid(d: OpDraw) -> None:
    count = d.size(1, 3)
    d.put("X", *[d.floats([d.size()]) for _ in range(count)], fixed=True)
    d.out("Out", count)


@draws("unbind")
def unbind(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    axis = d.attr("axis", 0, d.rng.randrange(-len(shape), len(shape)))
    d.put("X", d.floats(shape), fixed=True)
    d.out("Out", shape[axis])


@draws("tril_triu")
def tril_triu(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape(2, 4)))
    d.attrs["lower"] = d.chance()
    d.attr("diagonal", 0, 1, -1, 2)


@draws("partial_concat", "partial_sum")
def partial(d: OpDraw) -> None:
    rows, width = d.size(), d.size(2, 5)
    d.put("X", *[d.floats([rows, width]) for _ in range(d.size(1, 3))])
    start = d.attr("start_index", 0, 0, 1)
    d.attr("length", -1, d.size(1, width - start))


@draws("randint", grad=False)
def randint(d: OpDraw) -> None:
    d.attrs.update(shape=d.shape(), low=d.size(0, 3), high=d.size(5, 20), seed=d.size(1, 9999), dtype=d.pick(2, 3))
    d.out_dtypes["Out"] = "int32" if d.attrs["dtype"] == 2 else "int64"
    if d.chance(0.2):
        d.put("ShapeTensor", np.array(d.attrs["shape"], d.pick("int32", "int64")), fixed=True)
    elif d.chance(0.2):
        d.put("ShapeTensorList", *[np.array([n], "int32") for n in d.attrs["shape"]], fixed=True)


@draws("randperm", grad=False)
def randperm(d: OpDraw) -> None:
    d.attrs.update(n=d.size(1, 12), seed=d.size(1, 9999), dtype=d.pick(2, 3, 5))
    d.out_dtypes["Out"] = {2: "int32", 3: "int64", 5: "float32"}[d.attrs["dtype"]]


@draws("polygon_box_transform", grad=False)
def polygon_box_transform(d: OpDraw) -> None:
    d.put("Input", d.floats([d.size(1, 2), 2 * d.size(1, 4), d.size(), d.size()]))


@draws("hash", grad=False)
def hash_(d: OpDraw) -> None:
    lod, rows = d.lod()
    d.put("X", d.ids([rows, d.size(1, 3)], 1000, dtype=d.pick("int32", "int64")), lod=lod)
    d.attrs.update(num_hash=d.size(1, 3), mod_by=d.pick(100, 10007))


@draws("similarity_focus", grad=False)
def similarity_focus(d: OpDraw) -> None:
    shape = [d.size(1, 2), d.size(1, 3), d.size(1, 3), d.size(1, 3)]
    axis = d.pick(1, 2, 3)
    d.put("X", d.apart(shape))
    d.attrs.update(axis=axis, indexes=d.rng.sample(range(shape[axis]), d.size(1, shape[axis])))


@draws("cvm")
def cvm(d: OpDraw) -> None:
    rows = d.size()
    d.put("X", d.floats([rows, d.size(3, 5)], 0.1, 3))
    d.put("CVM", d.floats([rows, 2], 0.1, 3))
    d.no_grad("CVM")
    d.attr("use_cvm", True, False)
