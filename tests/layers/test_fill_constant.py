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


@pytest.mark.parametrize("layer", ["fill_constant", "gaussian_random"])
def test_dims_of_int64_are_cast(layer: str) -> None:
    with fluid.program_guard(fluid.Program()), fluid.unique_name.guard():
        count, whole = fluid.data("count", [1], "int64"), fluid.data("whole", [2], "int64")
        more = ["float32", 1.0] if layer == "fill_constant" else []
        for shape in ([count, 3], whole):
            getattr(fluid.layers, layer)(shape, *more)
        ops = [op for op in fluid.default_main_program().global_block().ops if op.type != "cast"]
        # As 1.8.5 names them.
        constant = "fill_constant_1.tmp_0" if more else "fill_constant_0.tmp_0"
        assert [op.input_arg_names for op in ops] == [[], ["cast_0.tmp_0", constant], ["cast_1.tmp_0"]]
        assert ops[1].output_arg_names == [f"{layer}_0.tmp_0"]
        assert count.stop_gradient
