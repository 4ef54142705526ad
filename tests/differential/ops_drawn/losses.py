"""Losses, softmax and products."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws


@draws("softmax")
def softmax(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    d.put("X", d.floats(shape, -4, 4))
    d.attr("axis", -1, d.rng.randrange(-len(shape), len(shape)))


@draws("softmax_with_cross_entropy")
def softmax_with_cross_entropy(d: OpDraw) -> None:
    shape = d.shape(2, 4)
    shape[-1] = d.size(2, 5)
    axis = d.attr("axis", -1, d.rng.randrange(-len(shape), len(shape)))
    soft = d.attr("soft_label", False, True)
    d.put("Logits", d.floats(shape, -4, 4))
    if soft:
        d.put("Label", np.moveaxis(d.rows(list(np.moveaxis(np.empty(shape), axis, -1).shape)), -1, axis))
        d.no_grad("Label")
    else:
        label = list(shape)
        label[axis] = 1
        d.put("Label", d.ids(label, shape[axis]))
        d.attr("ignore_index", -100, 1, 0)
    d.attr("numeric_stable_mode", True, False)


@draws("cross_entropy", "cross_entropy2")
def cross_entropy(d: OpDraw) -> None:
    shape = d.shape(2, 3)
    shape[-1] = d.size(2, 5)
    lod = None
    if d.chance(0.2):
        lod, shape[0] = d.lod()
    d.put("X", d.rows(shape), lod=lod)
    if d.op == "cross_entropy" and d.attr("soft_label", False, True):
        d.put("Label", d.rows(shape))
        d.no_grad("Label")
    else:
        d.put("Label", d.ids([*shape[:-1], 1], shape[-1]))
        d.attr("ignore_index", -100, 1, 0)


@draws("bpr_loss")
def bpr_loss(d: OpDraw) -> None:
    n, classes = d.size(1, 4), d.size(2, 5)
    d.put("X", d.floats([n, classes]))
    d.put("Label", d.ids([n, 1], classes))


@draws("sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    d.put("X", d.floats(shape, -4, 4))
    label = d.bools(shape).astype(d.float) if d.chance() else d.floats(shape, 0, 1)
    d.put("Label", label)
    d.no_grad("Label")
    d.attr("ignore_index", -100, 1, 0)
    d.attr("normalize", False, True)


@draws("sigmoid_focal_loss")
def sigmoid_focal_loss(d: OpDraw) -> None:
    n, classes = d.size(1, 4), d.size(1, 4)
    d.put("X", d.floats([n, classes], -4, 4))
    d.put("Label", d.ids([n, 1], classes + 1, -1, "int32"))
    d.put("FgNum", np.array([d.size(1, 4)], "int32"), fixed=True)
    d.real("gamma", 2.0, 0.5, 3.0)
    d.real("alpha", 0.25, 0.1, 0.9)


@draws(
    "hinge_loss",
    "log_loss",
    "huber_loss",
    "rank_loss",
    "margin_rank_loss",
    "kldiv_loss",
    "smooth_l1_loss",
    "teacher_student_sigmoid_loss",
    "modified_huber_loss",
    "squared_l2_distance",
)
def pair_loss(d: OpDraw) -> None:
    n = d.size(1, 5)
    _PAIRS[d.op](d, n)


def _hinge(d: OpDraw, n: int) -> None:
    d.put("Logits", d.floats([n, 1]))
    d.put("Labels", d.bools([n, 1]).astype(d.float))
    d.no_grad("Labels")


def _log(d: OpDraw, n: int) -> None:
    d.put("Predicted", d.floats([n, 1], 0.05, 0.95))
    d.put("Labels", d.bools([n, 1]).astype(d.float))
    d.attrs["epsilon"] = d.pick(1e-4, 1e-3, 0.1)
    d.no_grad("Labels")


def _huber(d: OpDraw, n: int) -> None:
    d.put("X", d.floats([n, 1]))
    d.put("Y", d.floats([n, 1]))
    d.attrs["delta"] = d.pick(1.0, 0.5, 2.0)


def _rank(d: OpDraw, n: int) -> None:
    d.put("Label", d.bools([n, 1]).astype(d.float))
    d.put("Left", d.floats([n, 1]))
    d.put("Right", d.floats([n, 1]))
    d.no_grad("Label")


def _margin_rank(d: OpDraw, n: int) -> None:
    d.put("X1", d.floats([n, 1]))
    d.put("X2", d.floats([n, 1]))
    d.put("Label", d.bools([n, 1]).astype(d.float) * 2 - 1)
    d.no_grad("Label")
    d.real("margin", 0.0, 0.0, 1.0)


def _kldiv(d: OpDraw, n: int) -> None:
    shape = [n, *d.shape(1, 2)]
    d.put("X", d.floats(shape))
    d.put("Target", d.floats(shape, 0.0, 1.0))
    d.attr("reduction", "mean", "sum", "none", "batchmean")
    d.no_grad("Target")


def _smooth_l1(d: OpDraw, n: int) -> None:
    shape = [n, *d.shape(1, 2)]
    d.put("X", d.floats(shape))
    d.put("Y", d.floats(shape))
    if d.chance(0.4):
        d.put("InsideWeight", d.floats(shape, 0, 2))
        d.put("OutsideWeight", d.floats(shape, 0, 2))
        d.no_grad("InsideWeight", "OutsideWeight")
    d.real("sigma", 1.0, 0.5, 3.0)


def _teacher(d: OpDraw, n: int) -> None:
    d.put("X", d.floats([n, 1], -20, 20))
    d.put("Label", d.numpy.choice([-2.0, -1.0, 0.3, 1.4], [n, 1]).astype(d.float))
    d.no_grad("Label")
    d.real("soft_max_up_bound", 15.0, 5, 10)
    d.real("soft_max_lower_bound", -15.0, -10, -5)


def _modified_huber(d: OpDraw, n: int) -> None:
    d.put("X", d.floats([n, 1]))
    d.put("Y", d.bools([n, 1]).astype(d.float))
    d.no_grad("Y")


def _squared_l2(d: OpDraw, n: int) -> None:
    width = d.size()
    d.put("X", d.floats([n, width]))
    d.put("Y", d.floats([d.pick(1, n), width]))


_PAIRS = {
    "hinge_loss": _hinge,
    "log_loss": _log,
    "huber_loss": _huber,
    "rank_loss": _rank,
    "margin_rank_loss": _margin_rank,
    "kldiv_loss": _kldiv,
    "smooth_l1_loss": _smooth_l1,
    "teacher_student_sigmoid_loss": _teacher,
    "modified_huber_loss": _modified_huber,
    "squared_l2_distance": _squared_l2,
}


@draws("label_smooth")
def label_smooth(d: OpDraw) -> None:
    n, classes = d.size(1, 4), d.size(2, 5)
    d.put("X", d.rows([n, classes]))
    d.real("epsilon", 0.0, 0.0, 0.5)
    if d.chance(0.3):
        d.put("PriorDist", d.rows([1, classes]), fixed=True)
        d.no_grad("PriorDist")


@draws("center_loss")
def center_loss(d: OpDraw) -> None:
    n, width, clusters = d.size(1, 4), d.size(1, 4), d.size(2, 4)
    d.put("X", d.floats([n, width]))
    d.put("Label", d.ids([n, 1], clusters))
    d.put("Centers", d.floats([clusters, width]), fixed=True)
    d.put("CenterUpdateRate", d.floats([1], 0.1, 0.9), fixed=True)
    d.attrs.update(cluster_num=clusters, need_update=d.chance())
    d.no_grad("Centers", "CenterUpdateRate")
    d.same(CentersOut="Centers")


@draws("matmul")
def matmul(d: OpDraw) -> None:
    m, k, n = d.size(), d.size(), d.size()
    lead = d.shape(0, 2, 3)
    transpose_x, transpose_y = d.attr("transpose_X", False, True), d.attr("transpose_Y", False, True)
    x, y = [k, m] if transpose_x else [m, k], [n, k] if transpose_y else [k, n]
    way = d.rng.random()
    if way < 0.15 and not lead:
        x = [k]
    elif way < 0.3 and not lead:
        y = [k]
    elif way < 0.5:
        d.put("X", d.floats([*lead, *x]))
        d.put("Y", d.floats(y))
        d.real("alpha", 1.0, -2.0, 2.0)
        return
    d.put("X", d.floats([*lead, *x]))
    d.put("Y", d.floats([*lead, *y]))
    d.real("alpha", 1.0, -2.0, 2.0)


@draws("mul")
def mul(d: OpDraw) -> None:
    x, y = d.shape(2, 4, 3), d.shape(2, 4, 3)
    x_cols, y_cols = d.rng.randrange(1, len(x)), d.rng.randrange(1, len(y))
    width = int(np.prod(x[x_cols:]))
    y = [width, *y[y_cols:]] if y_cols == 1 or width % y[0] else [y[0], width // y[0], *y[2:]]
    y_cols = 1 if y[0] == width and (len(y) < 3 or y[0] * y[1] != width) else 2
    if int(np.prod(y[:y_cols])) != width:
        y, y_cols = [width, d.size()], 1
    if y_cols >= len(y):
        y.append(d.size())
    lod = None
    if d.chance(0.2):
        lod, x[0] = d.lod()
        if x_cols == 0:
            x_cols = 1
    d.put("X", d.floats(x), lod=lod)
    d.put("Y", d.floats(y), fixed=True)
    d.attrs.update(x_num_col_dims=x_cols, y_num_col_dims=y_cols)


@draws("bmm")
def bmm(d: OpDraw) -> None:
    b, m, k, n = d.size(), d.size(), d.size(), d.size()
    d.put("X", d.floats([b, m, k]))
    d.put("Y", d.floats([b, k, n]))


@draws("cos_sim")
def cos_sim(d: OpDraw) -> None:
    shape = d.shape(2, 2)
    x = d.floats(shape)
    if d.chance(0.2):
        x[0] = 0
    d.put("X", x)
    d.put("Y", d.floats([d.pick(1, shape[0]), *shape[1:]]))


@draws("bilinear_tensor_product")
def bilinear_tensor_product(d: OpDraw) -> None:
    n, m, k, out = d.size(), d.size(), d.size(), d.size()
    d.put("X", d.floats([n, m]))
    d.put("Y", d.floats([n, k]))
    d.put("Weight", d.floats([out, m, k]), fixed=True)
    if d.chance():
        d.put("Bias", d.floats([1, out]), fixed=True)


@draws("hierarchical_sigmoid")
def hierarchical_sigmoid(d: OpDraw) -> None:
    lod, n = d.lod() if d.chance(0.3) else (None, d.size(1, 4))
    width, classes = d.size(1, 4), d.size(2, 6)
    d.put("X", d.floats([n, width]), lod=lod)
    d.put("Label", d.ids([n, 1], classes))
    nodes = classes - 1
    if d.chance(0.3):
        depth = d.size(1, 3)
        nodes = d.size(2, 5)
        # Sparse rows of the real one hold those behind the end of a path, too: zeros.
        is_sparse = d.attr("is_sparse", False, True)
        d.put("PathTable", d.ids([n, depth], nodes, 0 if is_sparse else -1))
        d.put("PathCode", d.ids([n, depth], 2))
    d.put("W", d.floats([nodes, width]), fixed=True)
    if d.chance():
        d.put("Bias", d.floats([nodes, 1]), fixed=True)
    d.attrs["num_classes"] = classes
    d.unfetched("W_Out")
    if d.attrs.get("is_sparse"):
        d.read.add("W@GRAD")


@draws("nce")
def nce(d: OpDraw) -> None:
    n, width, classes, true = d.size(1, 3), d.size(1, 3), d.size(3, 6), d.size(1, 2)
    d.float = "float32"
    d.put("Input", d.floats([n, width]))
    d.put("Label", d.ids([n, true], classes))
    d.put("Weight", d.floats([classes, width]), fixed=True)
    if d.chance():
        d.put("Bias", d.floats([classes, 1]), fixed=True)
    if d.chance(0.3):
        d.put("SampleWeight", d.floats([n, 1], 0.5, 2.0))
        d.no_grad("SampleWeight")
    samples = d.size(1, 3)
    d.attrs.update(num_total_classes=classes, num_neg_samples=samples, sampler=0, seed=d.size(1, 99))
    d.attrs["custom_neg_classes"] = d.ids([samples], classes).tolist()
    if d.attr("is_sparse", False, True):
        d.read.add("Weight@GRAD")
    d.attrs["sampler"] = d.pick(0, 0, 1, 2)
    if d.attrs["sampler"] == 2:
        d.put("CustomDistProbs", np.full(classes, 1 / classes, "float32"), fixed=True)
        d.put("CustomDistAlias", np.full(classes, -1, "int32"), fixed=True)
        d.put("CustomDistAliasProbs", np.ones(classes, "float32"), fixed=True)
        d.no_grad("CustomDistProbs", "CustomDistAliasProbs")


@draws("lookup_table", "lookup_table_v2")
def lookup(d: OpDraw) -> None:
    words, width = d.size(2, 6), d.size(1, 4)
    shape = d.shape(1, 2)
    lod = None
    if d.chance(0.3):
        lod, shape[0] = d.lod(d.size(1, 2))
    d.put("W", d.floats([words, width]), fixed=True)
    d.put("Ids", d.ids([*shape, 1] if d.op == "lookup_table" else shape, words), lod=lod)
    d.attr("padding_idx", -1, 0, words - 1)
    if d.attr("is_sparse", False, True):
        d.read.add("W@GRAD")


@draws("add_position_encoding")
def add_position_encoding(d: OpDraw) -> None:
    width = 2 * d.size(1, 3)
    if d.chance():
        lod, rows = d.lod()
        d.put("X", d.floats([rows, width]), lod=lod)
    else:
        d.put("X", d.floats([d.size(), d.size(), width]))
    d.real("alpha", 1.0, 0.1, 2.0)
    d.real("beta", 1.0, 0.1, 2.0)
