"""YOLO: boxes from features, and the loss of version 3."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.ops.kernel import Call
from fluidio.ops.math.activation import sigmoid
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _infer_box(c: InferContext) -> None:
    n, channels, h, w = c.shape("X")
    anchors, classes = len(c.attrs["anchors"]) // 2, c.attrs["class_num"]
    wanted = anchors * (5 + classes)
    c.check(channels in (-1, wanted), f"X must have {wanted} channels, it has {channels}")
    sizes = c.shape("ImgSize")
    c.check(len(sizes) == 2 and sizes[1] in (2, -1), f"ImgSize must have shape [N, 2], got {list(sizes)}")
    count = anchors * h * w if min(h, w) >= 0 else -1
    c.set("Boxes", (n, count, 4), c.dtype("X"), 0)
    c.set("Scores", (n, count, classes), c.dtype("X"), 0)


@op(
    "yolo_box",
    "X ImgSize",
    "Boxes Scores",
    {"class_num": 1, "anchors": [], "downsample_ratio": 32, "conf_thresh": 0.01, "clip_bbox": True, "scale_x_y": 1.0},
    infer=_infer_box,
    grad=False,
    lod="none",
)
def yolo_box(k: Call, x: Array, sizes: Array) -> tuple[Array, Array]:
    """Boxes, Scores = the boxes in pixels decoded from features; zeros where the confidence is below conf_thresh."""
    xp, a = k.xp, k.attrs
    n, _, h, w = x.shape
    anchors = np.array(a["anchors"], x.dtype).reshape(-1, 2)
    count = anchors.shape[0] * h * w
    parts = x.reshape(n, anchors.shape[0], 5 + a["class_num"], h, w)
    image = sizes.astype(x.dtype).reshape(n, 2, 1, 1, 1)
    conf = sigmoid(xp, parts[:, :, 4])
    kept = conf >= a["conf_thresh"]
    centre_x, centre_y = _centres(xp, parts, a["scale_x_y"])
    # Fluid: the height of the grid is used for both directions.
    half_w = xp.exp(parts[:, :, 2]) * _each(xp, anchors[:, 0]) * image[:, 1] / (a["downsample_ratio"] * h) / 2
    half_h = xp.exp(parts[:, :, 3]) * _each(xp, anchors[:, 1]) * image[:, 0] / (a["downsample_ratio"] * h) / 2
    cx, cy = centre_x * image[:, 1] / h, centre_y * image[:, 0] / h
    sides = [cx - half_w, cy - half_h, cx + half_w, cy + half_h]
    if a["clip_bbox"]:
        sides[0], sides[1] = xp.maximum(sides[0], 0), xp.maximum(sides[1], 0)
        sides[2], sides[3] = xp.minimum(sides[2], image[:, 1] - 1), xp.minimum(sides[3], image[:, 0] - 1)
    boxes = xp.stack(sides, axis=-1) * kept[..., None]
    scores = xp.moveaxis(sigmoid(xp, parts[:, :, 5:]) * (conf * kept)[:, :, None], 2, -1)
    return boxes.reshape(n, count, 4).astype(x.dtype, copy=False), scores.reshape(n, count, a["class_num"])


def _each(xp: ArrayLibrary | ModuleType, values: Array) -> Array:
    return xp.asarray(values).reshape(1, -1, 1, 1)


def _centres(xp: ArrayLibrary | ModuleType, parts: Array, scale: float) -> tuple[Array, Array]:
    """Return the centres of the predicted boxes, in units of cells."""
    h, w = parts.shape[-2:]
    bias = -0.5 * (scale - 1)
    dtype = parts.dtype
    x = xp.arange(w, dtype=dtype)[None, None, None, :] + sigmoid(xp, parts[:, :, 0]) * scale + bias
    y = xp.arange(h, dtype=dtype)[None, None, :, None] + sigmoid(xp, parts[:, :, 1]) * scale + bias
    return x, y


def _infer_loss(c: InferContext) -> None:
    n, channels, h, w = c.shape("X")
    anchors, mask = c.attrs["anchors"], c.attrs["anchor_mask"]
    wanted = len(mask) * (5 + c.attrs["class_num"])
    c.check(channels in (-1, wanted), f"X must have {wanted} channels, it has {channels}")
    c.check(h == w or min(h, w) < 0, f"X must be as high as it is wide, its shape is {list(c.shape('X'))}")
    c.check(len(anchors) % 2 == 0, f"anchors must be pairs of width and height, got {len(anchors)} numbers")
    c.check(
        max(mask, default=0) < len(anchors) // 2,
        f"anchor_mask {mask} names anchors that do not exist; there are {len(anchors) // 2}",
    )
    boxes = c.shape("GTBox")
    c.check(len(boxes) == 3 and boxes[2] == 4, f"GTBox must have shape [N, boxes, 4], got {list(boxes)}")
    c.set("Loss", (n,), c.dtype("X"), 0)
    c.set("ObjectnessMask", (n, len(c.attrs["anchor_mask"]), h, w), lod_level=0)
    c.set("GTMatchMask", boxes[:2], VarType.INT32, 0)


def _overlap(a: Array, b: Array) -> Array:
    """Return intersection over union of boxes given by centre and size, broadcast against each other."""
    sides = [
        np.maximum(
            np.minimum(a[..., i] + a[..., i + 2] / 2, b[..., i] + b[..., i + 2] / 2)
            - np.maximum(a[..., i] - a[..., i + 2] / 2, b[..., i] - b[..., i + 2] / 2),
            0,
        )
        for i in (0, 1)
    ]
    shared = sides[0] * sides[1]
    return shared / (a[..., 2] * a[..., 3] + b[..., 2] * b[..., 3] - shared)


class _Targets:
    """The true boxes assigned to this output's anchors: their positions and targets."""

    def __init__(self, k: Call, x: Array, boxes: Array, labels: Array, scores: Array, match: Array) -> None:
        a = k.attrs
        h, w = x.shape[2:]
        anchors = np.array(a["anchors"], x.dtype).reshape(-1, 2)
        mask = np.array(a["anchor_mask"])
        self.image, self.box = np.nonzero(match >= 0)
        gt = boxes[self.image, self.box]
        self.anchor = match[self.image, self.box]
        self.column = (gt[:, 0] * w).astype(np.int64)
        self.row = (gt[:, 1] * h).astype(np.int64)
        size = anchors[mask[self.anchor]]
        input_size = a["downsample_ratio"] * h
        self.x, self.y = gt[:, 0] * h - self.column, gt[:, 1] * h - self.row
        self.w, self.h = np.log(gt[:, 2] * input_size / size[:, 0]), np.log(gt[:, 3] * input_size / size[:, 1])
        self.score = scores[self.image, self.box]
        self.scale = (2 - gt[:, 2] * gt[:, 3]) * self.score
        smooth = min(1 / a["class_num"], 1 / 40) if a["use_label_smooth"] else 0.0
        hot = labels[self.image, self.box][:, None] == np.arange(a["class_num"])[None, :]
        self.classes = np.where(hot, 1 - smooth, smooth).astype(x.dtype)

    def pick(self, parts: Array) -> Array:
        """Return the predictions [targets, 5 + classes] at the targets."""
        return parts[self.image, self.anchor, :, self.row, self.column]


