"""What 1.8 checks of the values of a layer's arguments, and older eras do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.era import use_era
from fluidio.layers._value_checks import value_checks

L: Any = fluid.layers  # called with values that its types forbid


def _v(*shape: int, dtype: str = "float32") -> Any:
    return fluid.data(fluid.unique_name.generate("v"), list(shape), dtype=dtype)


def _image() -> Any:
    return _v(-1, 3, 8, 8)


# Each was tried on 1.8.5.
REFUSED: list[tuple[str, Callable[[], Any], type[Exception]]] = [
    ("conv2d of use_cudnn=1", lambda: L.conv2d(_image(), 4, 3, use_cudnn=1), ValueError),
    ("conv2d of a layout", lambda: L.conv2d(_image(), 4, 3, data_format="NDHWC"), ValueError),
    ("conv2d of three strides", lambda: L.conv2d(_image(), 4, 3, stride=[1, 2, 3]), ValueError),
    ("conv2d of a float window", lambda: L.conv2d(_image(), 4, 1.5), ValueError),
    ("conv2d of a list of floats", lambda: L.conv2d(_image(), 4, [1.5, 2.5]), ValueError),
    ("pool2d of use_cudnn=1", lambda: L.pool2d(_image(), 3, use_cudnn=1), TypeError),
    ("pool2d of a layout", lambda: L.pool2d(_image(), 3, data_format="NCH"), ValueError),
    ("a resize with align_corners=1", lambda: L.resize_bilinear(_image(), [4, 4], align_corners=1), TypeError),
    ("a resize to a word", lambda: L.resize_nearest(_image(), "abc"), TypeError),
    ("a resize to nothing", lambda: L.resize_nearest(_image(), [0, 4]), AssertionError),
    ("adding None", lambda: L.elementwise_add(_v(3), None), AssertionError),
    ("embedding with is_sparse=1", lambda: L.embedding(_v(3, 1, dtype="int64"), [5, 2], is_sparse=1), AssertionError),
    ("erf of an array", lambda: L.erf(np.ones(3, "float32")), ValueError),
    ("eye of a float", lambda: L.eye(1.5), TypeError),
    ("eye of a negative", lambda: L.eye(-1), TypeError),
    ("ones of no dims", lambda: L.zeros([], "float32"), AssertionError),
    ("pad2d of a mode", lambda: L.pad2d(_image(), [1, 1, 1, 1], mode="abc"), AssertionError),
    ("pixel_shuffle by a float", lambda: L.pixel_shuffle(_v(-1, 9, 4, 4), 3.0), TypeError),
    ("split into uneven parts", lambda: L.split(_v(3, 5), 2, 1), AssertionError),
    ("split along a word", lambda: L.split(_v(3, 5), 5, "a"), TypeError),
    ("concat of a tuple", lambda: L.concat((_v(3), _v(3))), TypeError),
    ("concat of two dtypes", lambda: L.concat([_v(3), _v(3, dtype="float64")]), ValueError),
    ("a cast to a word", lambda: L.cast(_v(3), "abc"), ValueError),
    ("a cast to None", lambda: L.cast(_v(3), None), ValueError),
    ("unfold of three sizes", lambda: L.unfold(_image(), [3, 3, 3]), AssertionError),
    ("unfold of a matrix", lambda: L.unfold(_v(3, 4), 2), AssertionError),
    ("a name that is a number", lambda: L.relu(_v(3), name=1), TypeError),
    ("slice from a number", lambda: L.slice(_v(3, 4), [0], 0, [2]), ValueError),
    ("transpose by too much", lambda: L.transpose(_v(3, 4), [0, 2]), ValueError),
    ("inplace_abn with relu", lambda: L.inplace_abn(_image(), act="relu"), AssertionError),
    ("a yolo_box of float classes", lambda: _yolo_box(2.0), TypeError),
    ("an optional input that is two", lambda: L.smooth_l1(_v(3, 4), _v(3, 4), [_v(3, 4), _v(3, 4)]), ValueError),
]


def _yolo_box(classes: Any) -> Any:
    return L.yolo_box(_v(-1, 21, 4, 4), _v(-1, 2, dtype="int32"), [10, 13, 16, 30, 33, 23], classes, 0.01, 32)


@pytest.mark.parametrize(("call", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_wrong_value_is_refused_as_in_18(call: Callable[[], Any], error: type[Exception]) -> None:
    with use_era("1.8"), fluid.program_guard(fluid.Program(), fluid.Program()), pytest.raises(error):
        call()


TAKEN: list[Callable[[], Any]] = [
    lambda: L.conv2d(_image(), 4, [3, 3], stride=(1, 2), padding="SAME"),
    lambda: L.conv2d(_image(), 4, np.array([3, 3]), padding=[[0, 0], [0, 0], [1, 1], [1, 1]]),
    lambda: L.pool2d(_image(), [2, 2], pool_padding=[1, 0, 1, 0]),
    lambda: L.where([_v(3, 4, dtype="bool")]),
    lambda: L.embedding(_v(3, 1, dtype="int64"), [5, 2], is_sparse=0),
]


@pytest.mark.parametrize("number", range(len(TAKEN)))
def test_what_18_takes_is_taken(number: int) -> None:
    with use_era("1.8"), fluid.program_guard(fluid.Program(), fluid.Program()):
        TAKEN[number]()


def test_older_eras_do_not_look_at_values() -> None:
    with use_era("1.5"), fluid.program_guard(fluid.Program(), fluid.Program()):
        L.conv2d(_image(), 4, 3, use_cudnn=1)
        L.concat([_v(3), _v(3)], name=None)


def test_every_checked_argument_exists() -> None:
    import inspect

    for name, checks in value_checks().items():
        parameters = inspect.signature(getattr(L, name)).parameters
        assert all(check.argument in parameters for check in checks), name
