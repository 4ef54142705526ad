"""Kernels for GPUs only: what takes many small launches in array code, in one.

The reason is measured in launches: a training step of small layers is bound by them, and an Adam update written in
array operations takes 17. Each of these gives the numbers of the op table's kernel; where one does not apply (another
dtype, sparse gradients, wide rows) the table's kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.executor.devices.checks import DeferredChecks
from fluidio.tensor import SelectedRows

__all__ = ["fused_kernels"]

Kernel = Callable[..., Any]
_NARROW = 256
"""Rows up to this wide are walked by one thread each; wider ones keep a GPU busy with array operations."""


def fused_kernels(cupy: Any, checks: DeferredChecks) -> dict[str, Kernel]:
    """Return the kernels of one device by op type."""
    return {**_pointwise(cupy), **_updates(cupy), **_rows(cupy, checks)}


def _general(k: Any, *args: Any) -> Any:
    return k.op.definition.kernel(k, *args)


def _same_float(*arrays: Any) -> bool:
    first = arrays[0].dtype
    return first.kind == "f" and all(a.dtype == first for a in arrays)


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
            return kernel(a, d) if a.shape == d.shape and _same_float(a, d) else _general(k, a, d)

        return run

    spread = cupy.ElementwiseKernel("raw T d, float64 count", "T out", "out = T(d[0] / count)", "fluidio_mean_grad")

    def mean_grad(k: Any, x: Any, dout: Any) -> Any:
        if not _same_float(x, dout):
            return _general(k, x, dout)
        return spread(dout, float(x.size), cupy.empty(x.shape, x.dtype))

    return {"mean_grad": mean_grad} | {name: make(name, text) for name, text in _GRADIENTS.items()}


# -- updates ----------------------------------------------------------------------------------------------------


def _updates(cupy: Any) -> dict[str, Kernel]:
    sgd_kernel = cupy.ElementwiseKernel("T grad, raw T rate", "T param", "param -= rate[0] * grad", "fluidio_sgd")
    momentum_kernel = cupy.ElementwiseKernel(
        "T grad, raw T rate, T mu, bool nesterov",
        "T param, T velocity",
        "velocity = mu * velocity + grad; param -= rate[0] * (nesterov ? grad + mu * velocity : velocity)",
        "fluidio_momentum",
    )
    adam_kernel = cupy.ElementwiseKernel(
        "T grad, raw T rate, raw T pow1, raw T pow2, T b1, T b2, T c1, T c2, T epsilon",
        "T param, T m1, T m2, raw T next1, raw T next2",
        """
        m1 = b1 * m1 + c1 * grad;
        m2 = b2 * m2 + c2 * grad * grad;
        param -= rate[0] * sqrt(T(1) - pow2[0]) / (T(1) - pow1[0]) * (m1 / (sqrt(m2) + epsilon));
        if (i == 0) { next1[0] = pow1[0] * b1; next2[0] = pow2[0] * b2; }
        """,
        "fluidio_adam",
    )

    def sgd(k: Any, param: Any, rate: Any, grad: Any) -> Any:
        if isinstance(grad, SelectedRows):
            cupy.add.at(param, cupy.asarray(grad.index), -rate.reshape(-1)[0] * grad.value)
            return param
        if not _same_float(param, grad, rate):
            return _general(k, param, rate, grad)
        return sgd_kernel(grad, rate, param)

    def momentum(k: Any, param: Any, grad: Any, velocity: Any, rate: Any) -> Any:
        if isinstance(grad, SelectedRows):
            grad = grad.to_dense(cupy)
        if not _same_float(param, grad, velocity, rate) or k.attrs.get("regularization_method"):
            return _general(k, param, grad, velocity, rate)
        return momentum_kernel(grad, rate, k.attrs["mu"], bool(k.attrs["use_nesterov"]), param, velocity)

    def adam(k: Any, param: Any, grad: Any, rate: Any, m1: Any, m2: Any, pow1: Any, pow2: Any, *betas: Any) -> Any:
        a = k.attrs
        sparse = isinstance(grad, SelectedRows)
        if any(beta is not None for beta in betas) or (sparse and a["lazy_mode"]):
            return _general(k, param, grad, rate, m1, m2, pow1, pow2, *betas)
        if sparse:
            grad = grad.to_dense(cupy)
        if not _same_float(param, grad, rate, m1, m2, pow1, pow2):
            return _general(k, param, grad, rate, m1, m2, pow1, pow2, *betas)
        b1, b2 = a["beta1"], a["beta2"]
        # Other threads still read the powers: the new ones go to new memory.
        next1, next2 = cupy.empty_like(pow1), cupy.empty_like(pow2)
        adam_kernel(grad, rate, pow1, pow2, b1, b2, 1 - b1, 1 - b2, a["epsilon"], param, m1, m2, next1, next2)
        return (param, m1, m2, next1, next2) if k.wants("Beta1PowOut") else (param, m1, m2, pow1, pow2)

    return {"sgd": sgd, "momentum": momentum, "adam": adam}


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
            return _general(k, x)
        n = x.shape[-1]
        return softmax_kernel(x, n, cupy.empty(x.shape, x.dtype), size=x.size // n)

    def softmax_grad(k: Any, out: Any, dout: Any) -> Any:
        if not narrow(k, out) or not _same_float(out, dout):
            return _general(k, out, dout)
        n = out.shape[-1]
        return softmax_grad_kernel(out, dout, n, cupy.empty(out.shape, out.dtype), size=out.size // n)

    def cross_entropy(k: Any, x: Any, label: Any) -> Any:
        if k.attrs["soft_label"] or not x.size or x.dtype.kind != "f":
            return _general(k, x, label)
        n = x.shape[-1]
        out = cupy.empty(x.size // n, x.dtype)
        loss_kernel(x, label.reshape(-1), n, k.attrs["ignore_index"], *checks.note(k.op), out)
        return out.reshape(*x.shape[:-1], 1)

    def cross_entropy_grad(k: Any, x: Any, label: Any, dy: Any) -> Any:
        if k.attrs["soft_label"] or not x.size or not _same_float(x, dy):
            return _general(k, x, label, dy)
        return loss_grad_kernel(x, label, dy, x.shape[-1], k.attrs["ignore_index"])

    return {
        "softmax": softmax,
        "softmax_grad": softmax_grad,
        "cross_entropy": cross_entropy,
        "cross_entropy_grad": cross_entropy_grad,
    }
