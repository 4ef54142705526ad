"""Mean average precision of detections, over one batch or all batches so far. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.ops.vision.detection_boxes import overlaps
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    c.check(c.shape("Label")[-1] in (5, 6, -1), f"Label must have 5 or 6 columns, it has {c.shape('Label')[-1]}")
    c.check(c.shape("DetectRes")[-1] == 6, f"DetectRes must have 6 columns, it has {c.shape('DetectRes')[-1]}")
    c.set("AccumPosCount", (-1, 1), VarType.INT32)
    c.set("AccumTruePos", (-1, 2), c.dtype("DetectRes"), 0)
    c.set("AccumFalsePos", (-1, 2), c.dtype("DetectRes"), 0)
    c.set("MAP", (1,), c.dtype("DetectRes"), 0)


class _Counts:
    """The number of true boxes of each class, and each detection's score and whether it is correct."""

    def __init__(self, classes: int) -> None:
        self.positives = np.zeros(classes, np.int64)
        self.right: list[list[tuple[float, int]]] = [[] for _ in range(classes)]
        self.wrong: list[list[tuple[float, int]]] = [[] for _ in range(classes)]

    def add(self, label: int, score: float, right: bool) -> None:
        self.right[label].append((score, int(right)))
        self.wrong[label].append((score, int(not right)))

    def load(self, positives: Any, right: Any, right_lod: Any, wrong: Any, wrong_lod: Any) -> None:
        """Load the counts of earlier batches."""
        self.positives += positives.reshape(-1)[: self.positives.size]
        for kept, rows, lod in ((self.right, right, right_lod), (self.wrong, wrong, wrong_lod)):
            ends = lod[-1] if lod else [0]
            for label in range(min(len(kept), len(ends) - 1)):
                kept[label] += [(float(s), int(f)) for s, f in rows[ends[label] : ends[label + 1]]]

    def tables(self, dtype: npt.DTypeLike) -> list[tuple[Any, Any]]:
        """Return true and false positives as rows with LoD by class."""
        found = []
        for kept in (self.right, self.wrong):
            rows = np.array([pair for part in kept for pair in part], dtype).reshape(-1, 2)
            found.append((rows, (np.cumsum([0, *map(len, kept)]).astype(np.int64),)))
        return found

    def count(self, detections: Array, truth: Array, attrs: dict[str, Any]) -> None:
        """Count the detections of one image."""
        labels, boxes = truth[:, 0].astype(int), truth[:, -4:]
        hard = truth[:, 1] > 0.5 if truth.shape[1] == 6 else np.zeros(truth.shape[0], bool)
        matters = np.ones_like(hard) if attrs["evaluate_difficult"] else ~hard
        np.add.at(self.positives, labels[matters], 1)
        taken = np.zeros(truth.shape[0], bool)
        known = np.isin(detections[:, 0].astype(int), labels)
        for row in detections[~known]:  # Fluid: in the order given; the ones below by score
            self.add(int(row[0]), float(row[1]), False)
        rest = detections[known]
        if not len(rest):
            return
        rest = rest[np.argsort(-rest[:, 1], kind="stable")]
        kinds = rest[:, 0].astype(int)
        shared = overlaps(np, np.clip(rest[:, 2:], 0, 1), boxes, True)
        shared = np.where(kinds[:, None] == labels, shared, shared.dtype.type(-np.inf))
        misses = shared.max(axis=1) <= attrs["overlap_threshold"]
        for label, score, best, miss in zip(
            kinds.tolist(), rest[:, 1].tolist(), shared.argmax(axis=1).tolist(), misses.tolist()
        ):
            if miss:
                self.add(label, score, False)
            elif matters[best]:
                self.add(label, score, not taken[best])
                taken[best] = True

    def mean_precision(self, background: int, version: str) -> float:
        total, classes = 0.0, 0
        for label, positives in enumerate(self.positives.tolist()):
            if positives in (0, background):  # Fluid: uses the number of boxes as the label
                continue
            classes += 1
            if self.right[label]:
                total += self._precision(label, int(positives), version)
        return total / classes if classes else 0.0

    def _precision(self, label: int, positives: int, version: str) -> float:
        right, wrong = np.array(self.right[label]), np.array(self.wrong[label])
        order = np.argsort(-right[:, 0], kind="stable")
        hits, misses = np.cumsum(right[order, 1]), np.cumsum(wrong[np.argsort(-wrong[:, 0], kind="stable"), 1])
        precision, recall = hits / (hits + misses), hits / positives
        if version == "11point":
            return float(sum(precision[recall >= t / 10].max(initial=0.0) for t in range(11)) / 11)
        gain = np.diff(recall, prepend=0.0)
        return float((precision * gain)[gain > 1e-6].sum())


@op(
    "detection_map",
    "DetectRes Label HasState? PosCount? TruePos? FalsePos?",
    "AccumPosCount AccumTruePos AccumFalsePos MAP",
    {
        "class_num": 1,
        "background_label": 0,
        "overlap_threshold": 0.5,
        "evaluate_difficult": True,
        "ap_type": "integral",
    },
    infer=_infer,
    grad=False,
    lod="kernel",
)
def detection_map(
    k: Call, detections: Array, truth: Array, has_state: Array | None, pos: Array, right: Array, wrong: Array
) -> KernelResult:
    """MAP = the mean over classes of average precision; the other outputs are counts for the next batch."""
    found, boxes = k.dev.download(detections), k.dev.download(truth)
    ends, true_ends = k.lod("DetectRes"), k.lod("Label")
    if not ends or not true_ends or ends[-1].size != true_ends[-1].size:
        raise EnforceNotMet("DetectRes and Label must be LoDTensors with one sequence for each image")
    counts = _Counts(k.attrs["class_num"])
    if has_state is not None and int(k.dev.download(has_state).reshape(-1)[0]):
        states = [k.dev.download(v) for v in (pos, right, wrong)]
        counts.load(states[0], states[1], k.lod("TruePos"), states[2], k.lod("FalsePos"))
    for i in range(ends[-1].size - 1):
        rows = found[ends[-1][i] : ends[-1][i + 1]]
        if rows.shape[1] == 6:  # a single -1 means no detections
            counts.count(rows, boxes[true_ends[-1][i] : true_ends[-1][i + 1]], k.attrs)
    (right_rows, right_lod), (wrong_rows, wrong_lod) = counts.tables(found.dtype)
    k.out_lods["AccumTruePos"], k.out_lods["AccumFalsePos"] = right_lod, wrong_lod
    value = counts.mean_precision(k.attrs["background_label"], k.attrs["ap_type"])
    parts = (counts.positives.astype(np.int32).reshape(-1, 1), right_rows, wrong_rows, np.array([value], found.dtype))
    return tuple(k.dev.upload(part) for part in parts)
