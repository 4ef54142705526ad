"""Boxes for object detection: priors, anchors, boxes from offsets, regions."""

from __future__ import annotations

import math

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.sequences import Segments
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.activation import in_float32
from fluidio.ops.vision.detection_boxes import expanded_ratios

__all__: list[str] = []


def _places(k: Op, x: Value, axis: int) -> Value:
    """Return 0, 1, ... along an axis of a feature map."""
    return k.g.cast(k.g.arange(k.g.dim(x, axis)), x.dtype)


def _grid(k: Op, xs: Value, ys: Value, halves: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> list[Value]:
    """Return left, top, right and bottom [H, W, boxes] of boxes with these half sizes around each centre."""
    x, y = k.g.reshape(xs, [1, -1, 1]), k.g.reshape(ys, [-1, 1, 1])
    wide, high = (halves[:, i].reshape(1, 1, -1).astype(np.float32) for i in (0, 1))
    sides = [k("Sub", x, wide), k("Sub", y, high), k("Add", x, wide), k("Add", y, high)]
    dims = k.g.join([k.g.rows(ys), k.g.rows(xs), len(halves)])
    return [k("Expand", side, dims, rank=3) for side in sides]


def _stacked(k: Op, sides: list[Value]) -> Value:
    return k("Concat", *[k.g.unsqueeze(side, 3) for side in sides], axis=3)


def _variances(k: Op, boxes: Value) -> Value:
    return k("Expand", np.asarray(k.attr("variances"), np.float32), k.g.shape(boxes), dtype=np.float32, rank=boxes.rank)


def _steps(k: Op, feature: Value, image: Value) -> tuple[Value, Value, Value, Value]:
    """Return width and height of a cell and of the image, as float32 scalars."""
    sizes = [k.g.scalar(k.g.cast(k.g.dim(image, axis), np.float32)) for axis in (3, 2)]
    steps = [float(k.attr("step_w")), float(k.attr("step_h"))]
    if all(steps):
        cells = [k.g.value(step) for step in steps]
    else:
        counts = [k.g.scalar(k.g.cast(k.g.dim(feature, axis), np.float32)) for axis in (3, 2)]
        cells = [k("Div", size, count) for size, count in zip(sizes, counts, strict=True)]
    return cells[0], cells[1], sizes[0], sizes[1]


def _centres(k: Op, feature: Value, step_w: Value, step_h: Value) -> tuple[Value, Value]:
    offset = float(k.attr("offset"))
    xs = k("Mul", k("Add", _places(k, feature, 3), offset), step_w)
    ys = k("Mul", k("Add", _places(k, feature, 2), offset), step_h)
    return xs, ys


@maps("prior_box")
def prior_box(k: Op, feature: Value, image: Value) -> tuple[Value, Value]:
    step_w, step_h, width, height = _steps(k, feature, image)
    xs, ys = _centres(k, feature, step_w, step_h)
    left, top, right, bottom = _grid(k, xs, ys, np.asarray(_half_sizes(k), np.float32))
    boxes = _stacked(
        k, [k("Div", left, width), k("Div", top, height), k("Div", right, width), k("Div", bottom, height)]
    )
    if k.attr("clip"):
        boxes = k("Clip", boxes, np.asarray(0, np.float32), np.asarray(1, np.float32))
    return boxes, _variances(k, boxes)


def _half_sizes(k: Op) -> list[tuple[float, float]]:
    halves: list[tuple[float, float]] = []
    largest = list(k.attr("max_sizes") or [])
    for index, size in enumerate(k.attr("min_sizes")):
        ratios = expanded_ratios(k.attr("aspect_ratios"), bool(k.attr("flip")))
        by_ratio = [(size * math.sqrt(r) / 2, size / math.sqrt(r) / 2) for r in ratios]
        side = math.sqrt(size * largest[index]) / 2 if largest else 0.0
        square = [(side, side)] if largest else []
        if k.attr("min_max_aspect_ratios_order"):
            halves += [by_ratio[0], *square, *by_ratio[1:]]
        else:
            halves += [*by_ratio, *square]
    return halves


@maps("density_prior_box")
def density_prior_box(k: Op, feature: Value, image: Value) -> tuple[Value, Value]:
    steps = [float(k.attr("step_w")), float(k.attr("step_h"))]
    if not all(steps):
        sizes, cells = k.dims("Image")[2:], k.dims("Input")[2:]
        if min(*sizes, *cells) < 0:
            k.refuse("needs step_w and step_h, or known image sizes")
        steps = [sizes[1] / cells[1], sizes[0] / cells[0]]
    step_w, step_h, width, height = _steps(k, feature, image)
    xs, ys = _centres(k, feature, step_w, step_h)
    step = int((steps[0] + steps[1]) * 0.5)
    found: list[list[Value]] = []
    for size, density in zip(k.attr("fixed_sizes"), k.attr("densities"), strict=True):
        shift = int(step / density)
        for ratio in k.attr("fixed_ratios"):
            half = np.array([[size * math.sqrt(ratio) / 2, size / math.sqrt(ratio) / 2]], np.float32)
            for i in range(density):
                for j in range(density):
                    x = k("Add", xs, -step / 2 + shift / 2 + j * shift)
                    y = k("Add", ys, -step / 2 + shift / 2 + i * shift)
                    found.append(_grid(k, x, y, half))
    left, top, right, bottom = (k("Concat", *[each[i] for each in found], axis=2) for i in range(4))
    low = [k("Max", k("Div", side, size), 0.0) for side, size in ((left, width), (top, height))]
    high = [k("Min", k("Div", side, size), 1.0) for side, size in ((right, width), (bottom, height))]
    boxes = _stacked(k, [*low, *high])
    if k.attr("clip"):
        boxes = k("Clip", boxes, np.asarray(0, np.float32), np.asarray(1, np.float32))
    if k.attr("flatten_to_2d"):
        boxes = k.g.reshape(boxes, [-1, 4])
    return boxes, _variances(k, boxes)


@maps("anchor_generator")
def anchor_generator(k: Op, feature: Value) -> tuple[Value, Value]:
    step_w, step_h = (float(each) for each in k.attr("stride"))
    sizes = []
    for ratio in k.attr("aspect_ratios"):
        base_w = math.floor(math.sqrt(step_w * step_h / ratio) + 0.5)
        base_h = math.floor(base_w * ratio + 0.5)
        sizes += [(s / step_w * base_w, s / step_h * base_h) for s in k.attr("anchor_sizes")]
    offset = float(k.attr("offset"))
    xs = k("Add", k("Mul", _places(k, feature, 3), step_w), offset * (step_w - 1))
    ys = k("Add", k("Mul", _places(k, feature, 2), step_h), offset * (step_h - 1))
    boxes = _stacked(k, _grid(k, xs, ys, ((np.array(sizes) - 1) / 2).astype(np.float32)))
    return boxes, _variances(k, boxes)


def _columns(k: Op, boxes: Value, start: int, stop: int) -> Value:
    return k.g.slice(boxes, -1, start, stop)


@maps("iou_similarity")
def iou_similarity(k: Op, x: Value, y: Value) -> Value:
    return overlaps(k, x, y, bool(k.attr("box_normalized")))


def overlaps(k: Op, x: Value, y: Value, normalized: bool) -> Value:
    """Return intersection over union of each box of X with each of Y."""
    extra = 0.0 if normalized else 1.0
    a, b = k.g.unsqueeze(x, 1), k.g.unsqueeze(y, 0)
    low = k("Max", _columns(k, a, 0, 2), _columns(k, b, 0, 2))
    high = k("Min", _columns(k, a, 2, 4), _columns(k, b, 2, 4))
    shared = k("ReduceProd", k("Max", k("Add", k("Sub", high, low), extra), 0.0), np.array([2]), keepdims=0)

    def area(boxes: Value) -> Value:
        sides = k("Add", k("Sub", _columns(k, boxes, 2, 4), _columns(k, boxes, 0, 2)), extra)
        return k("ReduceProd", sides, np.array([2]), keepdims=0)

    whole = k("Sub", k("Add", area(a), area(b)), shared)
    return k("Div", shared, k("Max", whole, 1e-12))


@maps("box_coder")
def box_coder(k: Op, prior: Value, prior_variance: Value | None, target: Value) -> Value:
    k.pass_lod("TargetBox", "OutputBox")
    extra = 0.0 if k.attr("box_normalized") else 1.0
    size = k("Add", k("Sub", _columns(k, prior, 2, 4), _columns(k, prior, 0, 2)), extra)
    centre = k("Add", _columns(k, prior, 0, 2), k("Div", size, 2.0))
    if prior_variance is not None:
        variance = prior_variance
    else:
        given = list(k.attr("variance") or [1.0] * 4)
        variance = k.g.constant(np.asarray([given], prior.dtype))
    encode = k.attr("code_type") == "encode_center_size"
    at = 0 if encode or int(k.attr("axis")) == 0 else 1
    size, centre, variance = (k.g.unsqueeze(each, at) for each in (size, centre, variance))
    if encode:
        high, low = (k.g.unsqueeze(_columns(k, target, i, i + 2), 1) for i in (2, 0))
        own = k("Add", k("Sub", high, low), extra)
        middle = k("Div", k("Add", high, low), 2.0)
        place = k("Div", k("Sub", middle, centre), size)
        return k("Div", k("Concat", place, k("Log", k("Abs", k("Div", own, size))), axis=2), variance)
    moved = k("Mul", target, variance)
    new = k("Add", k("Mul", _columns(k, moved, 0, 2), size), centre)
    half = k("Div", k("Mul", k("Exp", _columns(k, moved, 2, 4)), size), 2.0)
    return k("Concat", k("Sub", new, half), k("Sub", k("Add", new, half), extra), axis=2)


@maps("box_clip")
def box_clip(k: Op, boxes: Value, info: Value) -> Value:
    k.pass_lod("Input", "Output")
    sizes = k("Floor", k("Add", k("Div", k.g.slice(info, 1, 0, 2), k.g.slice(info, 1, 2, 3)), 0.5))
    limits = k("Sub", k("Gather", sizes, np.array([1, 0]), axis=1), 1.0)  # width, height
    wide = k("Concat", limits, limits, axis=1)
    lod = k.lod("Input")
    if lod:
        wide = k("Gather", wide, Segments(k.g, lod[-1], boxes).number, axis=0)
    if k.rank(boxes) == 3:
        wide = k.g.unsqueeze(wide, 1)
    return k("Max", k("Min", boxes, wide), 0.0)


@maps("yolo_box")
def yolo_box(k: Op, x: Value, sizes: Value) -> tuple[Value, Value]:
    anchors = np.asarray(k.ints("anchors"), x.dtype).reshape(-1, 2)
    count, classes = len(anchors), int(k.attr("class_num"))
    height = k.g.scalar(k.g.cast(k.g.dim(x, 2), x.dtype))
    parts = k.g.reshape(x, [0, count, 5 + classes, k.g.dim(x, 2), k.g.dim(x, 3)])
    image = k.g.reshape(k.g.cast(sizes, x.dtype), [-1, 2, 1, 1, 1])
    image_h, image_w = (k.g.squeeze(k.g.slice(image, 1, i, i + 1), 1) for i in (0, 1))
    values = [k.g.squeeze(k.g.slice(parts, 2, i, i + 1), 2) for i in range(5)]
    confidence = k("Sigmoid", values[4])
    kept = k.g.cast(k("GreaterOrEqual", confidence, float(k.attr("conf_thresh"))), x.dtype)
    scale = float(k.attr("scale_x_y") or 1.0)
    bias = -0.5 * (scale - 1)

    def centre(value: Value, places: Value, size: Value) -> Value:
        cell = k("Add", k("Add", k("Mul", k("Sigmoid", value), scale), bias), places)
        return k("Div", k("Mul", cell, size), height)  # Fluid: the height of the grid is used for both directions

    def half(value: Value, column: int, size: Value) -> Value:
        grown = k("Mul", k("Mul", k("Exp", value), anchors[:, column].reshape(1, -1, 1, 1)), size)
        return k("Div", grown, k("Mul", height, 2.0 * float(k.attr("downsample_ratio"))))

    cx = centre(values[0], k.g.reshape(_places(k, x, 3), [1, 1, 1, -1]), image_w)
    cy = centre(values[1], k.g.reshape(_places(k, x, 2), [1, 1, -1, 1]), image_h)
    hw, hh = half(values[2], 0, image_w), half(values[3], 1, image_h)
    sides = [k("Sub", cx, hw), k("Sub", cy, hh), k("Add", cx, hw), k("Add", cy, hh)]
    if k.attr("clip_bbox", True):
        sides = [k("Max", side, 0.0) for side in sides[:2]] + [
            k("Min", side, k("Sub", size, 1.0)) for side, size in zip(sides[2:], (image_w, image_h), strict=True)
        ]
    boxes = k("Concat", *[k.g.unsqueeze(k("Mul", side, kept), 4) for side in sides], axis=4)
    sure = k.g.unsqueeze(k("Mul", confidence, kept), 2)
    scores = k("Mul", k("Sigmoid", k.g.slice(parts, 2, 5, 2**62)), sure)
    turned = k("Transpose", scores, perm=[0, 1, 3, 4, 2])
    rows = k.g.rows(x)
    return k.g.reshape(boxes, [rows, -1, 4]), k.g.reshape(turned, [rows, -1, classes])


def _images(k: Op, rois: Value, lengths: Value | None) -> Value:
    """Return the image number of each region."""
    if lengths is not None:
        given = k.g.flat(k.g.cast(lengths, np.int64))
        return Segments(k.g, given, rois).number
    lod = k.lod("ROIs")
    if not lod:
        zeros = k.g.filled(k.g.rows(rois), 0, np.int64)
        return Value(zeros.name, zeros.dtype, 1)
    return Segments(k.g, lod[-1], rois).number


@maps("roi_align")
def roi_align(k: Op, x: Value, rois: Value, lengths: Value | None) -> Value:
    return k(
        "RoiAlign",
        x,
        rois,
        _images(k, rois, lengths),
        rank=4,
        mode="avg",
        coordinate_transformation_mode="output_half_pixel",
        output_height=int(k.attr("pooled_height")),
        output_width=int(k.attr("pooled_width")),
        sampling_ratio=max(int(k.attr("sampling_ratio")), 0),
        spatial_scale=float(k.attr("spatial_scale")),
    )


@maps("roi_pool")
def roi_pool(k: Op, x: Value, rois: Value, lengths: Value | None) -> tuple[Value, None]:
    image = k.g.unsqueeze(k.g.cast(_images(k, rois, lengths), x.dtype), 1)
    shape = [int(k.attr("pooled_height")), int(k.attr("pooled_width"))]
    out = in_float32(
        k,
        "MaxRoiPool",
        x,
        k("Concat", image, rois, axis=1),
        rank=4,
        pooled_shape=shape,
        spatial_scale=float(k.attr("spatial_scale")),
    )
    return out, None
