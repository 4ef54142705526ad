"""Targets of anchors: rpn_target_assign, retinanet_target_assign. On the host."""

from __future__ import annotations

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.random.engine import canonical, os_seed
from fluidio.ops.registry import op
from fluidio.ops.vision.detection_boxes import overlaps
from fluidio.ops.vision.proposals import offsets
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__ = ["encode", "sampled"]

_NEAR = 1e-5


def encode(boxes: Array, truth: Array) -> Array:
    """Return the deltas that turn boxes into the true boxes, in whole pixels."""
    size, goal = boxes[:, 2:] - boxes[:, :2] + 1, truth[:, 2:] - truth[:, :2] + 1
    middle, wanted = boxes[:, :2] + size * 0.5, truth[:, :2] + goal * 0.5
    return np.concatenate([(wanted - middle) / size, np.log(goal / size)], axis=1).astype(boxes.dtype)


def sampled(indices: Array, count: int, random: bool) -> Array:
    """Return `count` of the indices: the first ones, or a uniform sample."""
    chosen = np.array(indices)
    if chosen.size <= count:
        return chosen
    if random:
        draws = canonical(os_seed(), chosen.size - count)
        for i, draw in enumerate(draws, count):
            j = int(draw * np.float32(i))
            if j < count:
                chosen[[i, j]] = chosen[[j, i]]
    return chosen[:count]


class _Image:
    """The anchors inside one image and its relevant true boxes."""

    def __init__(self, anchors: Array, truth: Array, crowd: Array, info: Array, straddle: float) -> None:
        self.truth = truth[crowd == 0] * info[2]
        self.inside = np.arange(anchors.shape[0])
        if straddle >= 0:
            low, high = (anchors[:, :2] >= -straddle), (anchors[:, 2:] < info[[1, 0]] + straddle)
            self.inside = np.flatnonzero((low & high).all(axis=1))
        self.anchors = anchors[self.inside]
        self.table = overlaps(np, self.truth, self.anchors, False)
        self.best = self.table.max(axis=0, initial=0)  # without objects everything is background

    def nearest(self, anchors: Array) -> Array:
        """Return the true box that each of these anchors overlaps most."""
        return self.table[:, anchors].argmax(axis=0) if self.truth.size else np.zeros(anchors.size, np.int64)

    def foreground(self, threshold: float) -> Array:
        """Return the anchors that overlap a true box enough, or at least as much as any other anchor does."""
        as_any = np.zeros(self.best.size, bool)
        for line in self.table:
            as_any |= np.abs(line - line.max(initial=0)) < _NEAR
        return np.flatnonzero(as_any | (self.best >= np.float32(threshold)))

    def background(self, threshold: float) -> Array:
        return np.flatnonzero(self.best < np.float32(threshold))


class _Chosen:
    """The sampled anchors of one image, and their labels."""

    def __init__(self, image: _Image, foreground: Array, background: Array) -> None:
        label = np.full(image.best.size, -1, np.int32)
        label[foreground] = 1
        # Fluid: an anchor in both is background, and the first foreground anchor replaces it with weight zero.
        both = int((label[background] == 1).sum())
        label[background] = 0
        self.foreground = np.flatnonzero(label == 1)
        self.background = np.flatnonzero(label == 0)
        first = foreground[0] if foreground.size else 0
        self.located = np.concatenate([np.full(both, first, np.int64), self.foreground])
        self.weights = np.repeat((np.arange(self.located.size) >= both)[:, None], 4, axis=1)


def _infer(c: InferContext) -> None:
    rows = c.shape("GtLabels")[0] if c.has("GtLabels") else -1  # Fluid: RetinaNet's are declared like its labels
    for slot in ("LocationIndex", "ScoreIndex"):
        c.set(slot, (rows,), "int32")
    c.set("TargetLabel", (rows, 1), "int32")
    for slot in ("TargetBBox", "BBoxInsideWeight"):
        c.set(slot, (rows, 4), c.dtype("Anchor"))
    c.set("ForegroundNumber", (rows, 1), "int32")


def _per_image(k: Call, anchor: Array, boxes: Array, crowd: Array, info: Array, straddle: float) -> list[_Image]:
    a, b, w, i = (k.dev.download(x) for x in (anchor, boxes, crowd, info))
    ends = k.lod("GtBoxes")[-1]
    w = w.reshape(-1)
    return [
        _Image(a.reshape(-1, 4), b[ends[n] : ends[n + 1]], w[ends[n] : ends[n + 1]], i[n], straddle)
        for n in range(i.shape[0])
    ]


