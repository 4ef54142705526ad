"""What 1.8 checks of a layer's arguments against each other, and older eras do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.era import use_era

L: Any = fluid.layers  # called with values that its types forbid


def _v(*shape: int, dtype: str = "float32") -> Any:
    return fluid.data(fluid.unique_name.generate("v"), list(shape), dtype=dtype)


def _image() -> Any:
    return _v(-1, 3, 8, 8)


def _volume() -> Any:
    return _v(-1, 3, 6, 6, 6)


def _one(dtype: str = "int32") -> Any:
    return L.fill_constant([1], dtype, 2)


# Each was tried on 1.8.5.
REFUSED: list[tuple[str, Callable[[], Any], type[Exception]]] = [
    ("matmul of other widths", lambda: L.matmul(_v(2, 3), _v(2, 3)), AssertionError),
    ("matmul of other widths, turned", lambda: L.matmul(_v(3, 2), _v(3, 2), True, True), AssertionError),
    ("matmul of two vectors", lambda: L.matmul(_v(3), _v(4)), AssertionError),
    ("matmul of other batches", lambda: L.matmul(_v(4, 2, 3), _v(5, 3, 2)), ValueError),
    ("matmul of other second dims", lambda: L.matmul(_v(4, 2, 2, 3), _v(4, 3, 3, 2)), ValueError),
    ("split by a fraction, beyond the dims", lambda: L.split(_v(4, 6), 2.1, 3), TypeError),
    ("split along a fraction", lambda: L.split(_v(4, 6), 1, 1.0), TypeError),
    ("split into one", lambda: L.split(_v(4, 6), 1, 3), AssertionError),
    ("reshape to two open dims", lambda: L.reshape(_v(2, 25), [-1, -1, 5]), AssertionError),
    ("reshape with a dim of nothing", lambda: L.reshape(_v(2, 25), [2, 5, 5, 0]), AssertionError),
    ("reshape to a negative", lambda: L.reshape(_v(2, 25), [-1, -2, 5]), AssertionError),
    ("a bilinear matrix", lambda: L.image_resize(_v(2, 3), [4, 4]), ValueError),
    ("a bilinear volume", lambda: L.resize_bilinear(_volume(), [4, 4]), ValueError),
    ("a trilinear image", lambda: L.resize_trilinear(_image(), [4, 4, 4]), ValueError),
    ("an image in a layout of volumes", lambda: L.resize_nearest(_image(), [4, 4], data_format="NCDHW"), ValueError),
    ("a resize to a float", lambda: L.resize_bilinear(_image(), [4.5, _one()]), AssertionError),
    ("a resize aligned by 1", lambda: L.image_resize(_volume(), [4, 4], align_corners=1), TypeError),
    ("prelu of channels of a vector", lambda: L.prelu(_v(3), "channel"), AssertionError),
    ("batch_norm without a bias", lambda: L.batch_norm(_image(), bias_attr=False), AssertionError),
    ("layer_norm that scales by False", lambda: L.layer_norm(_v(2, 3), param_attr=False), AssertionError),
    ("layer_norm that shifts by False", lambda: L.layer_norm(_v(2, 3), bias_attr=False), AssertionError),
    ("diag_embed over one dim", lambda: L.diag_embed(_v(2, 3), dim1=0, dim2=0), AssertionError),
    ("split along a dim too far", lambda: L.split(_v(4, 6), 2, dim=4), IndexError),
    ("assign of doubles", lambda: L.assign(np.ones(2)), TypeError),
    ("fill_constant into ints", lambda: L.fill_constant([1], "float32", 1, out=_one()), TypeError),
    ("a parameter of half a row", lambda: L.create_parameter([2.2], "float32"), TypeError),
    ("linspace of int8", lambda: L.linspace(0, 10, 1, "int8"), TypeError),
    ("crop_tensor to -2", lambda: L.crop_tensor(_v(5, 6), [-2, 3]), ValueError),
    ("crop_tensor to 0", lambda: L.crop_tensor(_v(5, 6), [0, 3]), ValueError),
    ("expand by 0", lambda: L.expand(_v(2), [0]), AssertionError),
    ("logsumexp of None", lambda: L.logsumexp(None), AssertionError),
    ("meshgrid of a number", lambda: L.meshgrid([_v(2), 0.5]), AttributeError),
    ("interpolate of an array", lambda: L.interpolate(np.ones((1, 2, 4, 4), np.float32), [8, 8]), AssertionError),
    ("mish below 0", lambda: L.mish(_v(2), -1), AssertionError),
    (
        "locality_aware_nms of two classes",
        lambda: L.locality_aware_nms(_v(1, 3, 4), _v(1, 2, 3), 0.1, 2, 2),
        AssertionError,
    ),
    (
        "nce without its distribution",
        lambda: L.nce(_v(2, 3), _v(2, 1, dtype="int64"), 4, sampler="custom_dist"),
        AssertionError,
    ),
    ("a head without sizes", lambda: L.multi_box_head([_image()], _image(), 8, 3, [[2.0]]), AssertionError),
    ("trace of a vector", lambda: L.trace(_v(3)), AssertionError),
    ("trace along one dim", lambda: L.trace(_v(3, 3), dim1=0, dim2=0), AssertionError),
    ("roi_pool of an array", lambda: L.roi_pool(np.ones((2, 3, 8, 8), "float32"), _v(3, 4)), AssertionError),
    ("clamp to nothing", lambda: L.clamp(_v(2)), AssertionError),
    ("dot of None", lambda: L.dot(None, _v(2)), AssertionError),
    ("flip of no dims", lambda: L.flip(_v(2), []), AssertionError),
    ("randn of no dims", lambda: L.randn([]), AssertionError),
    ("slice of an array", lambda: L.slice(np.ones(4, "float32"), [0], [0], [1]), AssertionError),
    ("pool2d of an array", lambda: L.pool2d(np.ones((2, 3, 8, 8), "float32"), 2), AssertionError),
]


@pytest.mark.parametrize(("call", "error"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_18_refuses(call: Callable[[], Any], error: type[Exception]) -> None:
    use_era("1.8")
    with fluid.program_guard(fluid.Program(), fluid.Program()), pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error


def test_open_dims_of_matmul_are_not_compared() -> None:
    use_era("1.8")
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        assert L.matmul(_v(-1, 2, 3), _v(5, 3, 2)).shape[1:] == (2, 2)


def test_older_eras_take_doubles() -> None:
    use_era("1.5")
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        assert L.assign(np.ones(2)).shape == (2,)


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_refuse_with_the_words_that_tests_look_for(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: diagonal must be an int"):
        getattr(L, name)(_v(2, 3), diagonal="1")
    with pytest.raises(ValueError, match=f"{name}: input must have at least 2 dims"):
        getattr(L, name)(_v(3))
