"""Shapes and attributes that 1.8.5 refuses when an op is appended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fluidio as fluid
from fluidio.errors import EnforceNotMet

L: Any = fluid.layers


def _v(*shape: int, dtype: str = "float32") -> Any:
    return fluid.data(fluid.unique_name.generate("v"), list(shape), dtype=dtype)


def _yolov3_loss(shape: tuple[int, ...], anchors: list[int], mask: list[int]) -> Any:
    return L.yolov3_loss(_v(2, *shape), _v(2, 4, 4), _v(2, 4, dtype="int32"), anchors, mask, 3, 0.7, 32)


# Each was tried on 1.8.5.
REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("stack beyond the dims", lambda: L.stack([_v(2, 3)], axis=4), "axis must lie in -3 ... 2, got 4"),
    ("unstack beyond the dims", lambda: L.unstack(_v(2, 3), axis=2, num=3), "no dim 2"),
    ("expand_as to more dims", lambda: L.expand_as(_v(2), _v(4, 2)), "number of dims"),
    ("gather_nd by a vector", lambda: L.gather_nd(_v(3), _v(1, dtype="int64")), "2 dims"),
    ("scatter_nd of matrices", lambda: L.scatter_nd(_v(4, 1, dtype="int64"), _v(4, 3), [5]), "1 dims"),
    ("scatter_nd into less", lambda: L.scatter_nd(_v(4, 1, dtype="int64"), _v(4, 3), [5]), "Updates has wrong shape"),
    ("gather_nd too deep", lambda: L.gather_nd(_v(3), _v(2, 2, dtype="int64")), r"Input\(X\).rank"),
    ("pad by less than nothing", lambda: L.pad(_v(2), [-1, 1]), "negative"),
    ("a constant of -1 rows", lambda: L.fill_constant([-1, 2], "float32", 1), "negative"),
    ("another dropout", lambda: L.dropout(_v(2), 0.5, dropout_implementation="other"), "other"),
    ("lrn over 4 channels", lambda: L.lrn(_v(2, 3, 8, 8), n=4), "odd"),
    ("affine_channel of 4 scales", lambda: L.affine_channel(_v(2, 3, 8, 8), _v(4), _v(3)), "3 channels"),
    ("top 0", lambda: L.topk(_v(2, 3), 0), "k must be at least 1"),
    ("argsort beyond the dims", lambda: L.argsort(_v(2, 3), axis=2), "no dim 2"),
    ("increment of two", lambda: L.increment(_v(2)), "one element"),
    ("unique of a matrix", lambda: L.unique(_v(2, 2)), "vector"),
    ("temporal_shift of too much", lambda: L.temporal_shift(_v(2, 3, 8, 8), 2, 0.6), "0.6"),
    ("fsp of two sizes", lambda: L.fsp_matrix(_v(2, 3, 4, 4), _v(2, 3, 5, 5)), "height"),
    ("affine_grid of three sizes", lambda: L.affine_grid(_v(2, 2, 3), [2, 3, 4]), "4 sizes"),
    ("space_to_depth of a matrix", lambda: L.space_to_depth(_v(2, 4), 2), "4 dims"),
    ("addmm to a vector", lambda: L.addmm(_v(5), _v(3, 4), _v(4, 5)), "matrix"),
    ("bmm of other widths", lambda: L.bmm(_v(3, 2, 4), _v(3, 3, 5)), "multiplied"),
    (
        "sigmoid losses of other labels",
        lambda: L.sigmoid_cross_entropy_with_logits(_v(2, 3), _v(3, 3)),
        "the same shape",
    ),
    ("huber_loss of other labels", lambda: L.huber_loss(_v(2, 1), _v(3, 1), 1.0), "the same shape"),
    ("kldiv_loss of other targets", lambda: L.kldiv_loss(_v(2, 3), _v(2, 4)), "the same shape"),
    ("smooth_l1 of vectors", lambda: L.smooth_l1(_v(2), _v(2)), "2 dims"),
    ("smooth_l1 with one weight", lambda: L.smooth_l1(_v(2, 3), _v(2, 3), _v(2, 3)), "OutsideWeight"),
    ("bpr_loss of flat labels", lambda: L.bpr_loss(_v(2, 3), _v(2, dtype="int64")), "number of dims"),
    ("a teacher of vectors", lambda: L.teacher_student_sigmoid_loss(_v(2), _v(2)), "2 dims"),
    ("a prior box that shrinks", lambda: L.prior_box(_v(1, 3, 4, 4), _v(1, 3, 8, 8), [4.0], [2.0]), "larger"),
    ("iou_similarity of five numbers", lambda: L.iou_similarity(_v(2, 5), _v(2, 4)), r"\[N, 4\]"),
    ("target_assign of a matrix", lambda: L.target_assign(_v(2, 4), _v(2, 4, dtype="int32")), "3 dims"),
    ("roi_pool to nothing", lambda: L.roi_pool(_v(2, 3, 8, 8), _v(3, 4), 0), "above 0"),
    ("roi_align by less than nothing", lambda: L.roi_align(_v(2, 3, 8, 8), _v(3, 4), 1, 1, -1.0), "above 0"),
    ("yolov3_loss of 9 channels", lambda: _yolov3_loss((9, 4, 4), [10, 13], [0]), "8 channels"),
    ("yolov3_loss of a wide image", lambda: _yolov3_loss((8, 4, 5), [10, 13], [0]), "wide"),
    ("yolov3_loss of half an anchor", lambda: _yolov3_loss((8, 4, 4), [10, 13, 14], [0]), "pairs"),
    ("yolov3_loss of another anchor", lambda: _yolov3_loss((8, 4, 4), [10, 13], [1]), "do not exist"),
    ("dot of other sizes", lambda: L.dot(_v(2), _v(3)), "the same shape"),
    ("flip beyond the dims", lambda: L.flip(_v(2), [3]), "X has 1 dims"),
    ("flip of one dim twice", lambda: L.flip(_v(2, 3), [0, 0]), "twice"),
    (
        "gather_tree of other parents",
        lambda: L.gather_tree(_v(2, dtype="int64"), _v(3, dtype="int64")),
        "the same shape",
    ),
    ("a sum of two sizes", lambda: L.sum([_v(2), _v(3)]), "shape"),
    ("slice with an end too many", lambda: L.slice(_v(4, 5), [0], [1], [2, 3]), "ends must hold"),
    ("slice with starts for fewer axes", lambda: L.slice(_v(4, 5), [0, 1], [1], [2, 3]), "starts must hold"),
    (
        "strided_slice with fewer strides",
        lambda: L.strided_slice(_v(4, 5), [0, 1], [1, 1], [2, 3], [1]),
        "strides must hold",
    ),
    ("crop_tensor to fewer dims", lambda: L.crop_tensor(_v(4, 5), [2]), "a size for each of the 2 dims"),
    ("cross along a dim of 4", lambda: L.cross(_v(3, 4), _v(3, 4), dim=1), "size 3"),
]


@pytest.mark.parametrize(("call", "text"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_appending_it_refuses(call: Callable[[], Any], text: str) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()), pytest.raises(EnforceNotMet, match=text):
        call()
