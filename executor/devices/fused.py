"""GPU-only kernels that replace many small launches of array code with one.

A training step of small layers is bound by launches, and an Adam update written in array operations takes 17. Each
fused kernel gives the same numbers as the op table's kernel; where it does not apply (another dtype, sparse gradients,
wide rows) the table's kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from fluidio.executor.devices.checks import DeferredChecks
from fluidio.executor.devices.fused_losses import loss_kernels
from fluidio.executor.devices.fused_updates import general, same_float, update_kernels
from fluidio.ops.kernel import Call
from fluidio.tensor.array import Array

__all__ = ["fused_kernels"]

Kernel = Callable[..., Any]


def fused_kernels(cupy: Any, checks: DeferredChecks) -> dict[str, Kernel]:
    """Return the kernels of one device by op type."""
    return {**_pointwise(cupy), **update_kernels(cupy), **loss_kernels(cupy, checks)}


# -- gradients of activations -----------------------------------------------------------------------------------

_GRADIENTS = {  # op -> expression of its first input (`a`: Out or X, as the op takes) and the gradient `d`
    "relu_grad": "a > 0 ? d : T(0)",
    "tanh_grad": "d * (T(1) - a * a)",
    "sigmoid_grad": "d * a * (T(1) - a)",
    "square_grad": "d * T(2) * a",
}


def _pointwise(cupy: ModuleType) -> dict[str, Kernel]:
    def make(name: str, expression: str) -> Kernel:
        kernel = cupy.ElementwiseKernel("T a, T d", "T out", f"out = {expression}", f"fluidio_{name}")

        def run(k: Any, a: Any, d: Any) -> Any:
            return kernel(a, d) if a.shape == d.shape and same_float(a, d) else general(k, a, d)

        return run

    spread = cupy.ElementwiseKernel("raw T d, float64 count", "T out", "out = T(d[0] / count)", "fluidio_mean_grad")

    def mean_grad(k: Call, x: Array, dout: Array) -> Any:
        if not same_float(x, dout):
            return general(k, x, dout)
        return spread(dout, float(x.size), cupy.empty(x.shape, x.dtype))

    return {"mean_grad": mean_grad} | {name: make(name, text) for name, text in _GRADIENTS.items()}
