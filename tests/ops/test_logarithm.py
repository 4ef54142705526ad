"""Logarithms of float32 as the C library has them, on which the bits of normal numbers depend."""

from __future__ import annotations

import numpy as np

from fluidio.ops.random.engine import normal
from fluidio.ops.random.logarithm import log32


def test_logarithms_are_within_an_ulp_and_some_are_not_rounded_to_nearest() -> None:
    x = np.linspace(1e-6, 1, 50_001, dtype=np.float32)
    near = np.log(x.astype(np.float64))
    found = log32(x)
    assert (np.abs(found - near) <= np.spacing(np.abs(near).astype(np.float32))).all()
    assert found[-1] == 0.0
    off = int((found != near.astype(np.float32)).sum())
    assert 0 < off < 1_000


def test_normal_numbers_have_the_bits_of_1_8_5() -> None:
    drawn = normal(5, [2000], 0.0, 1.0, "float32")
    assert (
        drawn[[2, 3, 536, 537, 674, 675]].tobytes()
        == np.array(
            [
                0.1831015944480896,
                0.027978187426924706,
                -0.36252227425575256,
                -0.41904160380363464,
                -0.18215107917785645,
                0.08158987760543823,
            ],
            np.float32,
        ).tobytes()
    )
