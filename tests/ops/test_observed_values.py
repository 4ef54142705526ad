"""Single values that 1.8.5 computes in its own way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.math import elementwise

L = fluid.layers


def _run(fetch: Any, **feed: Any) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch, return_numpy=False)


def _arrays(fetch: Any, **feed: Any) -> list[Any]:
    return [np.array(value) for value in _run(fetch, **feed)]


def _sequences(lengths: Any) -> Any:
    rows = sum(lengths[-1])
    return fluid.create_lod_tensor(np.ones((rows, 2), np.float32), lengths, fluid.CPUPlace())


def _append(op_type: str, inputs: dict[str, Any], outputs: dict[str, str], **attrs: Any) -> list[Any]:
    block = fluid.default_main_program().global_block()
    made = {slot: block.create_var(name=slot, dtype=dtype) for slot, dtype in outputs.items()}
    block.append_op(type=op_type, inputs=inputs, outputs=made, attrs=attrs)
    return list(made.values())


def test_the_gradient_of_scale_by_a_variable_uses_it() -> None:
    x = fluid.data("x", [4])
    x.stop_gradient = False
    out = L.scale(x, L.fill_constant([1], "float32", 3.0))
    (gradient,) = fluid.gradients(L.reduce_mean(out), x)
    assert _arrays([gradient], x=np.ones(4, np.float32))[0].tolist() == [0.75] * 4


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ([[1, 2]], [[3, 1]], [[1, 2, 3, 1]]),
        ([[2, 1], [1, 1, 1]], [[1], [4]], [[2, 1, 1], [1, 1, 1, 4]]),
    ],
)
def test_concat_of_sequences_joins_them(first: Any, second: Any, joined: Any) -> None:
    x, y = (fluid.data(name, [None, 2], lod_level=len(first)) for name in "xy")
    (out,) = _run([L.concat([x, y])], x=_sequences(first), y=_sequences(second))
    assert out.recursive_sequence_lengths() == joined


def test_concat_refuses_sequences_of_other_depth() -> None:
    x, y = fluid.data("x", [None, 2], lod_level=1), fluid.data("y", [None, 2], lod_level=2)
    with pytest.raises(fluid.core.EnforceNotMet, match=r"LoD levels, got \[1, 2\]"):
        _run([L.concat([x, y])], x=_sequences([[1, 2]]), y=_sequences([[1], [4]]))


def test_stack_hands_the_sequences_of_the_first_on() -> None:
    x, y = (fluid.data(name, [None, 2], lod_level=1) for name in "xy")
    (out,) = _run([L.stack([x, y], axis=1)], x=_sequences([[1, 2]]), y=_sequences([[3]]))
    assert out.recursive_sequence_lengths() == [[1, 2]]


def test_rank_loss_pairs_rows_whatever_their_dims() -> None:
    shapes = {"label": (3, 1), "left": (3,), "right": (3, 1)}
    data = {name: fluid.data(name, list(shape)) for name, shape in shapes.items()}
    data["left"].stop_gradient = False
    out = L.rank_loss(data["label"], data["left"], data["right"])
    gradients = fluid.gradients(L.reduce_sum(out), data["left"])
    feed = {name: np.linspace(0.1, 0.7, 3, dtype=np.float32).reshape(shape) for name, shape in shapes.items()}
    value, slope = _arrays([out, *gradients], **feed)
    assert (out.shape, value.shape, slope.shape) == ((3, 1), (3, 1), (3,))
    np.testing.assert_allclose(value, np.full((3, 1), 0.6931472), rtol=1e-6)


@pytest.mark.parametrize(
    ("threshold", "expected", "slopes"),
    [
        (5, [-0.014872, 0.865098, 5.999927], [-0.012375, 1.049036, 1.000135]),
        (0.5, [-0.014872, 0.761594, 5.999927], [-0.012375, 1.027069, 1.000135]),
    ],
)
def test_mish_is_another_beyond_its_threshold(threshold: float, expected: list[float], slopes: list[float]) -> None:
    x = fluid.data("x", [3])
    x.stop_gradient = False
    out = L.mish(x, threshold=threshold)
    value, slope = _arrays([out, *fluid.gradients(out, x)], x=np.array([-6, 1, 6], np.float32))
    np.testing.assert_allclose(value, expected, atol=1e-6)
    np.testing.assert_allclose(slope, slopes, atol=1e-6)


def test_a_recurrent_gate_stays_below_one() -> None:
    x = fluid.data("x", [None, 6], lod_level=1)
    out = L.dynamic_gru(x, 2, param_attr=fluid.initializer.Constant(0.1), bias_attr=False)
    fed = fluid.create_lod_tensor(np.full((1, 6), 14, np.float32), [[1]], fluid.CPUPlace())
    np.testing.assert_allclose(_arrays([out], x=fed)[0], np.full((1, 2), 0.999997735), rtol=0, atol=6e-8)


@pytest.mark.parametrize("find", [L.argmax, L.argmin])
def test_the_place_in_a_vector_has_no_dims(find: Any) -> None:
    out = find(fluid.data("x", [5]))
    (value,) = _arrays([out], x=np.array([3, 9, 2, 5, 1], np.float32))
    assert (out.shape, value.shape, int(value)) == ((), (), 1 if find is L.argmax else 4)


def test_a_cast_to_float16_cuts_off() -> None:
    x = fluid.data("x", [8])
    numbers = [0.3, -0.3, 1 / 3, 65504, 65519, 2049, 6.0976e-5, np.inf]
    (value,) = _arrays([L.cast(L.cast(x, "float16"), "float32")], x=np.array(numbers, np.float32))
    expected = [0.2998046875, -0.2998046875, 0.333251953125, 65504, np.inf, 2048, 6.097555160522461e-05, np.inf]
    assert value.tolist() == expected


def test_max_pooling_that_is_global_and_adaptive_keeps_every_element() -> None:
    x = fluid.data("x", [1, 1, 3, 3])
    options = {"ksize": [2, 2], "global_pooling": True, "adaptive": True}
    out, mask = _append("max_pool2d_with_index", {"X": [x]}, {"Out": "float32", "Mask": "int32"}, **options)
    image = np.random.default_rng(0).random((1, 1, 3, 3), np.float32)
    value, places = _arrays([out, mask], x=image)
    np.testing.assert_array_equal(value, image)
    assert places.ravel().tolist() == list(range(9))


@pytest.mark.parametrize(
    ("y_shape", "expected"),
    [
        (
            (8, 3),
            [
                [3, 4, 5, 39, 44, 49, 123, 132, 141, 255, 268, 281],
                [27, 44, 61, 159, 180, 201, 339, 364, 389, 567, 596, 625],
            ],
        ),
        ((2, 8), [[8, 9, 34, 39, 76, 85, 134, 147], [72, 89, 130, 151, 204, 229, 294, 323]]),
    ],
)
def test_matmul_by_heads(y_shape: tuple[int, int], expected: Any) -> None:
    x, y = fluid.data("x", [2, 8]), fluid.data("y", list(y_shape))
    (out,) = _append("matmul", {"X": [x], "Y": [y]}, {"Out": "float32"}, head_number=4)
    ramp = np.arange(16, dtype=np.float32).reshape(2, 8)
    (value,) = _arrays([out], x=ramp, y=np.arange(np.prod(y_shape), dtype=np.float32).reshape(y_shape))
    assert value.tolist() == expected


@pytest.mark.parametrize("y_shape", [(8, 3), (2, 8)])
def test_matmul_by_heads_passes_back_what_each_head_does(y_shape: tuple[int, int]) -> None:
    x, y = fluid.data("x", [2, 8]), fluid.data("y", list(y_shape))
    x.stop_gradient = y.stop_gradient = False
    (out,) = _append("matmul", {"X": [x], "Y": [y]}, {"Out": "float32"}, head_number=4)
    loss = fluid.layers.reduce_sum(fluid.layers.square(out))
    gradients = fluid.gradients([loss], [x, y])
    left = np.arange(16, dtype=np.float32).reshape(2, 8) / 10
    right = np.arange(np.prod(y_shape), dtype=np.float32).reshape(y_shape) / 10
    dx, dy = _arrays(gradients, x=left, y=right)
    by_rows = y_shape[0] == 8
    for head in range(4):
        columns = slice(2 * head, 2 * head + 2)
        part = right[columns] if by_rows else right[:, columns]
        d = 2 * left[:, columns] @ part
        np.testing.assert_allclose(dx[:, columns], d @ part.T, rtol=1e-5)
        np.testing.assert_allclose(dy[columns] if by_rows else dy[:, columns], left[:, columns].T @ d, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "value"), [("int32", 1e100), ("int32", 3e9), ("int64", 1e100)])
def test_a_value_that_the_dtype_cannot_hold_is_refused(dtype: str, value: float) -> None:
    (out,) = _append("fill_any_like", {"X": [fluid.data("x", [2], dtype)]}, {"Out": dtype}, value=value)
    with pytest.raises(fluid.core.EnforceNotMet, match="does not fit int"):
        _run([out], x=np.zeros(2, dtype))


# Output size; the first numbers of 0 .. 209 in [2, 3, 5, 7] resized without aligned corners, align_mode 0.
RESIZED = [([1, 1], [0.0, 35.0, 70.0]), ([1, 3], [2 / 3, 3.0, 16 / 3]), ([3, 1], [7 / 3, 14.0, 77 / 3])]


@pytest.mark.parametrize(("size", "expected"), RESIZED)
def test_one_pixel_is_the_first(size: list[int], expected: list[float]) -> None:
    x = fluid.data("x", [2, 3, 5, 7])
    out = L.resize_bilinear(x, size, align_corners=False, align_mode=0)
    (value,) = _arrays([out], x=np.arange(210, dtype=np.float32).reshape(2, 3, 5, 7))
    np.testing.assert_allclose(value.ravel()[:3], expected, rtol=1e-5)


def test_nms_that_finds_nothing_is_one_row_for_the_whole_batch() -> None:
    boxes, scores = fluid.data("boxes", [2, 5, 4]), fluid.data("scores", [2, 3, 5])
    out = L.multiclass_nms(boxes, scores, 0.99, 10, 5)
    (value,) = _run([out], boxes=np.ones((2, 5, 4), np.float32), scores=np.zeros((2, 3, 5), np.float32))
    assert np.array(value).tolist() == [[-1.0]]
    assert value.recursive_sequence_lengths() == [[1]]


def test_hard_shrink_keeps_infinity() -> None:
    x = np.array([np.inf, -np.inf, 0.2, -2], np.float32)
    (out,) = _arrays([L.hard_shrink(fluid.data("x", [4]))], x=x)
    assert out.tolist() == [np.inf, -np.inf, 0, -2]


def test_a_power_of_fewer_dims_takes_the_operands_the_other_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = fluid.data("x", [2]), fluid.data("y", [2, 2])
    monkeypatch.setattr(elementwise, "_warned", False)
    with pytest.warns(UserWarning, match="unsqueeze X"):
        (out,) = _arrays([L.elementwise_pow(x, y)], x=np.array([2, 3], np.float32), y=np.full((2, 2), 5, np.float32))
    assert out.tolist() == [[25, 125], [25, 125]]


def test_equal_entries_among_the_largest_come_in_the_order_of_a_heap() -> None:
    values, places = L.topk(fluid.data("x", [2, 6]), 4)
    x = np.array([[0, 0, 0, 0, 0, 0], [1, 3, 3, 1, 3, 2]], np.float32)
    assert _arrays([values, places], x=x)[1].tolist() == [[1, 3, 0, 2], [4, 1, 2, 5]]


def test_arange_gives_floats_unless_told_otherwise() -> None:
    out = L.arange(0, 5, 2)
    (value,) = _arrays([out])
    assert (value.dtype, value.tolist(), out.dtype) == (np.float32, [0, 2, 4], fluid.core.VarDesc.VarType.FP32)


def test_clamp_takes_variables() -> None:
    low, high = (L.fill_constant([1], "float32", v) for v in (-0.5, 0.25))
    (out,) = _arrays([L.clamp(fluid.data("x", [3]), low, high)], x=np.array([-2, 0.125, 2], np.float32))
    assert out.tolist() == [-0.5, 0.125, 0.25]
