"""Update ops that scale each weight by its history: Adagrad, RMSProp, Adadelta, FTRL; and running sums of weights."""

from __future__ import annotations

import numpy as np

from fluidio.ops.compiled import updates
from fluidio.ops.kernel import Call
from fluidio.ops.optimize.momentum import dense, single
from fluidio.ops.optimize.rows import searched
from fluidio.ops.registry import gradient, op, updated
from fluidio.ops.row_blocks import by_pieces
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []

_NO_RATE = np.zeros(1, np.float32)


def _number(k: Call, rate: Array) -> float:
    """Return the rate for C, which has no use on a GPU."""
    return 0.0 if k.dev.is_gpu else float(rate.reshape(-1)[0])


@op(
    "adagrad",
    "Param Grad Moment LearningRate",
    "ParamOut MomentOut",
    {"epsilon": 1e-6},
    infer=updated,
    grad=False,
    lod="none",
)
def adagrad(k: Call, param: Array, grad: Array, moment: Array, rate: Array) -> tuple[Array, Array]:
    """m += g * g; p -= lr * g / (sqrt(m) + eps); sparse gradients change only their rows."""
    epsilon = k.attrs["epsilon"]
    if isinstance(grad, SelectedRows):
        rows, values = grad.merged(k.xp)
        moment[rows] += values * values
        param[rows] -= rate * values / (k.xp.sqrt(moment[rows]) + epsilon)
        return param, moment
    if updates.fits(rate, param, grad, moment):
        updates.adagrad(param, grad, moment, rate, epsilon)
        return param, moment

    def update(step: Array, p: Array, g: Array, m: Array) -> None:
        k.xp.multiply(g, g, out=step)
        m += step
        k.xp.multiply(rate, g, out=step)
        step /= k.xp.sqrt(m) + epsilon
        p -= step

    by_pieces(k, update, param, grad, moment)
    return param, moment


@op(
    "decayed_adagrad",
    "Param Grad Moment LearningRate",
    "ParamOut MomentOut",
    {"decay": 0.95, "epsilon": 1e-6},
    infer=updated,
    grad=False,
    lod="none",
)
def decayed_adagrad(k: Call, param: Array, grad: Array, moment: Array, rate: Array) -> tuple[Array, Array]:
    """m = decay * m + (1 - decay) * g * g; p -= lr * g / (sqrt(m) + eps)."""
    grad, decay, epsilon = dense(k, grad), single(k.attrs["decay"]), k.attrs["epsilon"]
    if updates.scaled("decayed_adagrad", rate, param, grad, (moment,), decay, 1 - decay, epsilon, _number(k, rate)):
        return param, moment
    moment *= decay
    moment += (1 - decay) * grad * grad
    param -= rate * grad / (k.xp.sqrt(moment) + epsilon)
    return param, moment


@op(
    "adadelta",
    "Param Grad AvgSquaredGrad AvgSquaredUpdate",
    "ParamOut AvgSquaredGradOut AvgSquaredUpdateOut",
    {"rho": 0.95, "epsilon": 1e-6},
    infer=updated,
    grad=False,
    lod="none",
)
def adadelta(k: Call, param: Array, grad: Array, mean_grad: Array, mean_update: Array) -> tuple[Array, ...]:
    """Scale the gradient by the ratio of the running root mean squares of updates and gradients; there is no rate.

    Fluid: the mean of the updates is updated first, and the parameter moves by the new mean, or by the old one if the
    new one is written to another variable.
    """
    grad, rho, epsilon = dense(k, grad), single(k.attrs["rho"]), k.attrs["epsilon"]
    apart = k.ins["AvgSquaredUpdate"] != k.outs["AvgSquaredUpdateOut"]
    means = mean_grad, mean_update
    if not apart and updates.scaled("adadelta", _NO_RATE, param, grad, means, rho, 1 - rho, epsilon):
        return param, mean_grad, mean_update
    mean_grad *= rho
    mean_grad += (1 - rho) * grad * grad
    below = mean_grad + epsilon
    squared = (mean_update + epsilon) / below * grad * grad
    step = mean_update.copy() if apart else mean_update
    mean_update *= rho
    mean_update += (1 - rho) * squared
    param -= k.xp.sqrt((step + epsilon) / below) * grad
    return param, mean_grad, mean_update


