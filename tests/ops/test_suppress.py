"""Boxes are suppressed in C as in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio.ops.vision import nms

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
