"""Ops that reduce, sort, search or scan along axes."""

from __future__ import annotations

from tests.differential.draw import OpDraw, draws


@draws("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
def reduce(d: OpDraw) -> None:
    shape = d.shape(1, 4, 3)  # for more dims 1.8.5 returns stray memory
    d.put("X", d.apart(shape) if "m" in d.op[-3:] else d.floats(shape, 0.5, 1.5))
    _reduce_attrs(d, len(shape))
    if d.op != "reduce_sum" and d.float == "float32" and d.chance(0.1):
        d.attrs.update(in_dtype=5, out_dtype=5)
    if d.op in ("reduce_sum",) and d.chance(0.1):
        d.attrs["out_dtype"] = 6
        d.attrs["in_dtype"] = 5


def _reduce_attrs(d: OpDraw, rank: int) -> None:
    axes = sorted(d.rng.sample(range(rank), d.rng.randint(1, rank)))  # 1.8.5 returns stray memory for unsorted ones
    d.attr("dim", [0], [axis - rank if d.chance(0.3) else axis for axis in axes])
    d.attr("keep_dim", False, True)
    d.attr("reduce_all", False, False, True)
    if len(d.attrs.get("dim", [0])) == rank:
        d.attrs["reduce_all"] = True  # as the layers do; without it 1.8.5 returns stray memory
    elif d.attrs.get("reduce_all"):
        d.attrs["dim"] = [0]
        d.steady.add("X")  # beside dims its gradients are stray memory


@draws("reduce_all", "reduce_any", grad=False)
def reduce_bool(d: OpDraw) -> None:
    shape = d.shape(1, 4, 3)
    d.put("X", d.bools(shape))
    _reduce_attrs(d, len(shape))
    if d.chance(0.2):
        d.attrs.update(in_dtype=0, out_dtype=0)


@draws("arg_max", "arg_min", grad=False)
def arg(d: OpDraw) -> None:
    shape = d.shape(1, 5)
    d.put("X", d.pick(d.floats(shape, -1, 1).round(1), d.ids(shape, 5), d.ids(shape, 5, dtype="int32")))
    d.attrs["axis"] = d.rng.randrange(-len(shape), len(shape))
    d.attr("keepdims", False, True)
    d.attr("dtype", -1, 2, 3)


@draws("argsort")
def argsort(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    d.put("X", d.apart(shape))
    d.attr("axis", -1, d.rng.randrange(-len(shape), len(shape)))
    d.attr("descending", False, True)


@draws("top_k")
def top_k(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    shape[-1] = d.size(2, 6)
    k = d.rng.randint(1, shape[-1])
    if d.chance(0.3):  # many of them equal
        d.put("X", d.ids(shape, 3, dtype=d.float))
    else:
        d.put("X", d.apart(shape))
    d.attrs["k"] = k
    if d.chance(0.2):
        d.put("K", d.ids([1], k + 1, k, "int32"), fixed=True)


@draws("cumsum")
def cumsum(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    d.put("X", d.floats(shape))
    d.attr("axis", -1, d.rng.randrange(-len(shape), len(shape)))
    d.attr("exclusive", False, True)
    d.attr("reverse", False, True)


@draws("unique", "unique_with_counts", grad=False)
def unique(d: OpDraw) -> None:
    d.put("X", d.ids([d.size(1, 8)], 5, dtype=d.pick("int32", "int64")))
    d.attrs["dtype"] = d.pick(2, 3)


@draws("where_index", grad=False)
def where_index(d: OpDraw) -> None:
    d.put("Condition", d.bools(d.shape()))


@draws("norm")
def norm(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    d.put("X", d.floats(shape))
    d.attrs["axis"] = d.rng.randrange(-len(shape), len(shape))
    d.real("epsilon", 1e-10, 0.0, 0.1)


@draws("mean_iou", grad=False)
def mean_iou(d: OpDraw) -> None:
    classes = d.size(2, 5)
    shape = d.shape(1, 2, 6)
    dtype = d.pick("int32", "int32", "int64")
    d.put("Predictions", d.ids(shape, classes, dtype=dtype))
    d.put("Labels", d.ids(shape, classes, dtype=dtype))
    d.attrs["num_classes"] = classes
    if d.chance(0.3):
        d.put("InWrongs", d.ids([classes], 5, dtype="int32"), fixed=True)
        d.put("InCorrects", d.ids([classes], 5, dtype="int32"), fixed=True)
        d.put("InMeanIou", d.floats([1], 0, 1).astype("float32"), fixed=True)


@draws("accuracy", grad=False)
def accuracy(d: OpDraw) -> None:
    n, k, classes = d.size(1, 5), d.size(1, 3), 4
    d.put("Out", d.floats([n, k], 0, 1))
    d.put("Indices", d.ids([n, k], classes))
    d.put("Label", d.ids([n, 1], classes, dtype=d.pick("int64", "int64", "int32")))


@draws("auc", grad=False)
def auc(d: OpDraw) -> None:
    n, thresholds, slide = d.size(1, 6), d.pick(7, 15, 63), d.pick(0, 1, 2)
    d.put("Predict", d.rows([n, 2]))
    d.put("Label", d.ids([n, 1], 2))
    buckets = (1 + slide) * (thresholds + 1) + 1 if slide else thresholds + 1
    for slot in ("StatPos", "StatNeg"):
        d.put(slot, d.ids([1, buckets] if not slide or d.chance(0.3) else [buckets], 1), fixed=True)
    d.attrs = {"num_thresholds": thresholds, "slide_steps": slide, "curve": d.pick("ROC", "ROC", "PR")}
    d.same(StatPosOut="StatPos", StatNegOut="StatNeg")
