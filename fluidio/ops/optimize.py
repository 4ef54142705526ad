"""Update ops: parameters and accumulators are changed in place."""

from __future__ import annotations

from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.tensor import SelectedRows

__all__: list[str] = []


@op("sgd", "Param LearningRate Grad", "ParamOut", infer=None, grad=False, lod="none")
def sgd(k: Call, param: Any, rate: Any, grad: Any) -> Any:
    """ParamOut = Param - lr Grad; sparse gradients touch their rows only."""
    if isinstance(grad, SelectedRows):
        rows, values = grad.merged(k.xp)
        param[rows] -= rate * values
        return param
    step = k.scratch("step", grad.shape, grad.dtype)
    k.xp.multiply(grad, rate, out=step)
    param -= step
    return param


@op("momentum", "Param Grad Velocity LearningRate", "ParamOut VelocityOut", {"mu": 0.9, "use_nesterov": False},
    infer=None, grad=False, lod="none")  # fmt: skip
def momentum(k: Call, param: Any, grad: Any, velocity: Any, rate: Any) -> Any:
    """v = mu v + g; p -= lr v, or lr (g + mu v) with Nesterov."""
    if isinstance(grad, SelectedRows):
        grad = grad.to_dense(k.xp)
    mu = k.attrs["mu"]
    velocity *= mu
    velocity += grad
    step = k.scratch("step", grad.shape, grad.dtype)
    if k.attrs["use_nesterov"]:
        k.xp.multiply(velocity, mu, out=step)
        step += grad
        step *= rate
    else:
        k.xp.multiply(velocity, rate, out=step)
    param -= step
    return param, velocity


@op("adam", "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow Beta1Tensor? Beta2Tensor?",
    "ParamOut Moment1Out Moment2Out Beta1PowOut? Beta2PowOut?",
    {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "lazy_mode": False, "min_row_size_to_use_multithread": 1000},
    infer=None, grad=False, lod="none")  # fmt: skip
def adam(
    k: Call, param: Any, grad: Any, rate: Any, m1: Any, m2: Any, pow1: Any, pow2: Any, beta1: Any, beta2: Any
) -> Any:
    """Adam with the bias correction in the rate; the beta powers are updated here if the op has their outputs."""
    a, xp = k.attrs, k.xp
    b1 = a["beta1"] if beta1 is None else float(k.dev.download(beta1).reshape(-1)[0])
    b2 = a["beta2"] if beta2 is None else float(k.dev.download(beta2).reshape(-1)[0])
    corrected = rate * xp.sqrt(1 - pow2) / (1 - pow1)
    if isinstance(grad, SelectedRows) and a["lazy_mode"]:
        rows, values = grad.merged(xp)
        m1[rows] = b1 * m1[rows] + (1 - b1) * values
        m2[rows] = b2 * m2[rows] + (1 - b2) * values * values
        param[rows] -= corrected * m1[rows] / (xp.sqrt(m2[rows]) + a["epsilon"])
    else:
        if isinstance(grad, SelectedRows):
            grad = grad.to_dense(xp)
        _dense_adam(k, param, grad, m1, m2, corrected, b1, b2)
    if k.wants("Beta1PowOut"):
        pow1 *= b1
        pow2 *= b2
    return param, m1, m2, pow1, pow2


def _dense_adam(k: Call, param: Any, grad: Any, m1: Any, m2: Any, rate: Any, b1: float, b2: float) -> None:
    xp = k.xp
    step = k.scratch("step", grad.shape, grad.dtype)
    m1 *= b1
    xp.multiply(grad, 1 - b1, out=step)
    m1 += step
    m2 *= b2
    xp.multiply(grad, grad, out=step)
    step *= 1 - b2
    m2 += step
    xp.sqrt(m2, out=step)
    step += k.attrs["epsilon"]
    xp.divide(m1, step, out=step)
    step *= rate
    param -= step
