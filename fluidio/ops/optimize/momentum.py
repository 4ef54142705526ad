"""Update ops of SGD, Momentum and the Adam family: parameters and accumulators change in place."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.ops.compiled import updates
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.optimize.rows import no_rows, searched
from fluidio.ops.random import engine as random_engine
from fluidio.ops.registry import op, updated
from fluidio.ops.row_blocks import by_pieces
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array, ArrayLibrary

__all__ = ["dense", "single"]


_SMALL = 1 << 14
"""Elements below which memory for a product costs less than keeping some."""


def single(value: float) -> float:
    """Return an attribute as Fluid stores it: rounded to float32, so that 1 - beta is identical."""
    return float(np.float32(value))


def dense(k: Call, grad: Array) -> Array:
    """Return a gradient as a dense matrix; rows missing from a sparse one are zeros."""
    return grad.to_dense(k.xp) if isinstance(grad, SelectedRows) else grad


@op("sgd", "Param LearningRate Grad", "ParamOut", infer=updated, grad=False, lod="none")
def sgd(k: Call, param: Array, rate: Array, grad: Array) -> Array:
    """ParamOut = Param - lr * Grad; sparse gradients change only their rows."""
    if isinstance(grad, SelectedRows):
        rows, values = grad.merged(k.xp)
        if isinstance(param, SelectedRows):  # a table that holds only some of its rows
            param.value[param.positions(rows, k.xp)] -= rate * values
        else:
            param[rows] -= rate * values
        return param
    if grad.size < _SMALL and grad.dtype == rate.dtype:
        param -= grad * rate
        return param

    def update(step: Array, p: Array, g: Array) -> None:
        k.xp.multiply(g, rate, out=step)
        p -= step

    by_pieces(k, update, param, grad)
    return param


@op(
    "momentum",
    "Param Grad Velocity LearningRate",
    "ParamOut VelocityOut",
    {"mu": 0.9, "use_nesterov": False},
    infer=updated,
    grad=False,
    lod="none",
)
def momentum(k: Call, param: Array, grad: Array, velocity: Array, rate: Array) -> tuple[Array, Array]:
    """v = mu * v + g; p -= lr * v, or lr * (g + mu * v) with Nesterov."""
    if no_rows(grad):
        return param, velocity
    grad = searched(k, grad)
    mu = k.attrs["mu"]
    if updates.fits(rate, param, grad, velocity):
        updates.momentum(param, grad, velocity, mu, rate, k.attrs["use_nesterov"])
        return param, velocity

    def update(step: Array, p: Array, g: Array, v: Array) -> None:
        v *= mu
        v += g
        if k.attrs["use_nesterov"]:
            k.xp.multiply(v, mu, out=step)
            step += g
            step *= rate
        else:
            k.xp.multiply(v, rate, out=step)
        p -= step

    by_pieces(k, update, param, grad, velocity)
    return param, velocity


@op(
    "lars_momentum",
    "Param Grad Velocity LearningRate",
    "ParamOut VelocityOut",
    {"mu": 0.9, "lars_coeff": 0.001, "lars_weight_decay": 0.0005},
    infer=updated,
    grad=False,
    lod="none",
)
def lars_momentum(k: Call, param: Array, grad: Array, velocity: Array, rate: Array) -> tuple[Array, Array]:
    """Momentum whose rate is scaled by |p| / (|g| + decay |p|) for each parameter."""
    a, xp = k.attrs, k.xp
    grad = dense(k, grad)
    p_norm, g_norm, decay = _norm(xp, param), _norm(xp, grad), a["lars_weight_decay"]
    local: Any
    if k.dev.is_gpu or rate.size != 1:
        below = g_norm + decay * p_norm
        scaled = rate * a["lars_coeff"] * p_norm / xp.where(below == 0, 1, below)
        local = xp.where((p_norm > 0) & (g_norm > 0), scaled, rate)
    else:
        local, p_size, g_size = float(rate.reshape(-1)[0]), float(p_norm), float(g_norm)
        if p_size > 0 and g_size > 0:
            local *= a["lars_coeff"] * p_size / (g_size + decay * p_size)
        if updates.scaled("lars_momentum", rate, param, grad, (velocity,), a["mu"], local, decay):
            return param, velocity
    velocity *= a["mu"]
    velocity += local * (grad + decay * param)
    param -= velocity
    return param, velocity


_TINY = 1e-38  # avoids a division by zero whose result is discarded


_SMALL = 1 << 14


def _norm(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    if xp is np and x.size <= _SMALL and x.flags.c_contiguous:  # one call takes less time than three
        return np.sqrt(np.dot(x.reshape(-1), x.reshape(-1)))
    return xp.sqrt((x * x).sum())


@op(
    "dpsgd",
    "Param Grad LearningRate",
    "ParamOut",
    {"clip": 10.0, "batch_size": 16.0, "sigma": 1.0, "seed": 0},
    infer=updated,
    grad=False,
    lod="none",
)
def dpsgd(k: Call, param: Array, grad: Array, rate: Array) -> Array:
    """SGD on a gradient clipped to norm `clip`, plus one normal random number of deviation sigma for all elements."""
    a = k.attrs
    noise = _polar_normal(a["seed"] or random_engine.os_seed()) * a["sigma"]
    norm = _norm(k.xp, grad) / a["clip"]
    factor = k.xp.maximum(norm, 1.0) if k.dev.is_gpu else max(norm, param.dtype.type(1))
    step = grad / factor
    step += noise / a["batch_size"]
    step *= rate
    param -= step
    return param


def _polar_normal(seed: int) -> float:
    """Return the first normal number of a new engine, drawn with Marsaglia's polar method."""
    skip = 0
    while True:
        x, y = (2 * random_engine.canonical(seed, 2, skip=skip) - 1).tolist()
        square = x * x + y * y
        if 0 < square < 1:
            return x * math.sqrt(-2 * math.log(square) / square)
        skip += 2


