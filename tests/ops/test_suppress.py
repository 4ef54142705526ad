"""Boxes are suppressed in C as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.vision import detection_boxes, nms, nms_variants

pytestmark = pytest.mark.skipif(nms.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(("threshold", "eta", "most"), [(0.3, 1.0, -1), (0.7, 0.8, -1), (0.5, 1.0, 7), (0.0, 1.0, -1)])
def test_c_and_numpy_keep_the_same_boxes(
    normalized: bool, threshold: float, eta: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.RandomState(3)
    corners = rng.rand(200, 2) * 60
    boxes = np.concatenate([corners, corners + rng.rand(200, 2) * 30 - 2], axis=1).astype(np.float32)
    in_c = nms.keep_apart(boxes, threshold, eta, normalized, most)
    monkeypatch.setattr(nms, "compiled", None)
    assert nms.keep_apart(boxes, threshold, eta, normalized, most) == in_c
    assert 1 < len(in_c) < 200


@pytest.mark.parametrize("in_c", [True, False])
def test_a_box_turned_inside_out_meets_others_as_in_1_8_5(in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_c:
        monkeypatch.setattr(nms, "compiled", None)
    boxes = np.array([[18.525, 0, 18.388, 8.618], [18.209, 0, 20.423, 6.291], [3, 0, 4, 4]], np.float32)
    assert nms.keep_apart(boxes, 0.3, 1.0, normalized=False) == [0, 2]


@pytest.mark.parametrize("in_c", [True, False])
def test_one_of_the_points_in_one_place_stays_as_in_1_8_5(in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_c:
        monkeypatch.setattr(nms, "compiled", None)
    boxes = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 2, 2], [1, 1, 1, 1]], np.float32)
    assert nms.keep_apart(boxes, 0.3, 1.0, normalized=True) == [0, 2]


def test_c_refuses_buffers_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="an int64 for each"):
        nms.compiled.keep_apart(np.zeros((2, 4), np.float32), np.zeros(1, np.int64), 0.5, 1.0, True, -1)
    assert nms.keep_apart(np.zeros((0, 4), np.float32), 0.5, 1.0, True) == []


def drawn(count: int, seed: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    corners = rng.random((count, 2), np.float32) * 20
    boxes = np.concatenate([corners, corners + rng.random((count, 2), np.float32) * 12 - 1], axis=1)
    return boxes, rng.random(count, np.float32)


@pytest.mark.parametrize("normalized", [True, False])
def test_all_overlaps_have_the_bits_of_numpy(normalized: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = drawn(37)[0], drawn(53, 6)[0]
    y[:3] = x[:3]
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    k = Call(None, {"box_normalized": normalized}, NumpyBackend(), frozenset())
    found = [detection_boxes.overlaps(np, x, y, normalized), detection_boxes.iou_similarity(k, x, y)]
    assert detection_boxes.overlaps(np, x[:0], y, normalized).shape == (0, 53)
    threads.close()
    monkeypatch.setattr(detection_boxes, "compiled", None)
    wanted = [detection_boxes.overlaps(np, x, y, normalized), detection_boxes.iou_similarity(k, x, y)]
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("gaussian", [True, False])
def test_scores_are_lowered_as_in_numpy(normalized: bool, gaussian: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, scores = drawn(60)
    boxes[7] = boxes[3]
    boxes[9] = boxes[11] = boxes[9, 0]  # points in one place
    attrs = {"normalized": normalized, "use_gaussian": gaussian, "gaussian_sigma": 2.0}
    with np.errstate(all="ignore"):
        found = nms_variants._decayed(boxes, scores, attrs)
        monkeypatch.setattr(nms_variants, "compiled", None)
        np.testing.assert_allclose(found, nms_variants._decayed(boxes, scores, attrs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normalized", [True, False])
def test_neighbours_are_merged_as_in_numpy(normalized: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, scores = drawn(80)
    boxes = np.sort(boxes, axis=0)
    attrs = {"normalized": normalized, "nms_threshold": 0.2}
    found = nms_variants._merged(boxes, scores, attrs)
    monkeypatch.setattr(nms_variants, "compiled", None)
    wanted = nms_variants._merged(boxes, scores, attrs)
    assert 1 < wanted[2].sum() < 80
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5)


def test_c_refuses_other_boxes() -> None:
    boxes, row = np.zeros((2, 4), np.float32), np.zeros(2, np.float32)
    for x, y, out in ((row, boxes, np.zeros(1)), (boxes, boxes, np.zeros((2, 3), np.float32)), (boxes[:0], boxes, row)):
        with pytest.raises(ValueError):
            nms.compiled.overlaps(x, y, out, 0.0, 0.0, 0.0, 1)
    for out, work in ((row[:1].copy(), boxes[:1].copy()), (row, row)):
        with pytest.raises(ValueError):
            nms.compiled.decay(boxes, out, work, True, False, 1.0)
    for scores, stands in ((row[:1].copy(), bytearray(2)), (row, bytearray(3))):
        with pytest.raises(ValueError):
            nms.compiled.merge(boxes, scores, stands, 0.5, True)
