"""Deformable convolutions sample in C as in NumPy, with every set of instructions."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.vision import deformable

pytestmark = pytest.mark.skipif(
    deformable.compiled is None, reason="there was no C compiler when fluidio was installed"
)


def arrays(
    seed: int, groups: int, attrs: dict[str, Any], kernel: tuple[int, int], masked: bool, odd: bool = False
) -> Any:
    """Return a call and its image, positions, mask, filter and the gradient of the columns."""
    rng = np.random.default_rng(seed)
    k: Any = SimpleNamespace(attrs={**deformable._ATTRS, "deformable_groups": groups, "im2col_step": 1, **attrs})
    sides = []
    for side, size in enumerate((7, 9)):
        window = k.attrs["dilations"][side] * (kernel[side] - 1) + 1
        sides.append((size + 2 * k.attrs["paddings"][side] - window) // k.attrs["strides"][side] + 1)
    points = kernel[0] * kernel[1]
    x = rng.standard_normal((2, 6, 7, 9), np.float32)
    offset = rng.standard_normal((2, 2 * groups * points, *sides), np.float32) * 3
    if odd:
        for value in (math.nan, math.inf, -math.inf, 3e38, -1.0, -2e9):
            offset[rng.random(offset.shape) < 0.03] = value
    mask = rng.random((2, groups * points, *sides), np.float32) if masked else None
    columns = rng.standard_normal((2, 6, points, sides[0] * sides[1]), np.float32)
    return k, x, offset, mask, np.zeros((4, 6, *kernel), np.float32), columns


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("groups", "attrs", "kernel"),
    [
        (1, {"paddings": [1, 1]}, (3, 3)),
        (2, {"strides": [2, 1], "paddings": [2, 0]}, (2, 3)),
        (3, {"dilations": [2, 3]}, (3, 2)),
    ],
)
def test_samples_and_their_gradients_are_those_of_numpy(
    groups: int,
    attrs: dict[str, Any],
    kernel: tuple[int, int],
    masked: bool,
    odd: bool,
    bits: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    k, *inputs, d = arrays(1, groups, attrs, kernel, masked, odd)
    deformable.compiled.instructions(bits)
    columns = deformable._Columns(k, *inputs)
    assert columns._in_c()
    found = [columns.values(), *columns.spread(d.copy())]
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    shared = [columns.values(), *columns.spread(d.copy())]
    threads.close()
    deformable.compiled.instructions(512)
    monkeypatch.setattr(deformable, "compiled", None)
    with np.errstate(over="ignore"):
        wanted = [columns.values(), *columns.spread(d.copy())]
    for one, other, two in zip(found, shared, wanted, strict=True):
        if one is None or two is None:  # without a mask, C does not make its gradient
            assert one is None and not masked
            continue
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=2e-5)


def test_other_arrays_are_left_to_numpy() -> None:
    k, x, offset, mask, weight, _ = arrays(2, 1, {}, (3, 3), True)
    for inputs in ((x.astype(np.float64), offset, mask), (x[:, ::2], offset, mask), (x[:0], offset[:0], mask[:0])):
        assert not deformable._Columns(k, *inputs[:2], inputs[2], weight)._in_c()


def test_sizes_that_do_not_fit_are_refused() -> None:
    k, x, offset, mask, weight, d = arrays(3, 2, {}, (3, 3), True)
    numbers = list(deformable._Columns(k, x, offset, mask, weight)._numbers())
    good = x, offset, mask, np.empty_like(d)
    deformable.compiled.read(*good, tuple(numbers), 1)
    for place in (*range(9), 9, 10, 13, 14):
        for value in (-1, 0, numbers[place] + 1, 1 << 40):
            if place < 9 or value != numbers[place] + 1:
                other = (*numbers[:place], value, *numbers[place + 1 :])
                with pytest.raises(ValueError):
                    deformable.compiled.read(*good, other, 1)
    for place in range(4):
        arrays_ = [*good[:place], np.zeros(3, np.float32), *good[place + 1 :]]
        with pytest.raises(ValueError):
            deformable.compiled.read(*arrays_, tuple(numbers), 1)
    last = np.zeros_like(x), np.zeros_like(offset), np.zeros_like(mask)
    deformable.compiled.spread(*good, *last, tuple(numbers), 1)
    for place in range(3):
        others = [*last[:place], np.zeros(3, np.float32), *last[place + 1 :]]
        with pytest.raises(ValueError):
            deformable.compiled.spread(*good, *others, tuple(numbers), 1)
