"""Wrong arguments raise what 1.8.5 raises, and what it accepts is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid

layers: Any = fluid.layers
initializer: Any = fluid.initializer


@pytest.fixture(autouse=True)
def _era() -> Any:
    with fluid.use_era("1.8"):
        yield


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: layers.fc(x, 3, act=["relu"]), TypeError),
        (lambda x: layers.fc(x, 3, act=[]), TypeError),
        (lambda x: x * "two", ValueError),
        (lambda x: x * [2], TypeError),
        (lambda x: layers.data("other", [3], dtype=-1), TypeError),
        (lambda x: layers.data("other", [3], dtype=x), TypeError),
        (lambda x: layers.batch_norm(x, data_layout=3), TypeError),
        (lambda x: layers.anchor_generator("wrong", [32.0], [1.0]), TypeError),
        (lambda x: layers.bilinear_tensor_product(x, None, 3), AttributeError),
        (lambda x: layers.gru_unit(layers.fc(x, 6), layers.fc(x, 2), 6, activation="swish"), KeyError),
        (lambda x: layers.batch_norm(x, epsilon=np.zeros((2, 3), "float32")), TypeError),
        (lambda x: initializer.Uniform(diag_num=2), AssertionError),
        (lambda x: initializer.Uniform(diag_step=2), AssertionError),
        (lambda x: initializer.Uniform(diag_val=None), AssertionError),
    ],
)
def test_an_argument_raises_the_class_of_1_8_5(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(layers.data("x", [4]))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: layers.conv2d(x, 4, 3, groups=0),
        lambda x: layers.conv3d(layers.unsqueeze(x, [2]), 4, 1, groups=0),
        lambda x: layers.conv2d_transpose(x, 4, filter_size=3, groups=0),
        lambda x: layers.conv3d_transpose(layers.unsqueeze(x, [2]), 4, filter_size=3, groups=0),
        lambda x: layers.deformable_conv(x, layers.conv2d(x, 2, 1), None, 4, 1, groups=0, modulated=False),
    ],
)
def test_a_convolution_without_any_group_is_refused(call: Any) -> None:
    with pytest.raises(ZeroDivisionError, match="groups is 0"):
        call(layers.data("x", [4, 8, 8]))


def test_the_tree_of_tdm_child_is_zeros_where_nobody_gives_one() -> None:
    x = fluid.layers.data("x", [1], dtype="int32")
    child, leaf = fluid.contrib.layers.tdm_child(x, 6, 2)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    found = exe.run(feed={"x": np.array([[1], [2]], "int32")}, fetch_list=[child, leaf])
    assert not found[0].any() and not found[1].any()
