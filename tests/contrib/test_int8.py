"""Training with rounding to int8; the numbers are those of the real 1.8.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.quantize import QuantizeTranspiler
from fluidio.contrib.slim.quantization import (
    ConvertToInt8Pass,
    QuantizationFreezePass,
    QuantizationTransformPass,
    TransformForMobilePass,
)
from fluidio.framework import IrGraph

LOSSES = {
    "abs_max": [1.648066, 1.822845, 0.904585, 1.319384, 1.564965, 1.125758, 0.962670, 0.839428],
    "range_abs_max": [1.648066, 1.824498, 0.904716, 1.320015, 1.562740, 1.122672, 0.967121, 0.831009],
    "moving_average_abs_max": [1.687539, 1.786904, 0.889067, 1.306189, 1.550187, 1.126042, 0.968963, 0.853051],
}
AFTER = {
    "abs_max": ([0.32582, 0.35369, 0.32049, 0.29295, 0.46671, 0.24035], 462),
    "range_abs_max": ([0.32456, 0.35302, 0.32241, 0.29500, 0.47069, 0.23431], 461),
    "moving_average_abs_max": ([0.32297, 0.35694, 0.32009, 0.29642, 0.46956, 0.23402], 573),
}
PICTURES = np.linspace(-1, 1, 128).reshape(2, 1, 8, 8).astype("float32")


def network(skip: str = "") -> tuple[Any, Any]:
    """Return the loss and the probabilities of two convolutions and two products."""
    layers: Any = fluid.layers
    x = layers.data("x", [1, 8, 8], dtype="float32")
    y = layers.data("y", [1], dtype="int64")
    c = layers.conv2d(x, 4, 3, act="relu", param_attr="cw", bias_attr="cb")
    d = layers.conv2d(c, 4, 3, groups=4, use_cudnn=False, param_attr="dw", bias_attr=False)
    with fluid.name_scope(skip or "plain"):
        f = layers.fc([d], 6, act="tanh", param_attr="fw", bias_attr="fb")
    g = layers.fc([f], 3, act="softmax", param_attr="g1", bias_attr="gb")
    return layers.mean(layers.cross_entropy(g, y)), g


def batches(count: int) -> list[dict[str, Any]]:
    rng = np.random.RandomState(0)
    return [
        {"x": rng.rand(4, 1, 8, 8).astype("float32") - np.float32(0.3), "y": rng.randint(0, 3, (4, 1)).astype("int64")}
        for _ in range(count)
    ]


def built() -> tuple[Any, Any, Any, Any]:
    """Return the programs for training and for tests, the loss and the probabilities."""
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    main.random_seed = startup.random_seed = 5
    loss, prob = network()
    test = main.clone(for_test=True)
    fluid.optimizer.SGD(0.1).minimize(loss)
    return main, test, loss, prob


@pytest.mark.parametrize(
    ("activation", "weight"),
    [
        ("abs_max", "abs_max"),
        ("range_abs_max", "abs_max"),
        ("moving_average_abs_max", "channel_wise_abs_max"),
    ],
)
def test_passes_train_freeze_and_convert_as_the_original(activation: str, weight: str) -> None:
    scope, place = fluid.global_scope(), fluid.CPUPlace()
    main, test, loss, prob = built()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    train, tests = IrGraph(fluid.core.Graph(main.desc)), IrGraph(fluid.core.Graph(test.desc), for_test=True)
    transform = QuantizationTransformPass(
        scope, place, activation_quantize_type=activation, weight_quantize_type=weight
    )
    transform.apply(train)
    transform.apply(tests)
    compiled = fluid.CompiledProgram(train.graph).with_data_parallel(loss_name=loss.name, places=[place])
    losses = [float(exe.run(compiled, feed=feed, fetch_list=[loss])[0]) for feed in batches(8)]
    np.testing.assert_allclose(losses, LOSSES[activation], atol=2e-6)
    expected, int8_sum = AFTER[activation]
    feed = {"x": PICTURES, "y": np.zeros((2, 1), "int64")}
    np.testing.assert_allclose(
        exe.run(tests.to_program(), feed=feed, fetch_list=[prob])[0].ravel(), expected, atol=1e-5
    )
    QuantizationFreezePass(scope, place, weight_quantize_type=weight).apply(tests)
    frozen = tests.to_program()
    kinds = [op.type for op in frozen.global_block().ops][:3]
    back = "fake_channel_wise_dequantize_max_abs" if weight[0] == "c" else "fake_dequantize_max_abs"
    assert kinds == [f"fake_quantize_{activation}", "conv2d", back]
    np.testing.assert_allclose(exe.run(frozen, feed=feed, fetch_list=[prob])[0].ravel(), expected, atol=1e-5)
    ConvertToInt8Pass(scope, place).apply(tests)
    stored = np.array(scope.var("cw.int8").get_tensor())
    assert stored.dtype == np.int8 and int(stored.astype(int).sum()) == int8_sum
    assert "cw" not in tests.to_program().global_block().vars
    TransformForMobilePass().apply(tests)
    mobile = {op.type for op in tests.to_program().global_block().ops}
    assert "quantize" in mobile and not any(kind.startswith("fake_quantize") for kind in mobile)


def test_the_program_itself_is_left_alone_by_passes() -> None:
    main = built()[0]
    before = [op.type for op in main.global_block().ops]
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    graph = IrGraph(fluid.core.Graph(main.desc))
    QuantizationTransformPass(fluid.global_scope(), fluid.CPUPlace()).apply(graph)
    assert [op.type for op in main.global_block().ops] == before != [op.type for op in graph.program.global_block().ops]


def test_what_is_built_under_a_name_to_skip_is_not_rounded() -> None:
    loss, _ = network("skip_quant")
    fluid.optimizer.SGD(0.1).minimize(loss)
    graph = IrGraph(fluid.core.Graph(fluid.default_main_program().desc))
    QuantizationTransformPass(fluid.global_scope(), fluid.CPUPlace()).apply(graph)
    inputs = {
        name for op in graph.program.global_block().ops if op.type.startswith("mul") for name in op.input_arg_names
    }
    assert "fw" in inputs and "g1.quantized.dequantized" in inputs and "g1" not in inputs


@pytest.mark.parametrize(
    ("kind", "losses"),
    [
        ("abs_max", [1.648066, 1.822845, 0.904585, 1.319384]),
        ("range_abs_max", [1.648066, 1.824498, 0.904716, 1.320015]),
    ],
)
def test_the_transpiler_rounds_as_the_passes_do(kind: str, losses: list[float]) -> None:
    main, _, loss, _ = built()
    QuantizeTranspiler(activation_quantize_type=kind).training_transpile(main, fluid.default_startup_program())
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    found = [float(exe.run(main, feed=feed, fetch_list=[loss])[0]) for feed in batches(4)]
    np.testing.assert_allclose(found, losses, atol=2e-6)


def test_a_frozen_program_of_the_transpiler_gives_the_same() -> None:
    main, test, _, prob = built()
    transpiler = QuantizeTranspiler()
    transpiler.training_transpile(main, fluid.default_startup_program())
    tests = QuantizeTranspiler()
    tests.training_transpile(test, fluid.Program())
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": PICTURES, "y": np.zeros((2, 1), "int64")}
    rounded = exe.run(test, feed=feed, fetch_list=[prob])[0]
    tests.freeze_program(test, fluid.CPUPlace())
    np.testing.assert_allclose(exe.run(test, feed=feed, fetch_list=[prob])[0], rounded, atol=1e-5)
    tests.convert_to_int8(test, fluid.CPUPlace())
    weights = [name for op in test.global_block().ops if op.type == "conv2d" for name in op.input("Filter")]
    assert weights == ["cw.int8"]


def test_a_graph_says_what_it_cannot_do() -> None:
    graph = IrGraph(fluid.core.Graph(fluid.Program().desc))
    assert not graph.is_test() and graph.clone().program is not graph.program
    assert graph.all_op_nodes() == set()
    with pytest.raises(AssertionError, match="core.Graph"):
        IrGraph(fluid.Program())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="activation_quantize_type"):
        QuantizationTransformPass(activation_quantize_type="nonsense")
    with pytest.raises(NotImplementedError, match="act_preprocess_func"):
        QuantizationTransformPass(act_preprocess_func=lambda x: x)
