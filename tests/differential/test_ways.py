"""Passes, threads and the C change nothing; `python -m tests.differential.ways` compares thousands of drawn cases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.cases import draw_case
from tests.differential.ways import WAYS, differences, side

ABOUT = [
    "program long",
    "program deep",
    "program sequence",
    "conv2d",
    "batch_norm",
    "fc",
    "adam",
    "mul",
]
OWN = {
    "passes": ["program long", "elementwise_add", "sum", "relu", "scale"],
    "fused": ["batch_norm", "program deep"],
    "threads": ["layer_norm", "pool2d", "softmax", "matmul", "depthwise_conv2d", "conv2d_transpose", "momentum"],
    "python": ["layer_norm", "pool2d", "gru", "lstm", "multiclass_nms", "depthwise_conv2d", "conv2d_transpose"],
}


@pytest.mark.parametrize("name", WAYS)
def test_drawn_cases_agree(name: str) -> None:
    way, compared = WAYS[name], 0
    plain, other = side(way.plain), side(way.other)
    try:
        for about in [*ABOUT, *OWN[name]]:
            case: dict[str, Any] = draw_case(about, 5, 3)
            one, two = plain.run(case), other.run(case)
            assert differences(way, case, one, two) == [], case["id"]
            compared += "values" in one
    finally:
        plain.close()
        other.close()
    assert compared == len(ABOUT) + len(OWN[name])
