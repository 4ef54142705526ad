"""Passes of slim over activations: what they put into a program, and what it computes then."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.slim import quantization
from fluidio.contrib.slim.activations import AddQuantDequantPass, OutScaleForInferencePass, OutScaleForTrainingPass
from fluidio.framework import IrGraph


def graph(for_test: bool = False) -> IrGraph:
    return IrGraph(fluid.core.Graph(fluid.default_main_program().desc), for_test=for_test)


def net() -> Any:
    x = fluid.data("x", [2, 3])
    joined = fluid.layers.elementwise_add(x, fluid.data("y", [2, 3]))
    return fluid.layers.fc(joined, 2, act="relu")


def test_inputs_without_weights_are_rounded() -> None:
    net()
    changed = graph()
    AddQuantDequantPass(place=fluid.CPUPlace()).apply(changed)
    program = changed.to_program()
    kinds = Counter(op.type for op in program.global_block().ops)
    assert kinds["fake_quantize_dequantize_moving_average_abs_max"] == 2  # the bias of fc is a weight
    (first, *_) = (op for op in program.global_block().ops if op.type == "elementwise_add")
    assert (first.input("X"), first.input("Y")) == (["x.quant_dequant"], ["y.quant_dequant"])
    assert first.attr("quantization_type") == "qat_without_weight"
    assert program.global_block().var("x.quant_dequant.scale").persistable
    for wrong in (lambda: AddQuantDequantPass().apply(3), lambda: AddQuantDequantPass(quantizable_op_type=["conv2d"])):  # type: ignore[arg-type]
        with pytest.raises(AssertionError):
            wrong()


def test_a_rounded_program_computes_nearly_the_same() -> None:
    net()
    changed = graph()
    AddQuantDequantPass().apply(changed)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3), "y": np.ones([2, 3], "float32")}
    program = changed.to_program()
    for _ in range(60):  # the largest value is followed slowly
        exe.run(program, feed=feed)
    (rounded,) = exe.run(program, feed=feed, fetch_list=["elementwise_add_0.tmp_0"])
    np.testing.assert_allclose(rounded, feed["x"] + 1, atol=0.02)
    assert not np.array_equal(rounded, feed["x"] + 1)


def test_a_graph_for_tests_keeps_no_state() -> None:
    net()
    changed = graph(for_test=True)
    AddQuantDequantPass().apply(changed)
    (op, *_) = changed.to_program().global_block().ops
    assert (op.input("InState"), op.attr("is_test")) == ([], True)


def test_outputs_are_measured_and_the_ops_told() -> None:
    out = net()
    changed = graph()
    OutScaleForTrainingPass().apply(changed)
    program = changed.to_program()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.full([2, 3], 3.0, "float32"), "y": np.ones([2, 3], "float32")}
    exe.run(program, feed=feed, fetch_list=[out.name])
    test = graph(for_test=True)
    OutScaleForInferencePass().apply(test)
    (first, *_) = test.to_program().global_block().ops
    # state 1 and accumulator 1 become 1.9 and 0.9 + 4
    assert first.attr("out_threshold") == pytest.approx(4.9 / 1.9, rel=1e-5)
    with pytest.raises(AssertionError, match="the scope has no"):
        OutScaleForInferencePass(fluid.Scope()).apply(graph())


def test_the_passes_list_the_ops_that_they_know() -> None:
    transform, add = quantization.QuantizationTransformPass, quantization.AddQuantDequantPass
    assert transform._supported_quantizable_op_type == ["conv2d", "depthwise_conv2d", "mul", "matmul"]
    assert add._supported_quantizable_op_type[:3] == ["pool2d", "elementwise_add", "concat"]
    assert len(add._supported_quantizable_op_type) == 29
    assert set(add._activation_type) < set(add._supported_quantizable_op_type)
