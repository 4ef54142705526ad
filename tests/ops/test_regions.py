"""Regions are pooled in C as in NumPy, entries are numbered as they first appear, pairs matched from the largest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import threads
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.vision import detection_match, pool, roi, roi_parts
from fluidio.program.op_def import find_op

needs_c = pytest.mark.skipif(roi.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.fixture(autouse=True)
def _three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setattr(roi, "_WORTH_A_THREAD", 1)
    yield
    threads.close()


def pooled(x: Any, boxes: Any, lengths: list[int]) -> list[Any]:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        images, rois = fluid.data("x", [None, *x.shape[1:]], str(x.dtype)), fluid.data("rois", [None, 4], lod_level=1)
        out = fluid.layers.roi_pool(images, rois, 3, 2, 0.5)
    (op,) = [op for op in main.global_block().ops if op.type == "roi_pool"]
    feed = {"x": x, "rois": fluid.create_lod_tensor(boxes, [lengths], fluid.CPUPlace())}
    fetched = [out, main.global_block().var(op.output("Argmax")[0])]
    return fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=fetched)


def case() -> tuple[Any, Any, list[int]]:
    draw = np.random.RandomState(4)
    x = draw.randint(0, 6, (2, 5, 9, 7)).astype("float32")  # many are equal
    x[0, 1, 2:5] = np.nan
    x[1, 2] = -np.inf
    corners = draw.uniform(-8, 20, (11, 2))
    boxes = np.concatenate([corners, corners + draw.uniform(-3, 14, (11, 2))], axis=1).astype("float32")
    boxes[3] = [0, 0, 1e20, np.inf]
    boxes[4] = np.nan
    return x, boxes, [4, 7]


@needs_c
def test_c_and_numpy_pool_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    in_c = pooled(*case())
    monkeypatch.setattr(roi, "compiled", None)
    for one, other in zip(in_c, pooled(*case())):
        np.testing.assert_array_equal(one, other)
    assert len(set(in_c[1].reshape(-1))) > 20


@pytest.mark.parametrize("in_c", [pytest.param(True, marks=needs_c), False])
def test_what_is_not_a_number_is_no_maximum_as_in_1_8_5(in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_c:
        monkeypatch.setattr(roi, "compiled", None)
    x = np.full((1, 1, 6, 6), np.nan, "float32")
    x[0, 0, 0, 5] = -2
    out, where = pooled(x, np.array([[0, 0, 11, 11]], "float32"), [1])
    lowest = np.finfo("float32").min
    np.testing.assert_array_equal(out.reshape(3, 2), [[lowest, -2], [lowest, lowest], [lowest, lowest]])
    np.testing.assert_array_equal(where.reshape(3, 2), [[-1, 5], [-1, -1], [-1, -1]])


@needs_c
def test_c_refuses_what_does_not_fit() -> None:
    x, out, where = (
        np.zeros((1, 1, 4, 4), "float32"),
        np.zeros((1, 1, 1, 1), "float32"),
        np.zeros((1, 1, 1, 1), "int64"),
    )
    sizes = (1, 1, 4, 4, 1, 1)
    for image, edges in ((1, [0, 4, 0, 4]), (-1, [0, 4, 0, 4]), (0, [0, 5, 0, 4]), (0, [0, 4, -1, 4])):
        with pytest.raises(ValueError, match="do not fit"):
            roi.compiled.pool(x, np.array([image]), np.array([edges]), out, where, sizes, 0, 1)
    with pytest.raises(ValueError, match="do not fit"):
        roi.compiled.pool(x, np.array([0]), np.array([[0, 4, 0, 4]]), out, where, (1, 1, 4, 4, 1, 2), 0, 1)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("top", [3, 50, 1 << 30])
def test_entries_are_numbered_as_they_first_appear(dtype: str, top: int) -> None:
    x = np.random.RandomState(top % 97).randint(-top, top, 500).astype(dtype)
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        outs = fluid.layers.unique_with_counts(fluid.data("x", [None], dtype))
    values, index, counts = fluid.Executor(fluid.CPUPlace()).run(main, feed={"x": x}, fetch_list=list(outs))
    expected = list(dict.fromkeys(x.tolist()))
    assert values.tolist() == expected
    np.testing.assert_array_equal(values[index], x)
    assert counts.tolist() == [x.tolist().count(v) for v in expected]


def test_a_value_that_equals_nothing_is_an_entry_of_its_own() -> None:
    x = np.array([np.nan, 1, np.nan, 1], "float32")
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        outs = fluid.layers.unique(fluid.data("x", [None], "float32"))
    values, index = fluid.Executor(fluid.CPUPlace()).run(main, feed={"x": x}, fetch_list=list(outs))
    np.testing.assert_array_equal(values, [np.nan, 1, np.nan])
    np.testing.assert_array_equal(index, [0, 1, 2, 1])


@pytest.mark.parametrize("levels", [3, 1000])
def test_pairs_are_matched_from_the_largest_on_each_row_and_column_once(levels: int) -> None:
    draw = np.random.RandomState(levels)
    for rows, columns in ((1, 1), (5, 3), (3, 5), (12, 40), (40, 12)):
        part = (draw.randint(-1, levels, (rows, columns)) / levels).astype("float32")
        expected = np.full(columns, -1)
        for flat in np.argsort(-part, axis=None, kind="stable").tolist():
            row, column = divmod(flat, columns)
            if part[row, column] >= 1e-6 and row not in expected and expected[column] < 0:
                expected[column] = row
        indices, found = np.full(columns, -1, np.int32), np.zeros(columns, "float32")
        detection_match._match(part, indices, found)
        assert indices.tolist() == expected.tolist()
        assert found.tolist() == [part[row, column] if row >= 0 else 0 for column, row in enumerate(expected)]


@needs_c
def test_means_of_regions_and_their_gradients_in_c_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.RandomState(7)
    corners = draw.uniform(-4, 18, (6, 2))
    boxes = np.concatenate([corners, corners + draw.uniform(-2, 14, (6, 2))], axis=1).astype("float32")
    boxes[5] = [0, 0, 400, 400]
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x, rois = fluid.data("x", [2, 24, 9, 7]), fluid.data("rois", [None, 4], lod_level=1)
        x.stop_gradient = False
        out = fluid.layers.psroi_pool(x, rois, 4, 0.5, 3, 2)
        (dx,) = fluid.gradients([fluid.layers.reduce_sum(out * out)], [x])
    feed = {
        "x": draw.randn(2, 24, 9, 7).astype("float32"),
        "rois": fluid.create_lod_tensor(boxes, [[2, 4]], fluid.CPUPlace()),
    }
    in_c = fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=[out, dx])
    monkeypatch.setattr(roi_parts, "compiled", None)
    for found, expected in zip(in_c, fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=[out, dx])):
        assert np.abs(expected).max() > 0
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@needs_c
def test_c_refuses_cells_outside_the_image() -> None:
    planes, out = np.zeros((1, 1, 1, 1, 4, 4), np.float32), np.zeros((1, 1, 1, 1), np.float32)
    with pytest.raises(ValueError, match="do not fit"):
        roi_parts.compiled.means(planes, np.zeros(1, np.int64), np.array([0, 5, 0, 1]), out, (1, 1, 4, 4, 1, 1), False)


@pytest.mark.skipif(roi.aligned is None, reason="there was no C compiler when fluidio was installed")
@pytest.mark.parametrize("ratio", [-1, 0, 1, 3])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_aligned_regions_and_their_gradients_in_c_are_those_of_numpy(
    ratio: int, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 20, 9, 13), np.float32)
    corners = rng.random((12, 2), np.float32) * 20 - 4
    boxes = np.concatenate([corners, corners + rng.random((12, 2), np.float32) * 25 - 3], axis=1)
    boxes[0], boxes[1], boxes[2] = (-90, -90, -50, -50), (0, 0, 500, 300), (5, 5, 5, 5)
    attrs = {"spatial_scale": scale, "pooled_height": 3, "pooled_width": 5, "sampling_ratio": ratio}
    k = Call(None, attrs, NumpyBackend(), frozenset(("X@GRAD",)))
    k.lods["ROIs"] = (np.array([0, 5, 12]),)
    d = rng.standard_normal((12, 20, 3, 5), np.float32)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    found = [roi.roi_align(k, x, boxes, None), roi.roi_align_grad(k, x, boxes, None, d)]
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    alone = [roi.roi_align(k, x, boxes, None), roi.roi_align_grad(k, x, boxes, None, d)]
    monkeypatch.setattr(roi, "aligned", None)
    wanted = [roi.roi_align(k, x, boxes, None), roi.roi_align_grad(k, x, boxes, None, d)]
    for one, other, two in zip(found, alone, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)
    threads.close()


@pytest.mark.skipif(roi.aligned is None, reason="there was no C compiler when fluidio was installed")
def test_regions_that_do_not_fit_are_refused() -> None:
    x, image, boxes = np.zeros((1, 2, 3, 4), np.float32), np.zeros(1, np.int64), np.zeros((1, 4))
    good: list[Any] = [x, image, boxes, np.zeros((1, 2, 5, 6), np.float32), (1, 2, 3, 4, 5, 6), 2, False, 1]
    roi.aligned.align(*good)
    odd: list[tuple[int, Any]] = [(0, x[:, :1].copy()), (1, image + 1), (1, image - 1), (2, boxes + np.nan)]
    odd += [(2, boxes + 1e9), (2, boxes[:0]), (3, x)]
    for place in range(6):
        for value in (0, -1, 7, 1 << 40):
            odd.append((4, (*good[4][:place], value, *good[4][place + 1 :])))
    for place, value in odd:
        with pytest.raises(ValueError):
            roi.aligned.align(*good[:place], value, *good[place + 1 :])


@needs_c
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_windows_with_positions_in_c_are_those_of_numpy(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (3, 5, 11, 21)).astype(np.float32)  # with equal ones
    kernel = find_op("max_pool2d_with_index").kernel
    assert kernel is not None
    pool.compiled.instructions(bits)
    for attrs in (
        {"ksize": [3, 4], "adaptive": True, "strides": [1, 1], "paddings": [0, 0]},
        {"ksize": [3, 5], "adaptive": False, "strides": [2, 3], "paddings": [1, 2]},
    ):
        k = Call(None, {"global_pooling": False, **attrs}, NumpyBackend(), frozenset())
        for change in (0.0, -np.inf, np.nan):
            some = x.copy()
            some[0, 0, :4] += np.float32(change)
            found = kernel(k, some)
            with monkeypatch.context() as patch:
                patch.setattr(pool, "compiled", None)
                wanted = kernel(k, some)
            for one, two in zip(found, wanted, strict=True):
                assert one.dtype == two.dtype
                np.testing.assert_array_equal(one, two)
    pool.compiled.instructions(512)