def _host(k: Call, x: Array, boxes: Array, labels: Array, scores: Array | None) -> tuple[Array, Array, Array, Array]:
    found = [k.dev.download(v) for v in (x, boxes, labels)]
    weights = np.ones(found[1].shape[:2], found[0].dtype) if scores is None else k.dev.download(scores)
    return found[0], found[1], found[2].reshape(found[1].shape[:2]), weights.reshape(found[1].shape[:2])


def _parts(k: Call, x: Array) -> Array:
    return x.reshape(x.shape[0], len(k.attrs["anchor_mask"]), 5 + k.attrs["class_num"], *x.shape[2:])


def _entropy(logit: Any, target: Any) -> Any:
    return np.maximum(logit, 0) - logit * target + np.log1p(np.exp(-np.abs(logit)))


def _masks(k: Call, x: Array, boxes: Array, scores: Array) -> tuple[Array, Array]:
    """Return the target objectness of each cell (-1: ignored) and the anchor of each true box (-1: none)."""
    a = k.attrs
    n, _, h, w = x.shape
    parts = _parts(k, x)
    anchors = np.array(a["anchors"], x.dtype).reshape(-1, 2)
    mine = anchors[a["anchor_mask"]] / (a["downsample_ratio"] * h)
    valid = (boxes[..., 2] > 1e-6) & (boxes[..., 3] > 1e-6)
    cx, cy = _centres(np, parts, a["scale_x_y"])
    guess = np.stack(
        [
            cx / h,
            cy / h,
            np.exp(parts[:, :, 2]) * mine[:, 0, None, None],
            np.exp(parts[:, :, 3]) * mine[:, 1, None, None],
        ],
        axis=-1,
    )
    wanted = np.zeros(guess.shape[:-1], x.dtype)
    for i in range(n):
        truth = boxes[i][valid[i]]
        if truth.size:
            best = _overlap(guess[i][..., None, :], truth).max(axis=-1)
            wanted[i][best > a["ignore_thresh"]] = -1
    still = np.zeros((*boxes.shape[:2], 1, 4), x.dtype)
    still[..., 0, 2:] = np.where(valid[..., None], boxes[..., 2:], 1)
    shapes = np.zeros((anchors.shape[0], 4), x.dtype)
    shapes[:, 2:] = anchors / (a["downsample_ratio"] * h)
    nearest = _overlap(still, shapes).argmax(axis=-1)
    place = np.full(anchors.shape[0], -1, np.int32)
    place[a["anchor_mask"]] = np.arange(len(a["anchor_mask"]))
    match = np.where(valid, place[nearest], -1).astype(np.int32)
    for i, j in zip(*np.nonzero(match >= 0)):
        column, row = int(boxes[i, j, 0] * w), int(boxes[i, j, 1] * h)
        wanted[i, match[i, j], row, column] = scores[i, j]
    return wanted, match


