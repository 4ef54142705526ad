"""Losses over many classes that compute only a few: noise-contrastive estimation, hierarchical sigmoid."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.random.engine import os_seed
from fluidio.ops.random.samplers import AliasSampler, LogUniformSampler, UniformSampler, alias_tables
from fluidio.ops.registry import gradient, infer_gradients, op
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _sigmoid(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    return 1 / (1 + xp.exp(-x))


def _products(xp: ArrayLibrary | ModuleType, x: Array, rows: Array) -> Array:
    """Return the products of each row of X with some rows of its own."""
    found: Array = xp.matmul(rows, x[:, :, None])
    return found[:, :, 0]


def _rows_grad(k: Call, weight: Array, rows: Array, values: Array, is_bias: bool = False) -> Any:
    """Return a gradient by rows: sparse if requested, else dense. That of a bias is always dense."""
    if k.attrs["is_sparse"] and not is_bias:
        used = np.unique(np.asarray(k.dev.download(rows)))
        place = k.dev.upload(np.searchsorted(used, np.asarray(k.dev.download(rows))))
        summed = k.xp.zeros((used.size, *weight.shape[1:]), weight.dtype)
        k.dev.scatter_add(summed, place, values)
        return SelectedRows(k.dev.upload(used), weight.shape[0], summed)
    dense = k.xp.zeros_like(weight)
    k.dev.scatter_add(dense, rows, values)
    return dense


# -- nce -----------------------------------------------------------------------------------------------------------


def _infer_nce(c: InferContext) -> None:
    x, label = c.input("Input"), c.shape("Label")
    true = label[1] if len(label) == 2 else 1
    count = true + c.attrs["num_neg_samples"]
    c.set("Cost", (x.shape[0], 1), x.dtype, 0)
    c.set("SampleLogits", (x.shape[0], count), x.dtype, 0)
    c.set("SampleLabels", (x.shape[0], count), VarType.INT64, 0)


def _probabilities(k: Call, samples: Array, custom: Any) -> Array:
    """Return the probability that the sampler draws each class."""
    classes = k.attrs["num_total_classes"]
    if k.attrs["sampler"] == 0:
        return np.full(samples.shape, 1.0 / classes)
    if k.attrs["sampler"] == 1:
        return np.log((samples + 2.0) / (samples + 1.0)) / np.log(classes)
    return np.asarray(k.dev.download(custom)).reshape(-1)[samples]


def _draw(k: Call, count: int, probs: Any, alias: Any, alias_probs: Any) -> Any:
    """Return classes as the original draws them: with a seed, the same in every run."""
    classes, kind = k.attrs["num_total_classes"], k.attrs["sampler"]
    seed = k.attrs["seed"] or os_seed()
    sampler: UniformSampler | LogUniformSampler | AliasSampler
    if kind == 0:
        sampler = UniformSampler(classes - 1, seed)
    elif kind == 1:
        sampler = LogUniformSampler(classes - 1, seed)
    elif alias is None:  # for programs that came without the tables
        sampler = AliasSampler(*alias_tables(k.dev.download(probs).reshape(-1)), seed)
    else:
        sampler = AliasSampler(k.dev.download(alias).reshape(-1), k.dev.download(alias_probs).reshape(-1), seed)
    return sampler.first(count)


@op(
    "nce",
    "Input Label Weight Bias? SampleWeight? CustomDistProbs? CustomDistAlias? CustomDistAliasProbs?",
    "Cost SampleLogits SampleLabels",
    {
        "num_total_classes": 1,
        "num_neg_samples": 10,
        "sampler": 0,
        "seed": 0,
        "is_sparse": False,
        "remote_prefetch": False,
        "custom_neg_classes": [],
    },
    infer=_infer_nce,
    grad=True,
    lod="none",
)
def nce(
    k: Call,
    x: Array,
    label: Array,
    weight: Array,
    bias: Array | None,
    sample_weight: Array | None,
    probs: Array,
    alias: Array,
    alias_probs: Array,
) -> tuple[Array, ...]:
    """Cost = the loss of distinguishing the true classes from num_neg_samples randomly drawn ones."""
    xp = k.xp
    truth = np.asarray(k.dev.download(label), np.int64).reshape(x.shape[0], -1)
    classes = k.attrs["num_total_classes"]
    if truth.size and (truth.min() < 0 or truth.max() >= classes):
        raise EnforceNotMet(f"label {truth.max()} is out of range: num_total_classes is {classes}")
    negative = k.attrs["custom_neg_classes"]
    drawn = np.asarray(negative, np.int64) if len(negative) else None
    count = drawn.size if drawn is not None else k.attrs["num_neg_samples"]
    if drawn is None:
        drawn = _draw(k, count * x.shape[0], probs, alias, alias_probs).reshape(x.shape[0], count)
    samples = np.concatenate([truth, np.broadcast_to(drawn, (x.shape[0], count))], axis=1)
    noise = k.dev.upload((_probabilities(k, samples, probs) * k.attrs["num_neg_samples"]).astype(x.dtype))
    at = k.dev.upload(samples)
    logits = _products(xp, x, weight[at])
    if bias is not None:
        logits += bias.reshape(-1)[at]
    out = _sigmoid(xp, logits)
    true = truth.shape[1]
    cost = -xp.log(out[:, :true] / (out[:, :true] + noise[:, :true])).sum(axis=1)
    cost -= xp.log(noise[:, true:] / (out[:, true:] + noise[:, true:])).sum(axis=1)
    if sample_weight is not None:
        cost *= sample_weight.reshape(-1)
    return cost.reshape(-1, 1), out, at


def _sparse_weight(slot: str) -> Callable[[InferContext], None]:
    """Return an inference function for gradients; that of the weight is sparse if `is_sparse` is set."""

    def infer(c: InferContext) -> None:
        infer_gradients(c)
        if c.attrs["is_sparse"]:
            c.set(slot, type=VarType.SELECTED_ROWS)

    return infer


@gradient(
    "nce",
    "Input Label Weight Bias SampleWeight CustomDistProbs SampleLogits SampleLabels Cost@GRAD",
    "Input@GRAD Weight@GRAD Bias@GRAD",
    infer=_sparse_weight("Weight@GRAD"),
    lod="none",
    carried="CustomDistAlias CustomDistAliasProbs",
)
def nce_grad(
    k: Call,
    x: Array,
    label: Array,
    weight: Array,
    bias: Array,
    sample_weight: Array | None,
    probs: Array,
    out: Array,
    samples: Array,
    dcost: Array,
) -> KernelResult:
    true = label.reshape(x.shape[0], -1).shape[1]
    host = np.asarray(k.dev.download(samples))
    noise = k.dev.upload((_probabilities(k, host, probs) * k.attrs["num_neg_samples"]).astype(x.dtype))
    slope = out * (1 - out)
    dlogits = slope / (out + noise)
    dlogits[:, :true] = -noise[:, :true] * (1 - out[:, :true]) / (out[:, :true] + noise[:, :true])
    scale = dcost.reshape(-1, 1)
    if sample_weight is not None:
        scale = scale * sample_weight.reshape(-1, 1)
    dlogits = dlogits * scale
    dx = k.xp.matmul(dlogits[:, None], weight[samples])[:, 0] if k.wants("Input@GRAD") else None
    flat = samples.reshape(-1)
    dweight = dbias = None
    if k.wants("Weight@GRAD"):
        values = (dlogits[:, :, None] * x[:, None, :]).reshape(flat.size, -1)
        dweight = _rows_grad(k, weight, flat, values)
    if k.wants("Bias@GRAD"):
        dbias = _rows_grad(k, bias, flat, dlogits.reshape(-1, *(1,) * (bias.ndim - 1)), True)
    return dx, dweight, dbias


# -- hierarchical sigmoid ------------------------------------------------------------------------------------------


def _infer_tree(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", (x.shape[0], 1), x.dtype, 0)


def _path(k: Call, label: Array, table: Array | None, code: Array) -> tuple[Array, Array, Array]:
    """Return the nodes on the path to each label, the turn taken at each, and which of them exist."""
    ids = np.asarray(k.dev.download(label), np.int64).reshape(-1)
    if table is not None:
        nodes = np.asarray(k.dev.download(table), np.int64)
        turns = np.asarray(k.dev.download(code), np.int64)
        if nodes.shape[0] != ids.size:  # the whole tree, one row for each class
            nodes, turns = nodes[ids], turns[ids]
        exists = np.logical_and.accumulate(nodes >= 0, axis=1)  # a path ends before its first -1
        return np.where(exists, nodes, 0), np.where(exists, turns, 0), exists
    classes = k.attrs["num_classes"]
    if ids.size and (ids.min() < 0 or ids.max() >= classes):
        raise EnforceNotMet(f"label {ids.max()} is out of range: num_classes is {classes}")
    # A complete binary tree: the bits of label + num_classes, from the second highest down, are the turns.
    number = ids + classes
    depth = int(2 * classes - 1).bit_length() - 1
    bits = np.arange(depth)
    length = np.floor(np.log2(number)).astype(np.int64)[:, None]
    exists = bits < length
    return np.where(exists, (number[:, None] >> (bits + 1)) - 1, 0), (number[:, None] >> bits) & 1, exists


@op(
    "hierarchical_sigmoid",
    "X W Label PathTable? PathCode? Bias?",
    "Out PreOut W_Out?",
    {"num_classes": 2, "is_sparse": False, "remote_prefetch": False},
    infer=_infer_tree,
    grad=True,
    lod="none",
)
def hierarchical_sigmoid(
    k: Call, x: Array, weight: Array, label: Array, table: Array, code: Array, bias: Array | None
) -> tuple[Array, ...]:
    """Out = the loss of the turns on the path to the label in a tree of classes."""
    xp = k.xp
    nodes, turns, exists = (k.dev.upload(part) for part in _path(k, label, table, code))
    pre = _products(xp, x, weight[nodes])
    if bias is not None:
        pre += bias.reshape(-1)[nodes]
    pre = xp.clip(pre, -40.0, 40.0) * exists
    # Fluid: shorter paths are padded with turns of weight zero, each of which costs log 2; PreOut has these costs.
    costs = xp.log1p(xp.exp(pre))
    cost = (costs - turns * pre).sum(axis=1)
    return cost.astype(x.dtype).reshape(-1, 1), costs.astype(x.dtype), weight


@gradient(
    "hierarchical_sigmoid",
    "X W Label PathTable PathCode Bias PreOut Out@GRAD",
    "X@GRAD W@GRAD Bias@GRAD",
    infer=_sparse_weight("W@GRAD"),
    lod="none",
)
def hierarchical_sigmoid_grad(
    k: Call, x: Array, weight: Array, label: Array, table: Array, code: Array, bias: Array, pre: Array, dout: Array
) -> KernelResult:
    path = _path(k, label, table, code)
    used = k.dev.upload(np.flatnonzero(path[2]))
    nodes, turns, exists = (k.dev.upload(part) for part in path)
    dpre = ((-k.xp.expm1(-pre) - turns) * exists * dout.reshape(-1, 1)).astype(x.dtype)
    dx = k.xp.matmul(dpre[:, None], weight[nodes])[:, 0] if k.wants("X@GRAD") else None
    flat = nodes.reshape(-1)[used]
    dweight = dbias = None
    if k.wants("W@GRAD"):
        values = (dpre[:, :, None] * x[:, None, :]).reshape(-1, x.shape[1])[used]
        dweight = _rows_grad(k, weight, flat, values)
    if k.wants("Bias@GRAD"):
        shares = dpre.reshape(-1)[used].reshape(-1, *(1,) * (bias.ndim - 1))
        dbias = _rows_grad(k, bias, flat, shares, True)
    return dx, dweight, dbias
