"""Targets of proposed regions: generate_proposal_labels. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.ops.vision.anchor_targets import encode, sampled
from fluidio.ops.vision.detection_boxes import overlaps
from fluidio.ops.vision.proposals import offsets
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_NEAR = 1e-5


def _infer(c: InferContext) -> None:
    width = 4 * c.attrs["class_nums"]
    c.set("Rois", (-1, 4), c.dtype("RpnRois"))
    c.set("LabelsInt32", (-1, 1), "int32")
    for slot in ("BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"):
        c.set(slot, (-1, width), c.dtype("GtBoxes"))


def _sorted_out(attrs: dict[str, Any], boxes: Array, truth: Array, crowd: Array) -> tuple[Array, Array, Array]:
    """Return the boxes that show objects, the true box of each, and those that show background."""
    table = overlaps(np, boxes, truth, False)
    best = table.max(axis=1, initial=0)  # without objects everything is background
    best[: crowd.size][crowd[: best.size] != 0] = -1
    foreground = np.flatnonzero(best >= np.float32(attrs["fg_thresh"]))
    owner = np.zeros(0, np.int64)
    if foreground.size:
        owner = (np.abs(best[foreground, None] - table[foreground]) < _NEAR).argmax(axis=1)
    low, high = np.float32(attrs["bg_thresh_lo"]), np.float32(attrs["bg_thresh_hi"])
    background = np.flatnonzero((best >= low) & (best < high) & (best < np.float32(attrs["fg_thresh"])))
    if attrs["is_cascade_rcnn"]:
        return foreground, owner, background
    random = attrs["use_random"]
    most = int(np.floor(attrs["batch_size_per_im"] * np.float32(attrs["fg_fraction"])))
    picked = sampled(np.arange(foreground.size), most, random)
    background = sampled(background, attrs["batch_size_per_im"] - picked.size, random)
    return foreground[picked], owner[picked], background


def _of_image(
    attrs: dict[str, Any], rois: Array, kinds: Array, crowd: Array, truth: Array, scale: Array
) -> list[Array]:
    """Return the five outputs of one image."""
    boxes = rois / scale
    if attrs["is_cascade_rcnn"]:
        # Fluid: the first regions, as many as there are true boxes, count as true boxes and are not scaled back.
        boxes[: truth.shape[0]] = rois[: truth.shape[0]]
    else:
        boxes = np.concatenate([truth, boxes])
    foreground, owner, background = _sorted_out(attrs, boxes, truth, crowd)
    chosen = boxes[np.concatenate([foreground, background])]
    labels = np.zeros(chosen.shape[0], np.int32)
    labels[: foreground.size] = kinds[owner]
    targets = np.zeros((chosen.shape[0], attrs["class_nums"], 4), truth.dtype)
    inside = np.zeros_like(targets)
    weights = np.array(attrs["bbox_reg_weights"], truth.dtype)
    deltas = encode(boxes[foreground], truth[owner]) / weights
    slot = np.minimum(labels, 1) if attrs["is_cls_agnostic"] else labels
    rows = np.flatnonzero(labels > 0)
    targets[rows, slot[rows]] = deltas[rows]
    inside[rows, slot[rows]] = 1
    shape = (chosen.shape[0], 4 * attrs["class_nums"])
    flat = inside.reshape(shape)
    return [(chosen * scale).astype(rois.dtype), labels[:, None], targets.reshape(shape), flat, flat.copy()]


@op(
    "generate_proposal_labels",
    "RpnRois GtClasses IsCrowd GtBoxes ImInfo",
    "Rois LabelsInt32 BboxTargets BboxInsideWeights BboxOutsideWeights",
    {
        "batch_size_per_im": 256,
        "fg_fraction": 0.25,
        "fg_thresh": 0.5,
        "bg_thresh_hi": 0.5,
        "bg_thresh_lo": 0.0,
        "bbox_reg_weights": [],
        "class_nums": 81,
        "use_random": True,
        "is_cascade_rcnn": False,
        "is_cls_agnostic": False,
    },
    infer=_infer,
    grad=False,
    lod="kernel",
)
def generate_proposal_labels(
    k: Call, rois: Array, kinds: Array, crowd: Array, truth: Array, info: Array
) -> KernelResult:
    """Sample regions that show objects or background, and output their classes and target boxes."""
    r, c, w, t, i = (k.dev.download(x) for x in (rois, kinds, crowd, truth, info))
    mine, theirs = k.lod("RpnRois")[-1], k.lod("GtBoxes")[-1]
    found = []
    for n in range(i.shape[0]):
        gt = slice(theirs[n], theirs[n + 1])
        region = r[mine[n] : mine[n + 1]]
        found.append(_of_image(k.attrs, region, c.reshape(-1)[gt], w.reshape(-1)[gt], t[gt], i[n, 2]))
    lod = offsets([image[0].shape[0] for image in found])
    for slot in ("Rois", "LabelsInt32", "BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"):
        k.out_lods[slot] = lod
    return tuple(k.dev.upload(np.concatenate(parts)) for parts in zip(*found))