@op(
    "adam",
    "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow Beta1Tensor? Beta2Tensor?",
    "ParamOut Moment1Out Moment2Out Beta1PowOut? Beta2PowOut?",
    {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "lazy_mode": False, "min_row_size_to_use_multithread": 1000},
    infer=updated,
    grad=False,
    lod="none",
)
def adam(
    k: Call,
    param: Array,
    grad: Array,
    rate: Array,
    m1: Array,
    m2: Array,
    pow1: Array,
    pow2: Array,
    beta1: Array | None,
    beta2: Array | None,
) -> KernelResult:
    """Adam with bias correction in the rate; updates the beta powers if the op outputs them."""
    if no_rows(grad):
        return (param, m1, m2, pow1, pow2) if k.wants("Beta1PowOut") else (param, m1, m2, None, None)
    a, xp = k.attrs, k.xp
    b1 = single(a["beta1"]) if beta1 is None else float(k.dev.download(beta1).reshape(-1)[0])
    b2 = single(a["beta2"]) if beta2 is None else float(k.dev.download(beta2).reshape(-1)[0])
    corrected = _corrected_rate(k, rate, pow1, pow2)
    in_place = k.wants("Beta1PowOut") and k.outs["Beta1PowOut"] == k.ins["Beta1Pow"]
    if isinstance(grad, SelectedRows) and in_place:
        # Fluid: 1.8 multiplies the powers before it uses them when the gradient is sparse.
        corrected = rate * xp.sqrt(1 - pow2 * b2) / (1 - pow1 * b1)
    if isinstance(grad, SelectedRows) and a["lazy_mode"]:
        rows, values = grad.merged(xp)
        if not updates.adam_rows(param, rows, values, m1, m2, (b1, b2), a["epsilon"], corrected):
            p, first, second = (whole.take(rows, axis=0) for whole in (param, m1, m2))
            step = k.scratch("step", values.shape, values.dtype)
            _update_moments(xp, step, values, first, second, b1, b2)
            xp.sqrt(second, out=step)
            step += a["epsilon"]
            p -= corrected * first / step
            param[rows], m1[rows], m2[rows] = p, first, second
    elif updates.fits(corrected, param, full := dense(k, grad), m1, m2):
        updates.adam(param, full, m1, m2, (b1, b2), a["epsilon"], corrected)
    else:

        def update(step: Array, p: Array, g: Array, first: Array, second: Array) -> None:
            _update_moments(xp, step, g, first, second, b1, b2)
            xp.sqrt(second, out=step)
            step += a["epsilon"]
            xp.divide(first, step, out=step)
            step *= corrected
            p -= step

        by_pieces(k, update, param, full, m1, m2)
    if not k.wants("Beta1PowOut"):
        return param, m1, m2, None, None
    if not in_place:
        return param, m1, m2, pow1 * b1, pow2 * b2
    pow1 *= b1
    pow2 *= b2
    return param, m1, m2, pow1, pow2


