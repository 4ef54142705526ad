"""Kernels for GPUs only: what takes many small launches in array code, in one.

The reason is measured in launches: a training step of small layers is bound by them, and an Adam update written in
array operations takes 17. Each of these gives the numbers of the op table's kernel; where one does not apply (another
dtype, sparse gradients, wide rows) the table's kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.executor.devices.checks import DeferredChecks
from fluidio.executor.devices.fused_updates import general, same_float, update_kernels

__all__ = ["fused_kernels"]

Kernel = Callable[..., Any]
_NARROW = 256
"""Rows up to this wide are walked by one thread each; wider ones keep a GPU busy with array operations."""


def fused_kernels(cupy: Any, checks: DeferredChecks) -> dict[str, Kernel]:
    """Return the kernels of one device by op type."""
    return {**_pointwise(cupy), **update_kernels(cupy), **_rows(cupy, checks)}


# -- gradients of activations -----------------------------------------------------------------------------------

_GRADIENTS = {  # op -> expression of its first input (`a`: Out or X, as the op takes) and the gradient `d`
    "relu_grad": "a > 0 ? d : T(0)",
    "tanh_grad": "d * (T(1) - a * a)",
    "sigmoid_grad": "d * a * (T(1) - a)",
    "square_grad": "d * T(2) * a",
}


def _pointwise(cupy: Any) -> dict[str, Kernel]:
    def make(name: str, expression: str) -> Kernel:
        kernel = cupy.ElementwiseKernel("T a, T d", "T out", f"out = {expression}", f"fluidio_{name}")

        def run(k: Any, a: Any, d: Any) -> Any:
            return kernel(a, d) if a.shape == d.shape and same_float(a, d) else general(k, a, d)

        return run

    spread = cupy.ElementwiseKernel("raw T d, float64 count", "T out", "out = T(d[0] / count)", "fluidio_mean_grad")

    def mean_grad(k: Any, x: Any, dout: Any) -> Any:
        if not same_float(x, dout):
            return general(k, x, dout)
        return spread(dout, float(x.size), cupy.empty(x.shape, x.dtype))

    return {"mean_grad": mean_grad} | {name: make(name, text) for name, text in _GRADIENTS.items()}


# -- rows of probabilities --------------------------------------------------------------------------------------


def _rows(cupy: Any, checks: DeferredChecks) -> dict[str, Kernel]:
    softmax_kernel = cupy.ElementwiseKernel(
        "raw T x, int64 n",
        "raw T out",
        """
        T top = x[i * n], sum = 0;
        for (int j = 1; j < n; j++) top = max(top, x[i * n + j]);
        for (int j = 0; j < n; j++) sum += out[i * n + j] = exp(max(x[i * n + j] - top, T(-64)));
        for (int j = 0; j < n; j++) out[i * n + j] /= sum;
        """,
        "fluidio_softmax",
    )
    softmax_grad_kernel = cupy.ElementwiseKernel(
        "raw T y, raw T d, int64 n",
        "raw T out",
        """
        T sum = 0;
        for (int j = 0; j < n; j++) sum += d[i * n + j] * y[i * n + j];
        for (int j = 0; j < n; j++) out[i * n + j] = (d[i * n + j] - sum) * y[i * n + j];
        """,
        "fluidio_softmax_grad",
    )
    loss_kernel = cupy.ElementwiseKernel(
        "raw T x, L label, int64 n, int64 ignore, int32 op, raw int64 note",
        "T y",
        """
        long long id = fluidio_in_range(label, n, ignore, op, (long long *)&note[0]);
        y = id == ignore ? T(0) : -min(max(log(x[i * n + id]), T(-1e20)), T(1e20));
        """,
        "fluidio_cross_entropy",
        preamble=checks.preamble,
    )
    loss_grad_kernel = cupy.ElementwiseKernel(
        "T x, raw L label, raw T dy, int64 n, int64 ignore",
        "T dx",
        "dx = label[i / n] == i % n && label[i / n] != ignore ? -dy[i / n] / x : T(0)",
        "fluidio_cross_entropy_grad",
    )

    def narrow(k: Any, x: Any) -> bool:
        last = k.attrs.get("axis", -1) in (-1, x.ndim - 1)
        return bool(last and 0 < x.shape[-1] <= _NARROW and x.size and x.dtype.kind == "f" and x.flags.c_contiguous)

    def softmax(k: Any, x: Any) -> Any:
        if not narrow(k, x):
            return general(k, x)
        n = x.shape[-1]
        return softmax_kernel(x, n, cupy.empty(x.shape, x.dtype), size=x.size // n)

    def softmax_grad(k: Any, out: Any, dout: Any) -> Any:
        if not narrow(k, out) or not same_float(out, dout):
            return general(k, out, dout)
        n = out.shape[-1]
        return softmax_grad_kernel(out, dout, n, cupy.empty(out.shape, out.dtype), size=out.size // n)

    def cross_entropy(k: Any, x: Any, label: Any) -> Any:
        if k.attrs["soft_label"] or not x.size or x.dtype.kind != "f":
            return general(k, x, label)
        n = x.shape[-1]
        out = cupy.empty(x.size // n, x.dtype)
        loss_kernel(x, label.reshape(-1), n, k.attrs["ignore_index"], *checks.note(k.op), out)
        return out.reshape(*x.shape[:-1], 1)

    def cross_entropy_grad(k: Any, x: Any, label: Any, dy: Any) -> Any:
        if k.attrs["soft_label"] or not x.size or not same_float(x, dy):
            return general(k, x, label, dy)
        return loss_grad_kernel(x, label, dy, x.shape[-1], k.attrs["ignore_index"])

    return {
        "softmax": softmax,
        "softmax_grad": softmax_grad,
        "cross_entropy": cross_entropy,
        "cross_entropy_grad": cross_entropy_grad,
    }
