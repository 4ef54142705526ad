"""Softmax and cross entropy in one launch each."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from fluidio.executor.devices.checks import DeferredChecks
from fluidio.executor.devices.fused_updates import general, same_float
from fluidio.ops.kernel import Call
from fluidio.tensor.array import Array

__all__ = ["loss_kernels"]

Kernel = Callable[..., Any]
_NARROW = 256
"""One thread handles each row up to this width; wider rows keep a GPU busy with array operations."""

_SOFTMAX = """
T top = x[i * n], sum = 0;
for (int j = 1; j < n; j++) top = max(top, x[i * n + j]);
for (int j = 0; j < n; j++) sum += out[i * n + j] = exp(max(x[i * n + j] - top, T(-64)));
for (int j = 0; j < n; j++) out[i * n + j] /= sum;
"""
_LABEL = "long long id = fluidio_in_range(label, n, ignore, op, (long long *)&note[0]);\n"
_CHECKED = "L label, int64 n, int64 ignore, int32 op, raw int64 note"


def loss_kernels(cupy: Any, checks: DeferredChecks) -> dict[str, Kernel]:
    """Return the kernels of one device by op type."""
    return {**_softmax(cupy), **_cross_entropy(cupy, checks), **_softmax_with_cross_entropy(cupy, checks)}


def _last_axis(k: Call, x: Array) -> bool:
    return bool(k.attrs.get("axis", -1) in (-1, x.ndim - 1) and x.size and x.dtype.kind == "f")


def _narrow(k: Call, x: Array) -> bool:
    return _last_axis(k, x) and x.shape[-1] <= _NARROW and bool(x.flags.c_contiguous)


def _softmax(cupy: ModuleType) -> dict[str, Kernel]:
    forward = cupy.ElementwiseKernel("raw T x, int64 n", "raw T out", _SOFTMAX, "fluidio_softmax")
    backward = cupy.ElementwiseKernel(
        "raw T y, raw T d, int64 n",
        "raw T out",
        """
        T sum = 0;
        for (int j = 0; j < n; j++) sum += d[i * n + j] * y[i * n + j];
        for (int j = 0; j < n; j++) out[i * n + j] = (d[i * n + j] - sum) * y[i * n + j];
        """,
        "fluidio_softmax_grad",
    )

    def softmax(k: Call, x: Array) -> Any:
        if not _narrow(k, x):
            return general(k, x)
        n = x.shape[-1]
        return forward(x, n, cupy.empty(x.shape, x.dtype), size=x.size // n)

    def softmax_grad(k: Call, out: Array, dout: Array) -> Any:
        if not _narrow(k, out) or not same_float(out, dout):
            return general(k, out, dout)
        n = out.shape[-1]
        return backward(out, dout, n, cupy.empty(out.shape, out.dtype), size=out.size // n)

    return {"softmax": softmax, "softmax_grad": softmax_grad}


def _cross_entropy(cupy: Any, checks: DeferredChecks) -> dict[str, Kernel]:
    forward = cupy.ElementwiseKernel(
        f"raw T x, {_CHECKED}",
        "T y, T match",
        f"""
        {_LABEL}
        match = id == ignore ? T(1) : x[i * n + id];
        y = -min(max(log(match), T(-1e20)), T(1e20));
        """,
        "fluidio_cross_entropy",
        preamble=checks.preamble,
    )
    backward = cupy.ElementwiseKernel(
        "T x, raw L label, raw T dy, int64 n, int64 ignore",
        "T dx",
        "dx = label[i / n] == i % n && label[i / n] != ignore ? -dy[i / n] / x : T(0)",
        "fluidio_cross_entropy_grad",
    )
    backward2 = cupy.ElementwiseKernel(
        "raw L label, raw T match, raw T dy, int64 n, int64 ignore",
        "T dx",
        "dx = label[i / n] == i % n && label[i / n] != ignore ? -dy[i / n] / match[i / n] : T(0)",
        "fluidio_cross_entropy_grad2",
    )

    def run(k: Any, x: Any, label: Any) -> tuple[Any, Any]:
        n = x.shape[-1]
        y, match = (cupy.empty(x.size // n, x.dtype) for _ in range(2))
        forward(x, label.reshape(-1), n, k.attrs["ignore_index"], *checks.note(k.op), y, match)
        return y.reshape(label.shape), match.reshape(label.shape)

    def cross_entropy(k: Call, x: Array, label: Array) -> Any:
        if k.attrs["soft_label"] or not x.size or x.dtype.kind != "f":
            return general(k, x, label)
        return run(k, x, label)[0]

    def cross_entropy2(k: Any, x: Any, label: Any) -> Any:
        if not x.size or x.dtype.kind != "f":
            return general(k, x, label)
        return *run(k, x, label), cupy.empty((0, *x.shape), x.dtype)

    def cross_entropy_grad(k: Call, x: Array, label: Array, dy: Array) -> Any:
        if k.attrs["soft_label"] or not x.size or not same_float(x, dy):
            return general(k, x, label, dy)
        return backward(x, label, dy, x.shape[-1], k.attrs["ignore_index"])

    def cross_entropy_grad2(k: Any, dy: Any, label: Any, match: Any, x_shape: Any) -> Any:
        if not dy.size or not same_float(dy, match):
            return general(k, dy, label, match, x_shape)
        dx = cupy.empty(x_shape.shape[1:], match.dtype)
        return backward2(label, match, dy, dx.shape[-1], k.attrs["ignore_index"], dx)

    return {
        "cross_entropy": cross_entropy,
        "cross_entropy2": cross_entropy2,
        "cross_entropy_grad": cross_entropy_grad,
        "cross_entropy_grad2": cross_entropy_grad2,
    }


def _softmax_with_cross_entropy(cupy: Any, checks: DeferredChecks) -> dict[str, Kernel]:
    forward = cupy.ElementwiseKernel(
        f"raw T x, {_CHECKED}",
        "raw T out, T loss",
        f"""
        {_SOFTMAX}
        {_LABEL}
        loss = id == ignore ? T(0) : log(sum) - max(x[i * n + id] - top, T(-64));
        """,
        "fluidio_softmax_with_cross_entropy",
        preamble=checks.preamble,
    )
    backward = cupy.ElementwiseKernel(
        "raw L label, T y, raw T d, int64 n",
        "T dx",
        "dx = d[i / n] * (label[i / n] == i % n ? y - T(1) : y)",
        "fluidio_softmax_with_cross_entropy_grad",
    )

    def softmax_with_cross_entropy(k: Any, logits: Any, label: Any) -> Any:
        if k.attrs["soft_label"] or not _narrow(k, logits):
            return general(k, logits, label)
        n = logits.shape[-1]
        out, loss = cupy.empty(logits.shape, logits.dtype), cupy.empty(logits.size // n, logits.dtype)
        forward(logits, label.reshape(-1), n, k.attrs["ignore_index"], *checks.note(k.op), out, loss)
        return out, loss.reshape(label.shape)

    def softmax_with_cross_entropy_grad(k: Any, label: Any, prob: Any, dloss: Any) -> Any:
        if k.attrs["soft_label"] or not _last_axis(k, prob) or not same_float(prob, dloss):
            return general(k, label, prob, dloss)
        return backward(label, prob, dloss, prob.shape[-1])

    return {
        "softmax_with_cross_entropy": softmax_with_cross_entropy,
        "softmax_with_cross_entropy_grad": softmax_with_cross_entropy_grad,
    }