def _corrected_rate(k: Call, rate: Array, pow1: Array, pow2: Array) -> Array:
    if not k.dev.is_gpu and rate.size == pow1.size == pow2.size == 1:
        rate, pow1, pow2 = (a.reshape(-1)[0] for a in (rate, pow1, pow2))  # scalars are faster than one-element arrays
    return rate * k.xp.sqrt(1 - pow2) / (1 - pow1)


def _update_moments(
    xp: ArrayLibrary | ModuleType, step: Array, grad: Array, m1: Array, m2: Array, b1: float, b2: float
) -> None:
    """m1 = b1 * m1 + (1 - b1) * g, m2 = b2 * m2 + (1 - b2) * g * g, in this order; `work` has the gradient's shape."""
    m1 *= b1
    xp.multiply(grad, 1 - b1, out=step)
    m1 += step
    m2 *= b2
    xp.multiply(grad, 1 - b2, out=step)
    step *= grad
    m2 += step


@op(
    "adamax",
    "Param Grad LearningRate Moment InfNorm Beta1Pow",
    "ParamOut MomentOut InfNormOut",
    {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    infer=updated,
    grad=False,
    lod="none",
)
def adamax(
    k: Call, param: Array, grad: Array, rate: Array, moment: Array, inf_norm: Array, pow1: Array
) -> tuple[Array, ...]:
    """m = b1 * m + (1 - b1) * g; u = max(|g|, b2 * u + eps); p -= lr / (1 - b1^t) * m / u."""
    a, xp = k.attrs, k.xp
    grad = dense(k, grad)
    b1 = single(a["beta1"])
    if not k.dev.is_gpu and rate.size == pow1.size == 1:
        numbers = b1, 1 - b1, a["beta2"], a["epsilon"], float((rate / (1 - pow1)).reshape(-1)[0])
        if updates.scaled("adamax", rate, param, grad, (moment, inf_norm), *numbers):
            return param, moment, inf_norm
    moment *= b1
    moment += (1 - b1) * grad
    inf_norm *= a["beta2"]
    inf_norm += a["epsilon"]
    xp.maximum(xp.abs(grad), inf_norm, out=inf_norm)
    param -= (rate / (1 - pow1)) * (moment / inf_norm)
    return param, moment, inf_norm


@op(
    "lamb",
    "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow",
    "ParamOut Moment1Out Moment2Out",
    {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "weight_decay": 0.0},
    infer=updated,
    grad=False,
    lod="none",
)
def lamb(
    k: Call, param: Array, grad: Array, rate: Array, m1: Array, m2: Array, pow1: Array, pow2: Array
) -> tuple[Array, ...]:
    """Adam's direction, without bias correction, plus weight decay, scaled to the norm of the parameter."""
    if no_rows(grad):
        return param, m1, m2
    a, xp = k.attrs, k.xp
    grad = dense(k, grad)
    step = k.scratch("step", grad.shape, grad.dtype)
    b1, b2 = single(a["beta1"]), single(a["beta2"])
    numbers = b1, 1 - b1, b2, 1 - b2, a["epsilon"], a["weight_decay"]
    if not updates.scaled("lamb", rate, param, grad, (m1, m2, step), *numbers):
        _update_moments(xp, step, grad, m1, m2, b1, b2)
        xp.sqrt(m2, out=step)
        step += a["epsilon"]
        xp.divide(m1, step, out=step)
        step += a["weight_decay"] * param
    p_norm, s_norm = _norm(xp, param), _norm(xp, step)
    if k.dev.is_gpu:
        ratio = xp.where((p_norm > 0) & (s_norm > 0), p_norm / xp.maximum(s_norm, _TINY), 1.0).astype(param.dtype)
    else:
        ratio = p_norm / s_norm if p_norm > 0 and s_norm > 0 else param.dtype.type(1)
    step *= rate * ratio
    param -= step
    return param, m1, m2
