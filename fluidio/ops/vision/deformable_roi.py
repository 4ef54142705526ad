"""deformable_psroi_pooling: pool regions whose cells are shifted. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.vision.roi import region_images
from fluidio.ops.vision.roi_parts import rounded
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {
    "no_trans": False,
    "spatial_scale": 1.0,
    "output_dim": 1,
    "group_size": [1, 1],
    "pooled_height": 1,
    "pooled_width": 1,
    "part_size": [],
    "sample_per_part": 1,
    "trans_std": 0.1,
}


def _infer(c: InferContext) -> None:
    a = c.attrs
    shape = (c.shape("ROIs")[0], a["output_dim"], a["pooled_height"], a["pooled_width"])
    c.set("Output", shape, c.dtype("Input"))
    c.set("TopCount", shape)


class _Cell:
    """The samples [count] of one cell of one region, each with four neighbours, for the channels of one class."""

    def __init__(self, y: Array, x: Array, height: int, width: int) -> None:
        good = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
        y, x = np.clip(y[good], 0, height - 1), np.clip(x[good], 0, width - 1)
        self.count = y.size
        self.y0, self.x0 = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
        self.y1, self.x1 = np.ceil(y).astype(np.int64), np.ceil(x).astype(np.int64)
        self.down, self.right = y - self.y0, x - self.x0

    def corners(self) -> list[tuple[Any, Any, Any, Any, Any]]:
        """Return the row, column, weight and the weight's derivatives by y and x of the four neighbours."""
        d, r = self.down, self.right
        return [
            (self.y0, self.x0, (1 - d) * (1 - r), r - 1, d - 1),
            (self.y0, self.x1, (1 - d) * r, -r, 1 - d),
            (self.y1, self.x0, d * (1 - r), 1 - r, -d),
            (self.y1, self.x1, d * r, r, d),
        ]


class _Region:
    """One region: the positions, channels and shifts of its cells."""

    def __init__(self, k: Call, box: Array, trans: Array | None, shape: tuple[int, ...]) -> None:
        self.a, self.shape, self.trans = k.attrs, shape, trans
        kind = box.dtype.type
        scale = kind(self.a["spatial_scale"])
        self.start = rounded(box[:2]) * scale - kind(0.5)
        self.size = np.maximum((rounded(box[2:]) + 1) * scale - kind(0.5) - self.start, kind(0.1))
        self.classes = 1 if trans is None else trans.shape[0] // 2
        self.per_class = self.a["output_dim"] // self.classes

    def cells(self) -> Any:
        """Yield class, row, column, position among the parts, channels of the input, and samples."""
        a, kind = self.a, self.start.dtype.type
        rows, columns, samples = a["pooled_height"], a["pooled_width"], a["sample_per_part"]
        parts = a["part_size"] or [rows, columns]
        step = self.size / np.array([columns, rows], self.start.dtype)
        ticks = np.arange(samples, dtype=self.start.dtype) / kind(samples)
        for i, j in np.ndindex(rows, columns):
            part = (int(i * parts[0] // rows), int(j * parts[1] // columns))
            group = (
                min(i * a["group_size"][0] // rows, a["group_size"][0] - 1),
                min(j * a["group_size"][1] // columns, a["group_size"][1] - 1),
            )
            for n in range(self.classes):
                move = np.zeros(2, self.start.dtype) if self.trans is None else self.trans[2 * n : 2 * n + 2, *part]
                corner = np.array([j, i]) * step + self.start + move * kind(a["trans_std"]) * self.size
                ys, xs = np.meshgrid(corner[1] + ticks * step[1], corner[0] + ticks * step[0], indexing="ij")
                outs = np.arange(n * self.per_class, (n + 1) * self.per_class)
                channels = (outs * a["group_size"][0] + group[0]) * a["group_size"][1] + group[1]
                yield n, i, j, part, outs, channels, _Cell(ys.reshape(-1), xs.reshape(-1), *self.shape[2:])


def _regions(k: Call, x: Array, rois: Array, trans: Array) -> Any:
    boxes = k.dev.download(rois)
    moves = None if k.attrs["no_trans"] else k.dev.download(trans)
    for n, (image, box) in enumerate(zip(region_images(k, rois, None), boxes)):
        yield n, image, _Region(k, box, None if moves is None else moves[n], x.shape)


@op(
    "deformable_psroi_pooling",
    "Input ROIs Trans",
    "TopCount Output",
    _ATTRS,
    infer=_infer,
    grad=True,
    lod="kernel",
)
def deformable_psroi_pooling(k: Call, x: Array, rois: Array, trans: Array) -> tuple[Array, Array]:
    """Output = the mean of samples in each cell, shifted by Trans, of a grid over each region; TopCount = the count."""
    a, features = k.attrs, k.dev.download(x)
    out = np.zeros((rois.shape[0], a["output_dim"], a["pooled_height"], a["pooled_width"]), features.dtype)
    count = np.zeros_like(out)
    for n, image, region in _regions(k, features, rois, trans):
        for _, i, j, _, outs, channels, cell in region.cells():
            count[n, outs, i, j] = cell.count
            if cell.count:
                maps = features[image, channels]
                total = sum((maps[:, y, xs] * weight).sum(axis=1) for y, xs, weight, _, _ in cell.corners())
                out[n, outs, i, j] = total / cell.count
    return k.dev.upload(count), k.dev.upload(out)


@gradient("deformable_psroi_pooling", "Input ROIs Trans TopCount Output@GRAD", "Input@GRAD Trans@GRAD")
def deformable_psroi_pooling_grad(
    k: Call, x: Array, rois: Array, trans: Array, count: Array, dout: Array
) -> KernelResult:
    features, d = k.dev.download(x), k.dev.download(dout)
    dx, dtrans = np.zeros_like(features), np.zeros(trans.shape, d.dtype)
    for n, image, region in _regions(k, features, rois, trans):
        for kind, i, j, part, outs, channels, cell in region.cells():
            if not cell.count:
                continue
            share = d[n, outs, i, j] / cell.count
            maps = features[image, channels]
            for y, xs, weight, slope_y, slope_x in cell.corners():
                np.add.at(dx[image], (channels[:, None], y[None], xs[None]), share[:, None] * weight)
                if not k.attrs["no_trans"]:
                    pull = share[:, None] * maps[:, y, xs] * k.attrs["trans_std"]
                    dtrans[n, 2 * kind, *part] += (pull * slope_x).sum() * region.size[0]
                    dtrans[n, 2 * kind + 1, *part] += (pull * slope_y).sum() * region.size[1]
    return (
        k.dev.upload(dx) if k.wants("Input@GRAD") else None,
        k.dev.upload(dtrans) if k.wants("Trans@GRAD") else None,
    )
