"""Trees: tree_conv over patches of a tree, tdm_child and tdm_sampler on an index of items. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.random.engine import os_seed
from fluidio.ops.random.samplers import UniformSampler
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.program.op_def import RIGHT_GRADIENT_ATTR
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_conv(c: InferContext) -> None:
    nodes, weight = c.shape("NodesVector"), c.shape("Filter")
    c.check(len(nodes) == 3, f"NodesVector must have 3 dims, its shape is {list(nodes)}")
    c.check(
        nodes[2] == weight[0] or min(nodes[2], weight[0]) < 0,
        f"Filter is made for {weight[0]} features, but NodesVector has {nodes[2]}",
    )
    c.set("Out", (*nodes[:2], weight[2], weight[3]), c.dtype("NodesVector"))


def _children(edges: Array) -> list[list[int]]:
    """Return the children of each node from 1-based edges (parent, child), up to the first (0, 0)."""
    real = []
    for parent, child in edges:
        if parent == 0 or child == 0:
            break
        real.append((int(parent), int(child)))
    found: list[list[int]] = [[] for _ in range(len(real) + 2)]
    for parent, child in real:
        found[parent].append(child)
    return found


def _shares(edges: Array, nodes: int, depth: int, dtype: npt.DTypeLike) -> Array:
    """Return the weight of each node in each patch [patches, left/right/top, nodes]."""
    children = _children(edges)
    found = np.zeros((nodes, 3, nodes), dtype)
    for root in range(1, len(children)):
        level = [(root, 1, 1)]
        for below in range(depth):
            following = []
            for node, index, count in level:
                top = (depth - below) / depth
                left = (1 - top) * (0.5 if count == 1 else (index - 1) / (count - 1))
                found[root - 1, :, node - 1] += (left, (1 - top) * (1 - left), top)
                mine = children[node]
                following += [(child, n, len(mine)) for n, child in enumerate(mine, 1)]
            level = following
    return found


def _patches(k: Call, nodes: Array, edges: Array) -> Array:
    table = k.dev.download(edges)
    return np.stack([_shares(t, nodes.shape[1], k.attrs["max_depth"], nodes.dtype) for t in table])


@op("tree_conv", "NodesVector EdgeSet Filter", "Out", {"max_depth": 2}, infer=_infer_conv, grad=True, lod="none")
def tree_conv(k: Call, nodes: Array, edges: Array, weight: Array) -> Array:
    """Out = a convolution over the nodes below each node down to max_depth, by left, right and top position."""
    x, w = k.dev.download(nodes), k.dev.download(weight)
    patches = np.einsum("bpkn,bnf->bpfk", _patches(k, x, edges), x)
    return k.dev.upload(np.einsum("bpfk,fkos->bpos", patches, w))


def _read_by_gradient(k: Call, weight: Array) -> Array:
    """Return Filter as [features, outputs, filters, left/right/top].

    Fluid: its gradient reinterprets the numbers in this shape instead of transposing them, so the gradient of
    NodesVector is wrong with more than one output; `right_gradient` transposes them.
    """
    features, kinds, outputs, filters = weight.shape
    if k.attrs.get(RIGHT_GRADIENT_ATTR):
        return weight.transpose(0, 2, 3, 1)
    return weight.reshape(features, outputs, filters, kinds)


@gradient("tree_conv", "NodesVector EdgeSet Filter Out@GRAD", "NodesVector@GRAD Filter@GRAD")
def tree_conv_grad(k: Call, nodes: Array, edges: Array, weight: Array, dout: Array) -> KernelResult:
    x, w, d = k.dev.download(nodes), k.dev.download(weight), k.dev.download(dout)
    shares = _patches(k, x, edges)
    dx = dw = None
    if k.wants("NodesVector@GRAD"):
        pull = np.einsum("bpos,fosk->bpfk", d, _read_by_gradient(k, w))
        dx = k.dev.upload(np.einsum("bpkn,bpfk->bnf", shares, pull))
    if k.wants("Filter@GRAD"):
        patches = np.einsum("bpkn,bnf->bpfk", shares, x)
        dw = k.dev.upload(np.einsum("bpfk,bpos->fkos", patches, d))
    return dx, dw


def _infer_child(c: InferContext) -> None:
    shape = (*c.shape("X"), c.attrs["child_nums"])
    c.set("Child", shape, c.attrs["dtype"])
    c.set("LeafMask", shape, c.attrs["dtype"])


@op(
    "tdm_child",
    "X TreeInfo",
    "Child LeafMask",
    {"child_nums": 0, "dtype": VarType.INT32},
    infer=_infer_child,
    grad=False,
    lod="none",
)
def tdm_child(k: Call, x: Array, tree: Array) -> tuple[Array, Array]:
    """Child = the children of each node, zeros if it has none; LeafMask = which of them are items."""
    xp, count = k.xp, k.attrs["child_nums"]
    _check_ids(k.dev.download(x), tree.shape[0])
    child = tree[x][..., 3 : 3 + count]
    child = child * ((x[..., None] != 0) & (child[..., :1] != 0))
    leaf = (tree[child][..., 0] != 0) & (child != 0)
    dtype = to_numpy(k.attrs["dtype"])
    return xp.ascontiguousarray(child).astype(dtype), leaf.astype(dtype)


def _check_ids(ids: Array, count: int) -> None:
    if ids.size and (ids.min() < 0 or ids.max() >= count):
        bad = ids.min() if ids.min() < 0 else ids.max()
        raise EnforceNotMet(f"id {bad} is out of range: the tree has {count} nodes")


def _infer_sampler(c: InferContext) -> None:
    positive = int(c.attrs["output_positive"])
    width = sum(n + positive for n in c.attrs["neg_samples_num_list"])
    for slot in ("Out", "Labels", "Mask"):
        c.set(slot, (-1, width), c.attrs["dtype"])


@op(
    "tdm_sampler",
    "X Travel Layer",
    "Out Labels Mask",
    {
        "neg_samples_num_list": [],
        "layer_offset_lod": [],
        "output_positive": True,
        "seed": 0,
        "dtype": VarType.INT32,
    },
    infer=_infer_sampler,
    grad=False,
    lod="none",
)
def tdm_sampler(k: Call, x: Array, travel: Array, layer: Any) -> KernelResult:
    """Out = each item's ancestor in each layer of the tree (label 1) and other nodes of the layer (label 0)."""
    a = k.attrs
    ids, way, nodes = (k.dev.download(v) for v in (x, travel, layer))
    ids, nodes, ends = ids.reshape(-1), nodes.reshape(-1), a["layer_offset_lod"]
    _check_ids(ids, way.shape[0])
    seed = a["seed"] or os_seed()
    samplers = [UniformSampler(ends[n + 1] - ends[n] - 1, seed) for n in range(len(ends) - 1)]
    rows: list[list[int]] = []
    positive = int(a["output_positive"])
    widths = [n + positive for n in a["neg_samples_num_list"]]
    for item in ids:
        row: list[int] = []
        for n, count in enumerate(a["neg_samples_num_list"]):
            row += _of_layer(way[item, n], nodes[ends[n] : ends[n + 1]], count, samplers[n], a["output_positive"])
        rows.append(row)
    out = np.array(rows, np.int64).reshape(ids.size, -1)
    there = np.repeat(way[ids, : len(widths)] != 0, widths, axis=1)  # where the path to the item has not ended above
    labels = np.zeros_like(out)
    if positive:
        starts = np.cumsum([0, *widths])[:-1]
        labels[:, starts] = there[:, starts]
    dtype = to_numpy(a["dtype"])
    return tuple(k.dev.upload(v.astype(dtype)) for v in (out, labels, there))


def _of_layer(own: int, nodes: Array, count: int, sampler: UniformSampler, positive: bool) -> list[int]:
    """Return the node on the path to an item and others of its layer; zeros if the path has ended above."""
    if own == 0:
        return [0] * (count + positive)
    if count > nodes.size - 1:
        raise EnforceNotMet(f"cannot draw {count} negative samples from a layer of {nodes.size} nodes")
    drawn: list[int] = []
    while len(drawn) < count:
        number = sampler.sample()
        if nodes[number] != own and number not in drawn:
            drawn.append(number)
    return [int(own)] * positive + [int(nodes[n]) for n in drawn]