def _collected(k: Call, images: list[_Image], chosen: list[_Chosen], count: int, labels: list[Array]) -> list[Array]:
    """Return the five outputs common to both ops, and set their LoDs."""
    location, score, target, weight = [], [], [], []
    for n, (image, pick) in enumerate(zip(images, chosen)):
        location.append(image.inside[pick.located] + n * count)
        score.append(image.inside[np.concatenate([pick.foreground, pick.background])] + n * count)
        target.append(encode(image.anchors[pick.located], image.truth[image.nearest(pick.located)]))
        weight.append(pick.weights)
    for slot, parts in (("LocationIndex", location), ("ScoreIndex", score)):
        k.out_lods[slot] = offsets([len(p) for p in parts])
    for slot, parts in (("TargetBBox", target), ("BBoxInsideWeight", weight), ("TargetLabel", score)):
        k.out_lods[slot] = offsets([len(p) for p in parts])
    dtype = target[0].dtype
    found = (
        np.concatenate(location).astype(np.int32),
        np.concatenate(score).astype(np.int32),
        np.concatenate(target),
        np.concatenate(labels).astype(np.int32).reshape(-1, 1),
        np.concatenate(weight).astype(dtype),
    )
    return [k.dev.upload(part) for part in found]


_OUTPUTS = "LocationIndex ScoreIndex TargetBBox TargetLabel BBoxInsideWeight"


@op(
    "rpn_target_assign",
    "Anchor GtBoxes IsCrowd ImInfo",
    _OUTPUTS,
    {
        "rpn_batch_size_per_im": 256,
        "rpn_straddle_thresh": 0.0,
        "rpn_positive_overlap": 0.7,
        "rpn_negative_overlap": 0.3,
        "rpn_fg_fraction": 0.25,
        "use_random": True,
    },
    infer=_infer,
    grad=False,
    lod="kernel",
)
def rpn_target_assign(k: Call, anchor: Array, boxes: Array, crowd: Array, info: Array) -> KernelResult:
    """Sample anchors that show objects or background, and output their targets."""
    a = k.attrs
    images = _per_image(k, anchor, boxes, crowd, info, a["rpn_straddle_thresh"])
    chosen = []
    for image in images:
        foreground = image.foreground(a["rpn_positive_overlap"])
        background = image.background(a["rpn_negative_overlap"])
        if a["rpn_fg_fraction"] > 0 and a["rpn_batch_size_per_im"] > 0:
            most = int(np.float32(a["rpn_fg_fraction"]) * a["rpn_batch_size_per_im"])
            foreground = sampled(foreground, most, a["use_random"])
            background = sampled(background, a["rpn_batch_size_per_im"] - foreground.size, a["use_random"])
        chosen.append(_Chosen(image, foreground, background))
    labels = [np.repeat([1, 0], [c.foreground.size, c.background.size]) for c in chosen]
    return tuple(_collected(k, images, chosen, anchor.reshape(-1, 4).shape[0], labels))


@op(
    "retinanet_target_assign",
    "Anchor GtBoxes GtLabels IsCrowd ImInfo",
    _OUTPUTS + " ForegroundNumber",
    {"positive_overlap": 0.5, "negative_overlap": 0.4},
    infer=_infer,
    grad=False,
    lod="kernel",
)
def retinanet_target_assign(
    k: Call, anchor: Array, boxes: Array, labels: Array, crowd: Array, info: Array
) -> KernelResult:
    """Like rpn_target_assign, but with all relevant anchors and the classes of the true boxes; also output one plus the
    number of anchors that are not background."""
    a = k.attrs
    images = _per_image(k, anchor, boxes, crowd, info, -1.0)
    kinds, hidden = k.dev.download(labels).reshape(-1), k.dev.download(crowd).reshape(-1)
    ends = k.lod("GtBoxes")[-1]
    chosen, wanted, counts = [], [], []
    for n, image in enumerate(images):
        pick = _Chosen(image, image.foreground(a["positive_overlap"]), image.background(a["negative_overlap"]))
        mine = slice(ends[n], ends[n + 1])
        kind = kinds[mine][hidden[mine] == 0][image.nearest(pick.foreground)]
        chosen.append(pick)
        wanted.append(np.concatenate([kind, np.zeros(pick.background.size, kind.dtype)]))
        counts.append(pick.located.size + 1)
    k.out_lods["ForegroundNumber"] = offsets([1] * len(images))
    numbers = k.dev.upload(np.array(counts, np.int32).reshape(-1, 1))
    return (*_collected(k, images, chosen, anchor.reshape(-1, 4).shape[0], wanted), numbers)
