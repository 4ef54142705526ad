"""Ops of models optimized for MKL-DNN give in ONNX Runtime what fluidio computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from tests.models.onnx_cases import close, run_onnx
from tests.ops.test_optimized_for_mkldnn import BIAS, FILTER, RESIDUAL, X, _program

pytest.importorskip("onnx", reason="extra: onnx is not installed")
pytest.importorskip("onnxruntime", reason="extra: onnxruntime is not installed")

_CONV = {"Input": X, "Filter": FILTER, "Bias": BIAS, "ResidualData": RESIDUAL}
_NORM = {"X": X, **{n: np.full(4, 0.5 + i, "float32") for i, n in enumerate(("Scale", "Bias", "Mean", "Variance"))}}
_TURNED = {"fused_transpose_Out": [0, 2, 1, 3], "fused_reshape_Out": [0, 0, 20]}
_CASES = [
    ("conv2d", _CONV, "Output", {"fuse_residual_connection": True, "fuse_activation": kind, "fuse_alpha": alpha})
    for kind, alpha in (("relu", 0.0), ("leaky_relu", 0.2), ("relu6", 2.0), ("swish", 1.5), ("tanh", 1.0))
] + [
    ("conv2d", _CONV, "Output", {"fuse_residual_connection": False}),
    ("batch_norm", _NORM, "Y", {"is_test": True, "fuse_with_relu": True}),
    ("matmul", {"X": X, "Y": X}, "Out", _TURNED),
]


@pytest.mark.parametrize(
    ("kind", "inputs", "out", "attrs", "mkldnn"),
    [(*case, on) for case in _CASES for on in (True, False) if on or case[0] != "matmul"],
)
def test_an_optimized_op_gives_the_same(
    kind: str, inputs: dict[str, Any], out: str, attrs: dict[str, Any], mkldnn: bool
) -> None:
    from fluidio.models.onnx import to_onnx

    main, var = _program(kind, inputs, out, {**attrs, "use_mkldnn": mkldnn})
    (found,) = run_onnx(to_onnx(main, list(inputs), [var.name], lambda name: None), inputs)
    wanted = fluid.Executor().run(main, feed={n: a.copy() for n, a in inputs.items()}, fetch_list=[var])[0]
    assert close(found, np.asarray(wanted)) == ""