@op(
    "rmsprop",
    "Param MeanSquare MeanGrad? LearningRate Grad Moment",
    "ParamOut MomentOut MeanSquareOut MeanGradOut?",
    {"decay": 0.9, "epsilon": 1e-10, "momentum": 0.0, "centered": False},
    infer=updated,
    grad=False,
    lod="none",
)
def rmsprop(
    k: Call, param: Array, square: Array, mean: Array, rate: Array, grad: Array, moment: Array
) -> tuple[Array, ...]:
    """ms = decay * ms + (1 - decay) * g * g; mom = mu * mom + lr * g / sqrt(ms + eps); p -= mom.

    If centred, the root is of ms less the square of the running mean.
    """
    a, grad = k.attrs, searched(k, grad)
    decay = single(a["decay"])
    name, states = ("centered_rmsprop", (square, moment, mean)) if a["centered"] else ("rmsprop", (square, moment))
    numbers = decay, 1 - decay, a["epsilon"], a["momentum"], _number(k, rate)
    if updates.scaled(name, rate, param, grad, states, *numbers):
        return param, moment, square, mean
    square *= decay
    square += (1 - decay) * grad * grad
    inside = square + a["epsilon"]
    if a["centered"]:
        mean *= decay
        mean += (1 - decay) * grad
        inside -= mean * mean
    moment *= a["momentum"]
    moment += rate * grad / k.xp.sqrt(inside)
    param -= moment
    return param, moment, square, mean


@op(
    "ftrl",
    "Param SquaredAccumulator LinearAccumulator Grad LearningRate",
    "ParamOut SquaredAccumOut LinearAccumOut",
    {"l1": 0.0, "l2": 0.0, "lr_power": -0.5},
    infer=updated,
    grad=False,
    lod="none",
)
def ftrl(k: Call, param: Array, squared: Array, linear: Array, grad: Array, rate: Array) -> tuple[Array, ...]:
    """Follow the regularised leader; sparse gradients change only their rows."""
    if not isinstance(grad, SelectedRows):
        return _ftrl(k, param, squared, linear, grad, rate)
    rows, values = grad.merged(k.xp)
    parts = _ftrl(k, param[rows], squared[rows], linear[rows], values, rate)
    for whole, part in zip((param, squared, linear), parts):
        whole[rows] = part
    return param, squared, linear


def _ftrl(k: Call, param: Array, squared: Array, linear: Array, grad: Array, rate: Array) -> tuple[Array, ...]:
    a, xp = k.attrs, k.xp
    l1, l2, power = a["l1"], a["l2"], -a["lr_power"]
    sums = squared, linear
    if power == 0.5 and updates.scaled("ftrl", rate, param, grad, sums, l1, 2 * l2, _number(k, rate)):
        return param, squared, linear
    new = squared + grad * grad
    linear += grad - (new**power - squared**power) / rate * param
    shrunk = l1 * xp.sign(linear) - linear
    param[...] = xp.where(xp.abs(linear) > l1, shrunk / (new**power / rate + 2 * l2), 0)
    squared[...] = new
    return param, squared, linear


_STATE = ("sum_1", "sum_2", "sum_3", "num_accumulates", "old_num_accumulates", "num_updates")
_MOVE_EVERY = 16384  # Fluid: sum_1 is added to sum_2 now and then so that small addends are not lost


@op(
    "average_accumulates",
    "param " + " ".join(f"in_{name}" for name in _STATE),
    " ".join(f"out_{name}" for name in _STATE),
    {"average_window": 0.0, "max_average_window": 10000, "min_average_window": 10000},
    infer=updated,
    grad=False,
    lod="none",
)
def average_accumulates(
    k: Call, param: Array, sum_1: Array, sum_2: Array, sum_3: Array, count: Array, old_count: Array, updates: Array
) -> tuple[Array, ...]:
    """Add the parameter to its running sums and begin a new window when this one is long enough."""
    a = k.attrs
    updates += 1
    count += 1
    sum_1 += param
    done, held = int(k.dev.download(updates)[0]), int(k.dev.download(count)[0])
    if done % _MOVE_EVERY == 0:
        sum_2 += sum_1
        sum_1[...] = 0
    window = min(a["max_average_window"], int(done * a["average_window"]))  # Fluid: an integer
    if held >= a["min_average_window"] and held >= window:
        k.xp.add(sum_1, sum_2, out=sum_3)
        sum_1[...] = 0
        sum_2[...] = 0
        old_count[...] = count
        count[...] = 0
    return sum_1, sum_2, sum_3, count, old_count, updates


def _one_number(c: InferContext) -> None:
    c.set("Out", [1], c.dtype("X"), 0)


@op("squared_l2_norm", "X", "Out", infer=_one_number, grad=True, lod="none")
def squared_l2_norm(k: Call, x: Array) -> Array:
    """Out = the sum of the squares of X."""
    if isinstance(x, SelectedRows):
        x = x.merged(k.xp)[1]
    return k.xp.square(x).sum().reshape(1)


@gradient("squared_l2_norm", "X Out@GRAD", "X@GRAD", lod="none")
def squared_l2_norm_grad(k: Call, x: Array, dout: Array) -> Array:
    return 2 * dout * x
