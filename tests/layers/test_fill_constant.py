"""fill_constant: the value as text, as 1.8.5 writes it."""

from __future__ import annotations

from typing import Any

import pytest

import fluidio as fluid


@pytest.mark.parametrize(
    ("dtype", "value", "text", "filled"),
    [
        ("bool", True, "1.0", True),
        ("int64", 2**62 + 1, "4611686018427387905", 2**62 + 1),
        ("int32", 2.7, "2", 2),
        ("float32", 3, "3.0", 3.0),
    ],
)
def test_the_value_is_told_as_text(dtype: str, value: Any, text: str, filled: Any) -> None:
    x = fluid.layers.fill_constant([1], dtype, value)
    assert fluid.default_main_program().global_block().ops[0].attr("str_value") == text
    assert fluid.Executor(fluid.CPUPlace()).run(fetch_list=[x])[0][0] == filled
