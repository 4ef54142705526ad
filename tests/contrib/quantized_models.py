"""A small model and the ways to quantize it; Fluid 1.8.5 gave the numbers of tests/data/observed/post_training.json."""

from __future__ import annotations

from typing import Any

import numpy as np

CASES: dict[str, dict[str, Any]] = {
    "kl": {"algo": "KL"},
    "kl_whole": {
        "algo": "KL",
        "weight_quantize_type": "abs_max",
        "activation_quantize_type": "moving_average_abs_max",
        "is_full_quantize": True,
    },
    "abs_max": {"algo": "abs_max", "weight_bits": 6, "activation_bits": 7, "batch_nums": 1},
    "dynamic": {"algo": "abs_max", "activation_quantize_type": "abs_max", "weight_quantize_type": "abs_max"},
    "full": {"algo": "abs_max", "is_full_quantize": True},
    "some": {"algo": "abs_max", "quantizable_op_type": ["conv2d", "matmul", "pool2d", "elementwise_add"]},
    "min_max": {"algo": "min_max", "quantizable_op_type": ["conv2d", "elementwise_add"]},
}
WEIGHT_CASES: dict[str, dict[str, Any]] = {
    "channels": {"quantizable_op_type": ["conv2d", "depthwise_conv2d", "mul"]},
    "whole": {"weight_quantize_type": "abs_max", "save_model_filename": "m", "save_params_filename": "p"},
    "cut": {"weight_quantize_type": "abs_max", "threshold_rate": 0.1},
    "int16": {"weight_bits": 16},
}


def build(fluid: Any, folder: str) -> None:
    """Save the model: convolutions, products with and without weights, and what stands between them."""
    layers = fluid.layers
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        picture = fluid.data("img", [-1, 1, 8, 8], "float32")
        x = layers.conv2d(picture, 4, 3, act="relu", name="c1")
        x = layers.batch_norm(x, is_test=True, name="bn")
        x = layers.pool2d(x, 2, "max", 2, name="p1")
        deep = layers.conv2d(x, 4, 3, groups=4, padding=1, use_cudnn=False, name="dw")
        x = layers.elementwise_add(deep, x, act="relu", name="add")
        x = layers.reshape(x, [-1, 4, 9])
        x = layers.matmul(x, x, transpose_y=True, alpha=0.01, name="mm")
        x = layers.fc(x, 6, act="tanh", name="f1")
        x = layers.matmul(x, layers.create_parameter([6, 5], "float32", name="mw"), name="mm2")
        out = layers.fc(x, 3, act="softmax", name="f2")
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        drawn = np.random.RandomState(0)
        weights = {v.name: v for v in fluid.default_main_program().list_vars() if v.persistable}
        for name in sorted(weights):
            value = drawn.normal(0, 0.5, [int(d) for d in weights[name].shape]).astype("float32")
            if name.startswith("bn"):
                value = np.abs(value) + np.float32(0.5)
            fluid.global_scope().find_var(name).get_tensor().set(value, fluid.CPUPlace())
        fluid.io.save_inference_model(folder, ["img"], [out], exe)


def batches() -> Any:
    """Give three batches to calibrate with."""
    drawn = np.random.RandomState(3)
    for _ in range(3):
        yield (drawn.normal(0, 1, [5, 1, 8, 8]).astype("float32"),)


def samples() -> Any:
    """Give the same pictures one by one, and two more."""
    for (batch,) in batches():
        for picture in batch:
            yield (picture,)
    yield from [(np.full([1, 8, 8], 99, "float32"),)] * 2


PICTURES = np.random.RandomState(9).normal(0, 1, [2, 1, 8, 8]).astype("float32")


def describe(fluid: Any, folder: str, model: str | None = None, params: str | None = None) -> dict[str, Any]:
    """Tell what is in a saved model, and what it makes of two pictures."""
    scope = fluid.Scope()
    with fluid.scope_guard(scope):
        exe = fluid.Executor(fluid.CPUPlace())
        program, _, targets = fluid.io.load_inference_model(folder, exe, model_filename=model, params_filename=params)
        ops = program.global_block().ops
        noted = ("out_", "quanti", "max_range", "quant_bits", "bit_length", "activation_bits")
        values = {
            v.name: np.array(scope.find_var(v.name).get_tensor())
            for v in program.list_vars()
            if v.persistable and v.name not in ("feed", "fetch")
        }
        scales = sorted(v.tolist() for name, v in values.items() if name.startswith("channel_scale"))
        floats = all(value.dtype == np.float32 for value in values.values())
        return {
            "ops": [
                [op.type, [n for n in op.input_arg_names if n[:13] != "channel_scale"], op.output_arg_names]
                for op in ops
            ],
            "attrs": [
                {
                    name: op.attr(name)
                    for name in sorted(op.attr_names)
                    if name.startswith(noted) or name.endswith((".min", ".max", "_quant_scale"))
                }
                for op in ops
            ],
            "values": {
                name: [str(v.dtype), list(v.shape), float(np.abs(v.astype("float64")).sum())]
                for name, v in values.items()
            },
            "scales": scales,
            "out": exe.run(program, feed={"img": PICTURES}, fetch_list=targets)[0].tolist() if floats else None,
        }
