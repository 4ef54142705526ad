"""Polygons whose edges cross overlap as in Fluid 1.8.5."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio.ops.vision.polygons import polygon_overlap

SQUARE = [0, 0, 10, 0, 10, 10, 0, 10]
# Pairs of polygons, and the lowest multiple of 0.004 at which the original, asked for `nms_threshold`, kept both.
PAIRS = {
    "crossing edges": (
        [6.36, 8.29, 1.28, 13.85, 11.33, 5.31, 10.46, 1.88],
        [11.52, 18.59, 6.37, 13.35, 2.64, 14.33, 5.79, 3.66],
        0.080,
    ),
    "a square and crossing edges": (SQUARE, [0, 0, 10, 10, 10, 2, 0, 6], 0.484),
    "a concave one within a square": (SQUARE, [0, 0, 10, 0, 5, 3, 0, 10], 0.400),
    "two concave ones": ([0, 0, 10, 0, 5, 3, 0, 10], [0, 0, 10, 0, 4, 3, 0, 10], 0.876),
    "a square within a concave one": ([0, 0, 10, 0, 5, 3, 0, 10], SQUARE, 0.400),
    "a bow, whose sides cancel out": (SQUARE, [0, 0, 10, 10, 10, 0, 0, 10], 0.0),
    "squares": (SQUARE, [5, 0, 15, 0, 15, 10, 5, 10], 0.336),
    "squares turned either way": (SQUARE, [5, 10, 15, 10, 15, 0, 5, 0], 0.336),
}


@pytest.mark.parametrize(("a", "b", "expected"), PAIRS.values(), ids=PAIRS.keys())
def test_polygons_overlap_as_in_1_8_5(a: list[float], b: list[float], expected: float) -> None:
    for first, second in ((a, b), (b, a)):
        found = polygon_overlap(np.array(first, np.float32), np.array(second, np.float32))
        assert expected - 0.0041 <= found <= expected


def test_more_corners_may_cross_too() -> None:
    rng = np.random.RandomState(5)
    pairs = [rng.uniform(0, 20, (2, 16)).round(1).astype(np.float32) for _ in range(4)]
    found = [polygon_overlap(*pair) for pair in pairs]
    assert found[2] < -1  # more is shared than both areas, whose parts cancel out
    np.testing.assert_allclose([found[i] for i in (0, 1, 3)], [0.271, 0.093, 0.327], atol=0.0011)
