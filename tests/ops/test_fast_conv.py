"""Convolutions in C give what NumPy gives, for every set of instructions that this processor has."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.compiled import products
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.vision import columns, conv, conv_ways, fast_conv, volumes, whole_rows

pytestmark = pytest.mark.skipif(fast_conv.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield fast_conv.compiled.instructions(request.param)
    fast_conv.compiled.instructions(512)


def drawn(seed: int) -> tuple[Call, Any, Any]:
    """Return a convolution drawn at random: its attributes, its images and its filters."""
    r = random.Random(seed)
    groups = r.choice([1, 1, 1, 2, 3, 8])
    channels, filters = r.choice([1, 2, 3, 5]), r.choice([1, 2, 3, 8, 17, 40])
    kernel, dilations = [r.randint(1, 5), r.randint(1, 5)], [r.randint(1, 2), r.randint(1, 2)]
    attrs = {
        "strides": [r.randint(1, 3), r.randint(1, 4)],
        "paddings": [r.randint(0, 3) for _ in range(r.choice([2, 4]))],
        "padding_algorithm": r.choice(["EXPLICIT"] * 3 + ["SAME", "VALID"]),
        "groups": groups,
        "dilations": dilations,
        "data_format": "NCHW",
    }
    sizes = [(k - 1) * d + 1 + r.choice([0, 1, 4, 9, 27]) for k, d in zip(kernel, dilations)]
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((r.choice([1, 2, 5]), channels * groups, *sizes), np.float32)
    w = rng.standard_normal((filters * groups, channels, *kernel), np.float32)
    return Call(None, attrs, NumpyBackend(), frozenset()), x, w


def all_three(k: Call, x: Any, w: Any) -> list[Any]:
    g = conv.Geometry(k, x.shape, w)
    out = conv.correlate(k, x, w, g)
    dout = np.cos(np.arange(out.size)).reshape(out.shape).astype(out.dtype)
    return [out, conv.spread(k, dout, w, g), conv.filter_gradient(k, x, dout, w, g)]


@pytest.mark.parametrize("seed", range(40))
def test_a_convolution_and_its_gradients_are_those_of_numpy(
    seed: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    k, x, w = drawn(seed)
    assert conv_ways.serve(k, x, w)
    found = all_three(k, x, w)
    monkeypatch.setattr(fast_conv, "compiled", None)
    for fast, plain in zip(found, all_three(k, x, w)):
        np.testing.assert_allclose(fast, plain, rtol=2e-4, atol=2e-4 * float(np.abs(plain).max()))


@pytest.mark.parametrize(("channels", "filters", "size"), [(70, 33, 9), (260, 7, 5), (16, 130, 33)])
def test_deep_convolutions_are_cut_into_pieces_and_put_together_again(channels: int, filters: int, size: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, channels, size, size), np.float32)
    w = rng.standard_normal((filters, channels, 3, 3), np.float32)
    k = drawn(0)[0]
    k.attrs.update(strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=1, padding_algorithm="EXPLICIT")
    for fast, exact in zip(all_three(k, x, w), all_three(k, x.astype(np.float64), w.astype(np.float64))):
        assert np.abs(fast - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize(("height", "width"), [(1, 4), (5, 8), (3, 15), (18, 16), (2, 20), (7, 31), (40, 64)])
@pytest.mark.parametrize(("kernel", "padding"), [((3, 3), 1), ((5, 2), 2), ((1, 7), 3)])
@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [1, 3], [4, 2]])
def test_few_filters_of_every_width_are_those_of_numpy(
    height: int, width: int, kernel: tuple[int, int], padding: int, strides: list[int], bits: int
) -> None:
    rng = np.random.default_rng(height * width)
    x = rng.standard_normal((9, 5, height, width * strides[1]), np.float32)
    w = rng.standard_normal((11, 5, *kernel), np.float32)
    k = drawn(0)[0]
    k.attrs.update(strides=strides, paddings=[padding] * 2, dilations=[1, 1], groups=1, padding_algorithm="EXPLICIT")
    for fast, exact in zip(all_three(k, x, w), all_three(k, x.astype(np.float64), w.astype(np.float64))):
        assert np.abs(fast - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("shape", "padding"), [((2, 24, 7, 9), 1), ((3, 40, 4, 33), 0), ((1, 30, 70, 5), 2), ((3, 25, 57, 59), 1)]
)
def test_three_by_three_filters_of_many_channels_are_those_of_numpy(
    shape: tuple[int, ...], padding: int, bits: int
) -> None:
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal(shape, np.float32), rng.standard_normal((50, shape[1], 3, 3), np.float32)
    k = drawn(0)[0]
    k.attrs.update(strides=[1, 1], paddings=[padding] * 2, dilations=[1, 1], groups=1, padding_algorithm="EXPLICIT")
    for fast, exact in zip(all_three(k, x, w), all_three(k, x.astype(np.float64), w.astype(np.float64))):
        assert np.abs(fast - exact).max() < 2e-6 * np.abs(exact).max()


@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [1, 3], [3, 1]])
@pytest.mark.parametrize("dilations", [[1, 1], [2, 1], [1, 2]])
@pytest.mark.parametrize(("filters", "kernel"), [(1, (3, 3)), (2, (5, 4)), (1, (1, 9))])
@pytest.mark.parametrize("size", [(7, 8), (9, 14), (8, 33), (12, 70)])
def test_depthwise_convolutions_are_those_of_numpy(
    size: tuple[int, int], filters: int, kernel: tuple[int, int], dilations: list[int], strides: list[int], bits: int
) -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((3, 6, *size), np.float32)
    w = rng.standard_normal((6 * filters, 1, *kernel), np.float32)
    k = drawn(0)[0]
    pads = [2, 1, 4, 5]
    k.attrs.update(strides=strides, paddings=pads, dilations=dilations, groups=6, padding_algorithm="EXPLICIT")
    for fast, exact in zip(all_three(k, x, w), all_three(k, x.astype(np.float64), w.astype(np.float64))):
        assert np.abs(fast - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("shape", "kernel", "padding", "stride", "dilation"),
    [
        ((5, 1, 20, 30), (3, 30), [1, 1, 0, 0], 1, 1),
        ((4, 3, 9, 7), (3, 7), [0, 2, 0, 0], 2, 2),
        ((3, 4, 6, 5), (6, 5), [0, 0, 0, 0], 1, 1),
        ((1, 2, 4, 6), (1, 6), [0, 0, 0, 0], 3, 1),
        ((2, 2, 5, 6), (5, 6), [1, 1, 0, 0], 1, 1),
    ],
)
def test_kernels_as_wide_as_the_image_are_those_of_numpy(
    shape: tuple[int, ...], kernel: tuple[int, int], padding: list[int], stride: int, dilation: int
) -> None:
    rng = np.random.default_rng(7)
    x, w = rng.standard_normal(shape, np.float32), rng.standard_normal((9, shape[1], *kernel), np.float32)
    k = drawn(0)[0]
    k.attrs.update(strides=[stride, 1], paddings=padding, dilations=[dilation, 1], groups=1)
    k.attrs.update(padding_algorithm="EXPLICIT")
    assert whole_rows.are_met(conv.Geometry(k, x.shape, w))
    for fast, exact in zip(all_three(k, x, w), all_three(k, x.astype(np.float64), w.astype(np.float64))):
        assert fast.flags.c_contiguous
        assert np.abs(fast - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [1, 3], [3, 1]])
@pytest.mark.parametrize("dilations", [[1, 1], [2, 3]])
@pytest.mark.parametrize("shape", [(3, 7, 9, 12), (1, 17, 14, 40), (7, 3, 11, 8)])
def test_columns_in_memory_give_what_numpy_gives(
    shape: tuple[int, ...], dilations: list[int], strides: list[int], bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if products.compiled is None:
        pytest.skip("no wide vectors")
    rng = np.random.default_rng(8)
    x, w = rng.standard_normal(shape, np.float32), rng.standard_normal((20, shape[1], 3, 2), np.float32)
    k = drawn(0)[0]
    k.attrs.update(strides=strides, paddings=[1, 2], dilations=dilations, groups=1, padding_algorithm="EXPLICIT")
    g = conv.Geometry(k, x.shape, w)
    exact = all_three(k, x.astype(np.float64), w.astype(np.float64))
    dout = np.cos(np.arange(exact[0].size)).reshape(exact[0].shape).astype(np.float32)
    for most in (1 << 24, 1):  # all images at a time, and each by itself
        monkeypatch.setattr(columns, "_MOST", most)
        for fast, wanted in ((columns.correlate(x, w, g), exact[0]), (columns.spread(dout, w, g), exact[1])):
            assert np.abs(fast - wanted).max() < 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("strides", [[1, 1, 1], [2, 1, 2], [1, 2, 1]])
@pytest.mark.parametrize("dilations", [[1, 1, 1], [2, 1, 1]])
@pytest.mark.parametrize(
    ("shape", "filters", "kernel", "groups"),
    [((2, 3, 6, 9, 9), 8, (3, 3, 3), 1), ((3, 6, 5, 4, 7), 4, (1, 2, 3), 2), ((1, 2, 8, 5, 6), 3, (4, 5, 6), 1)],
)
def test_volumes_are_images_of_slices(
    shape: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    groups: int,
    dilations: list[int],
    strides: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(9)
    x = rng.standard_normal(shape, np.float32)
    w = rng.standard_normal((filters, shape[1] // groups, *kernel), np.float32)
    k = drawn(0)[0]
    pads = [2, 1, 0, 1, 1, 0]
    k.attrs.update(strides=strides, paddings=pads, dilations=dilations, groups=groups, data_format="NCDHW")
    k.attrs.update(padding_algorithm="EXPLICIT")
    exact = all_three(k, x.astype(np.float64), w.astype(np.float64))
    for most in (volumes._MOST, 1):  # all volumes at a time, and each by itself
        monkeypatch.setattr(volumes, "_MOST", most)
        for fast, wanted in zip(all_three(k, x, w), exact):
            assert np.abs(fast - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_columns_serve_where_places_are_few_or_meet_little() -> None:
    if products.compiled is None:
        pytest.skip("no wide vectors")
    k = drawn(0)[0]
    k.attrs.update(strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=1, padding_algorithm="EXPLICIT")
    heavy, light = np.empty((512, 512, 3, 3), np.float32), np.empty((64, 64, 3, 3), np.float32)
    many = conv.Geometry(k, (4, 512, 7, 7), heavy)
    assert columns.serves(many, heavy) and columns.spreads(many, heavy)
    usual = conv.Geometry(k, (4, 64, 28, 28), light)
    assert not columns.serves(usual, light) and not columns.spreads(usual, light)
    k.attrs.update(paddings=[0, 0])
    small = conv.Geometry(k, (4, 64, 8, 8), light)
    assert columns.spreads(small, light) and not columns.serves(small, light)


@pytest.mark.parametrize(("images", "columns"), [(11, 96), (12, 95), (12, 100)])
def test_columns_of_other_sizes_are_refused(images: int, columns: int) -> None:
    taps = np.zeros((2, 3), np.int64)
    sizes, grid = (1, 1, 3, 4), (3, 4, 1, 1)
    with pytest.raises(ValueError, match="the sizes of columns do not fit"):
        fast_conv.compiled.take_columns(bytes(4 * images), bytearray(columns), taps, sizes, grid, 1, 1)
    with pytest.raises(ValueError, match="the sizes of columns do not fit"):
        fast_conv.compiled.add_columns(bytes(columns), bytearray(4 * images), taps, sizes, grid, 1, 1)


@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [3, 1]])
@pytest.mark.parametrize("shape", [(3, 33, 7, 7), (1, 16, 1, 16), (5, 300, 4, 5), (2, 20, 33, 64)])
def test_kernels_of_one_by_one_are_products(shape: tuple[int, ...], strides: list[int], bits: int) -> None:
    if products.compiled is None:
        pytest.skip("no wide vectors")
    products.compiled.instructions(bits)
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal(shape, np.float32), rng.standard_normal((70, shape[1], 1, 1), np.float32)
    k = drawn(0)[0]
    k.attrs.update(strides=strides, paddings=[0, 0], dilations=[1, 1], groups=1, padding_algorithm="EXPLICIT")
    for fast, exact in zip(all_three(k, x, w), all_three(k, x.astype(np.float64), w.astype(np.float64))):
        assert np.abs(fast - exact).max() < 2e-6 * np.abs(exact).max()
    products.compiled.instructions(512)


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_conv, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(products, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(columns, "_WORTH_A_THREAD", 1)
    k, x, w = drawn(3)
    wide = np.random.default_rng(0).standard_normal((40, 32, 3, 3), np.float32)
    few_places = np.random.default_rng(1).standard_normal((130, 30, 3, 3), np.float32)
    one_by_one = np.random.default_rng(2).standard_normal((201, 7, 1, 1), np.float32)
    product = np.random.default_rng(4).standard_normal((49, 25, 1, 1), np.float32)
    many_tiles = np.random.default_rng(5).standard_normal((2, 26, 71, 70), np.float32)
    depthwise = np.random.default_rng(6).standard_normal((21, 1, 3, 2), np.float32)
    cases = [
        (wide[:3, :21].repeat(5, 3).copy(), depthwise),
        (few_places[:9].copy(), few_places.reshape(-1, 30, 2, 3)[:20].copy()),
        (few_places[:9].copy(), few_places.reshape(-1, 30, 3, 1)[:20].copy()),
        (x, w),
        (product.reshape(7, 25, 7, 1), product),
        (wide.repeat(3, 2), wide),
        (few_places[:2], few_places),
        (one_by_one[:3], one_by_one),
        (many_tiles, wide[:, :26].copy()),
    ]
    for images, filters in cases:
        k.attrs.update(groups=images.shape[1] // filters.shape[1], strides=[1, 1], dilations=[1, 1])
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
        alone = all_three(k, images, filters)
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
        for one, three in zip(alone, all_three(k, images, filters)):
            np.testing.assert_array_equal(one, three)
    threads.close()


def test_sizes_that_do_not_fit_the_arrays_are_refused() -> None:
    x, w, out = np.zeros((1, 2, 4, 4), "f"), np.zeros((3, 2, 1, 1), "f"), np.zeros((1, 3, 4, 4), "f")
    good = [x, out, w, np.zeros((1, 3), np.int64), 1, (1, 2, 4, 4), (3, 4, 4), (4, 4, 1, 1), (0, 0, 1, 1), (2, 1)]
    good += [1, 1]
    fast_conv.compiled.correlate(*good)
    for index, wrong in [
        (3, np.full((1, 3), 9, np.int64)),
        (4, 2),
        (5, (2, 2, 4, 4)),
        (6, (3, 4, 5)),
        (7, (5, 4, 1, 1)),
        (8, (0, 1, 1, 1)),
        (9, (7, 1)),
    ]:
        with pytest.raises(ValueError, match="do not fit"):
            fast_conv.compiled.correlate(*good[:index], wrong, *good[index + 1 :])


def test_images_of_other_dtypes_go_the_way_of_numpy() -> None:
    k, x, w = drawn(1)
    g = conv.Geometry(k, x.shape, w)
    assert not conv_ways.serve(k, x.astype(np.float64), w)
    assert conv.correlate(k, x.astype(np.float64), w.astype(np.float64), g).dtype == np.float64


def test_taps_far_outside_the_image_take_no_memory(bits: int) -> None:
    """A model may ask for any dilation: 2**32 rows of 2**30 columns and 4 channels are 0 bytes, modulo 2**64."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, 6, 16), np.float32)
    w = rng.standard_normal((8, 4, 2, 2), np.float32)
    far = [2**32 - 1, 2**30 - 16]
    k = drawn(0)[0]
    k.attrs.update(strides=[1, 1], paddings=[0, far[0], 0, far[1]], dilations=far, groups=1)
    k.attrs.update(padding_algorithm="EXPLICIT")
    out, dx, dw = all_three(k, x, w)
    dout = np.cos(np.arange(out.size)).reshape(out.shape).astype(np.float32)
    near = w[:, :, 0, 0]
    np.testing.assert_allclose(out, np.einsum("fc,nchw->nfhw", near, x), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dx, np.einsum("fc,nfhw->nchw", near, dout), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dw[:, :, 0, 0], np.einsum("nfhw,nchw->fc", dout, x), rtol=1e-4, atol=1e-4)
    assert not dw[:, :, 0, 1].any() and not dw[:, :, 1].any()