@op(
    "yolov3_loss",
    "X GTBox GTLabel GTScore?",
    "Loss ObjectnessMask GTMatchMask",
    {
        "anchors": [],
        "anchor_mask": [],
        "class_num": 1,
        "ignore_thresh": 0.7,
        "downsample_ratio": 32,
        "use_label_smooth": True,
        "scale_x_y": 1.0,
    },
    infer=_infer_loss,
    grad=True,
    lod="none",
)
def yolov3_loss(k: Call, x: Array, boxes: Array, labels: Array, scores: Array) -> tuple[Array, ...]:
    """Loss = the errors of positions, sizes, objectness and classes of each image."""
    features, gt, kind, weight = _host(k, x, boxes, labels, scores)
    wanted, match = _masks(k, features, gt, weight)
    parts = _parts(k, features)
    t = _Targets(k, features, gt, kind, weight, match)
    p = t.pick(parts)
    place = _entropy(p[:, 0], t.x) + _entropy(p[:, 1], t.y) + np.abs(p[:, 2] - t.w) + np.abs(p[:, 3] - t.h)
    per_box = place * t.scale + _entropy(p[:, 5:], t.classes).sum(axis=1) * t.score
    logit = parts[:, :, 4]
    there = wanted > 1e-5
    cells = np.where(there, _entropy(logit, 1.0) * wanted, np.where(wanted > -0.5, _entropy(logit, 0.0), 0))
    loss = cells.reshape(cells.shape[0], math.prod(cells.shape[1:])).sum(axis=1)
    np.add.at(loss, t.image, per_box)
    return k.dev.upload(loss.astype(features.dtype)), k.dev.upload(wanted), k.dev.upload(match)


@gradient("yolov3_loss", "X GTBox GTLabel GTScore ObjectnessMask GTMatchMask Loss@GRAD", "X@GRAD")
def yolov3_loss_grad(
    k: Call, x: Array, boxes: Array, labels: Array, scores: Array, wanted: Array, match: Array, dloss: Array
) -> Array:
    features, gt, kind, weight = _host(k, x, boxes, labels, scores)
    objects, d = k.dev.download(wanted), k.dev.download(dloss).reshape(-1)
    parts = _parts(k, features)
    t = _Targets(k, features, gt, kind, weight, k.dev.download(match))
    p = t.pick(parts)
    slope = np.empty_like(p)
    slope[:, :2] = (sigmoid(np, p[:, :2]) - np.stack([t.x, t.y], axis=1)) * t.scale[:, None]
    slope[:, 2:4] = np.sign(p[:, 2:4] - np.stack([t.w, t.h], axis=1)) * t.scale[:, None]
    slope[:, 4] = 0
    slope[:, 5:] = (sigmoid(np, p[:, 5:]) - t.classes) * t.score[:, None]
    dx = np.zeros_like(parts)
    # Fluid: of two boxes in one cell and anchor, only the later one's gradient counts.
    dx[t.image, t.anchor, :, t.row, t.column] = slope * d[t.image][:, None]
    prob = sigmoid(np, parts[:, :, 4])
    cells = np.where(objects > 1e-5, (prob - 1) * objects, np.where(objects > -0.5, prob, 0))
    dx[:, :, 4] = cells * d[:, None, None, None]
    return k.dev.upload(dx.reshape(features.shape))
