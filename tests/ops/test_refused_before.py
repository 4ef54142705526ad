"""What 1.8.5 computes and fluidio refused: numbers of 1.8.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


def _draw(*shape: int, seed: int = 0, low: float = -1.0) -> Any:
    return np.random.RandomState(seed).uniform(low, 1, shape).astype("float32")


def _lod(array: Any, lengths: Any) -> Any:
    return fluid.create_lod_tensor(array, lengths, fluid.CPUPlace())


def _uniform(seed: int) -> Any:
    return fluid.initializer.Uniform(-1, 1, seed=seed)


def _run(fetch: Any, feed: dict[str, Any]) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch, return_numpy=False)


def _sum(value: Any) -> float:
    return float(np.abs(np.array(value).astype("float64")).sum())


def test_a_transposed_convolution_with_same_padding_ignores_dilation() -> None:
    x = fluid.data("x", [1, 2, 4, 4])
    out = L.conv2d_transpose(x, 2, filter_size=3, padding="SAME", dilation=2, stride=2, param_attr=_uniform(3))
    (value,) = _run([out], {"x": _draw(1, 2, 4, 4)})
    assert out.shape == (1, 2, 8, 8)
    assert _sum(value) == pytest.approx(61.615, abs=1e-2)


def test_a_slice_of_an_empty_sequence_is_empty() -> None:
    x = fluid.data("x", [None, 2], lod_level=1)
    offset, length = (fluid.data(name, [None, 1], "int64") for name in ("offset", "length"))
    out = L.sequence_slice(x, offset, length)
    feed = {
        "x": _lod(_draw(5, 2), [[3, 0, 2]]),
        "offset": np.array([[1], [0], [0]]),
        "length": np.array([[2], [0], [1]]),
    }
    (value,) = _run([out], feed)
    assert value.recursive_sequence_lengths() == [[2, 0, 1]]
    assert _sum(value) == pytest.approx(1.648, abs=1e-3)


@pytest.mark.parametrize(
    ("join", "axis", "shape", "declared"),
    [
        (L.concat, 0, (4, 3), (-1, 3)),
        (L.concat, 1, (2, 6), (2, -1)),
        (L.stack, 0, (2, 2, 3), (-1, 2, 3)),
        (L.stack, 1, (2, 2, 3), (2, -1, 3)),
    ],
)
def test_an_array_of_tensors_is_joined(join: Callable[..., Any], axis: int, shape: Any, declared: Any) -> None:
    x, y = fluid.data("x", [2, 3]), fluid.data("y", [2, 3])
    x.stop_gradient = False
    array = L.array_write(x, L.fill_constant([1], "int64", 0))
    L.array_write(y, L.fill_constant([1], "int64", 1), array)
    out = join(array, axis)
    (gradient,) = fluid.gradients(L.reduce_sum(out * out), x)
    first, second = _draw(2, 3), _draw(2, 3, seed=1)
    value, slope = (np.array(v) for v in _run([out, gradient], {"x": first, "y": second}))
    assert (value.shape, out.shape) == (shape, declared)
    together = np.concatenate if join is L.concat else np.stack
    np.testing.assert_array_equal(value, together([first, second], axis))
    np.testing.assert_allclose(slope, 2 * first)


def test_images_of_bytes_are_resized() -> None:
    x = fluid.data("x", [1, 1, 2, 2], "uint8")
    (value,) = _run([L.resize_bilinear(x, [3, 3])], {"x": np.array([[[[0, 100], [200, 40]]]], np.uint8)})
    assert np.array(value).tolist() == [[[[0, 50, 100], [100, 85, 70], [200, 120, 40]]]]


def test_normal_numbers_in_a_shape_known_at_run_time() -> None:
    rows = L.fill_constant([1], "int64", 2)
    outs = [L.gaussian_random(L.assign(np.array([2, 3])), seed=5), L.gaussian_random([rows, 3], seed=5)]
    for value in _run(outs, {}):
        np.testing.assert_allclose(np.array(value)[0], [-0.017, -0.1994, 0.1831], atol=1e-4)


def test_a_sequence_convolution_with_trained_padding() -> None:
    x = fluid.data("x", [None, 2], lod_level=1)
    x.stop_gradient = False
    weight = L.create_parameter([6, 3], "float32", default_initializer=_uniform(3))
    padding = L.create_parameter([2, 2], "float32", default_initializer=_uniform(4))
    block = fluid.default_main_program().global_block()
    out = block.create_var(name="out", dtype="float32")
    block.append_op(
        type="sequence_conv",
        inputs={"X": [x], "Filter": [weight], "PaddingData": [padding]},
        outputs={"Out": [out]},
        attrs={"contextStride": 1, "contextStart": -1, "contextLength": 3, "paddingTrainable": True},
    )
    found = fluid.gradients(L.reduce_sum(out * out), [x, weight, padding])
    values = _run([out, *found], {"x": _lod(_draw(5, 2), [[3, 2]])})
    np.testing.assert_allclose(np.array(values[0]).ravel()[:4], [0.7724, -0.0334, -0.2394, -0.0319], atol=1e-4)
    assert _sum(values[0]) == pytest.approx(5.019, abs=1e-2)
    assert _sum(values[1]) == pytest.approx(7.763, abs=1e-2)
    assert np.array(values[3]).shape == (2, 2)


@pytest.mark.parametrize(
    ("size", "stride", "out_stride", "real", "lengths", "total"),
    [
        (4, 1, 1, [[4, 4], [3, 3]], [9, 4], 23.959),
        (8, 2, 2, [[16, 16], [12, 8]], [16, 6], 42.411),
        (6, 1, 2, [[5, 7], [9, 4]], [6, 4], 21.67),
    ],
)
def test_patches_within_the_real_size_of_an_image(
    size: int, stride: int, out_stride: int, real: Any, lengths: list[int], total: float
) -> None:
    x, sizes = fluid.data("x", [2, 1, size, size]), fluid.data("sizes", [None, 2])
    out = L.im2sequence(x, filter_size=2, stride=stride, input_image_size=sizes, out_stride=out_stride)
    (value,) = _run([out], {"x": _draw(2, 1, size, size), "sizes": np.array(real, np.float32)})
    assert value.recursive_sequence_lengths() == [lengths]
    assert _sum(value) == pytest.approx(total, abs=1e-2)


def test_data_norm_with_scale_and_shift() -> None:
    x = fluid.data("x", [None, 3])
    start = {"batch_size": 1e4, "batch_sum": 0.0, "batch_square": 1e4, "scale_w": 1.5, "bias": 0.5}
    out = L.data_norm(x, enable_scale_and_shift=True, param_attr=start)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == ["dn.scale_w", "dn.bias", "dn.batch_size", "dn.batch_sum", "dn.batch_square_sum"]
    (value,) = _run([out], {"x": _draw(4, 3)})
    np.testing.assert_allclose(np.array(value).ravel()[:4], [0.6464, 1.1456, 0.8083, 0.6346], atol=1e-4)


@pytest.mark.parametrize("lod", [[[3, 2]], [[1, 4]], None])
def test_boxes_by_class_are_suppressed_image_by_image(lod: Any) -> None:
    """The images are those of the boxes, whatever the scores say."""
    boxes = fluid.data("boxes", [None, 2, 4], lod_level=1)
    scores = fluid.data("scores", [None, 2], lod_level=1)
    out = L.multiclass_nms(boxes, scores, 0.1, 10, 5, nms_threshold=0.5, background_label=-1)
    feed = {
        "boxes": _lod(np.sort(_draw(5, 2, 4, low=0), -1), [[3, 2]]),
        "scores": _lod(_draw(5, 2, low=0, seed=3), lod) if lod else _draw(5, 2, low=0, seed=3),
    }
    (value,) = _run([out], feed)
    assert out.shape == (-1, 6)
    assert value.recursive_sequence_lengths() == [[5, 3]]
    np.testing.assert_allclose(
        np.array(value).ravel()[:8], [0.0, 0.5508, 0.5449, 0.5488, 0.6028, 0.7152, 0.0, 0.8929], atol=1e-4
    )


def test_a_layer_norm_of_no_rows() -> None:
    (value,) = _run([L.layer_norm(fluid.data("x", [None, 3]))], {"x": np.zeros((0, 3), np.float32)})
    assert np.array(value).shape == (0, 3)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_one_name_for_weights_and_biases_of_a_stack(kind: str) -> None:
    x = fluid.data("x", [None, 4, 3])
    same: dict[str, Any] = {
        "param_attr": fluid.ParamAttr(name="p"),
        "bias_attr": fluid.ParamAttr(name="p"),
        "num_layers": 2,
    }
    if kind == "gru":
        fluid.contrib.layers.basic_gru(x, None, 2, **same)
        each = ["p_fw_w_{}_gate", "p_fw_w_{}_candidate", "p_fw_b_{}_gate", "p_fw_b_{}_candidate"]
    else:
        fluid.contrib.layers.basic_lstm(x, None, None, 2, **same)
        each = ["p_fw_w_{}", "p_fw_b_{}"]
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == [name.format(layer) for layer in (0, 1) for name in each]
