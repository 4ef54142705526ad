"""Ops of models that 1.8.5 optimized for MKL-DNN: the bias, sum and activation that they hold are computed, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import EnforceNotMet

_RANDOM = np.random.default_rng(3)
X = _RANDOM.normal(size=(2, 4, 5, 5)).astype("float32")
FILTER = _RANDOM.normal(size=(3, 4, 3, 3)).astype("float32")
BIAS = _RANDOM.normal(size=3).astype("float32")
RESIDUAL = _RANDOM.normal(size=(2, 3, 3, 3)).astype("float32")


def _program(kind: str, inputs: dict[str, Any], out: str, attrs: dict[str, Any]) -> tuple[Any, Any]:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        block = main.global_block()
        given = {n: block.create_var(name=n, shape=a.shape, dtype=str(a.dtype)) for n, a in inputs.items()}
        made = {out: block.create_var(name="out", dtype="float32")}
        if kind == "batch_norm":
            made.update(MeanOut=given["Mean"], VarianceOut=given["Variance"])
            made.update({f"Saved{n}": block.create_var(name=n, dtype="float32") for n in ("Mean", "Variance")})
        block.append_op(type=kind, inputs=given, outputs=made, attrs=attrs)
    return main, made[out]


def _run(kind: str, inputs: dict[str, Any], out: str, attrs: dict[str, Any]) -> Any:
    main, var = _program(kind, inputs, out, attrs)
    return np.asarray(fluid.Executor().run(main, feed=inputs, fetch_list=[var])[0])


def _conv(attrs: dict[str, Any], kind: str = "conv2d", **more: Any) -> Any:
    return _run(kind, {"Input": X, "Filter": FILTER, **more}, "Output", attrs)


_ACTIVATIONS = {
    ("relu", 0.0): lambda x: np.maximum(x, 0),
    ("relu", 0.5): lambda x: np.where(x > 0, x, 0.5 * x),
    ("leaky_relu", 0.1): lambda x: np.where(x > 0, x, 0.1 * x),
    ("relu6", 3.0): lambda x: np.clip(x, 0, 3),
    ("swish", 1.5): lambda x: x / (1 + np.exp(-1.5 * x)),
    ("tanh", 1.0): lambda x: x,
}


@pytest.mark.parametrize(("name", "alpha"), _ACTIVATIONS)
def test_a_convolution_applies_its_activation(name: str, alpha: float) -> None:
    attrs = {"use_mkldnn": True, "fuse_activation": name, "fuse_alpha": alpha}
    assert np.allclose(_conv(attrs), _ACTIVATIONS[name, alpha](_conv({})), atol=1e-5)


def test_a_convolution_adds_its_bias_and_another_value() -> None:
    attrs = {"use_mkldnn": True, "fuse_residual_connection": True, "fuse_activation": "relu"}
    wanted = np.maximum(_conv({}) + BIAS[:, None, None] + RESIDUAL, 0)
    assert np.allclose(_conv(attrs, Bias=BIAS, ResidualData=RESIDUAL), wanted, atol=1e-5)


def test_without_mkldnn_the_additions_are_ignored_as_in_1_8_5() -> None:
    attrs = {"fuse_residual_connection": True, "fuse_activation": "relu"}
    assert np.array_equal(_conv(attrs, Bias=BIAS, ResidualData=RESIDUAL), _conv({}))


def test_a_transposed_convolution_adds_its_bias() -> None:
    inputs = {"Input": X, "Filter": FILTER.swapaxes(0, 1).copy()}
    plain = _run("conv2d_transpose", inputs, "Output", {})
    found = _run("conv2d_transpose", {**inputs, "Bias": BIAS}, "Output", {"use_mkldnn": True, "is_test": True})
    assert np.allclose(found, plain + BIAS[:, None, None], atol=1e-5)


@pytest.mark.parametrize("test", [True, False])
def test_batch_norm_applies_relu_at_inference(test: bool) -> None:
    names = ("Scale", "Bias", "Mean", "Variance")
    inputs = {"X": X, **{name: np.abs(_RANDOM.normal(size=4)).astype("float32") for name in names}}

    def run(**attrs: Any) -> Any:
        return _run(
            "batch_norm", {name: array.copy() for name, array in inputs.items()}, "Y", {"is_test": test, **attrs}
        )

    plain = run()
    assert np.allclose(run(use_mkldnn=True, fuse_with_relu=True), np.maximum(plain, 0) if test else plain, atol=1e-6)
    assert np.array_equal(run(fuse_with_relu=True), plain)


def test_a_product_transposes_and_reshapes_its_result() -> None:
    a, b = _RANDOM.normal(size=(2, 3, 4, 5)), _RANDOM.normal(size=(2, 3, 5, 4))
    attrs = {"use_mkldnn": True, "fused_transpose_Out": [0, 2, 1, 3], "fused_reshape_Out": [0, 0, 12]}
    main, out = _program("matmul", {"X": a, "Y": b}, "Out", attrs)
    assert out.shape == (2, 4, 12)
    found = np.asarray(fluid.Executor().run(main, feed={"X": a, "Y": b}, fetch_list=[out])[0])
    assert np.allclose(found, (a @ b).transpose(0, 2, 1, 3).reshape(2, 4, 12))


@pytest.mark.parametrize("kind", ["conv2d", "fc", "matmul", "mul"])
def test_integers_of_quantised_models_are_refused(kind: str) -> None:
    whole = np.ones((4, 4), "int8")
    slots = {"conv2d": ("Input", "Filter", "Output"), "fc": ("Input", "W", "Out")}.get(kind, ("X", "Y", "Out"))
    first, second = (X.astype("int8"), FILTER) if kind == "conv2d" else (whole, whole.astype("float32"))
    with pytest.raises(EnforceNotMet, match="quantised for MKL-DNN"):
        _run(kind, {slots[0]: first, slots[1]: second}, slots[2], {"use_mkldnn": True})
