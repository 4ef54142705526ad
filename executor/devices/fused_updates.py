"""Optimizer updates in one launch for each parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.optimize.momentum import single
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__ = ["general", "same_float", "update_kernels"]

Kernel = Callable[..., Any]


def general(k: Any, *args: Any) -> Any:
    """Run the op table's kernel instead."""
    return k.op.definition.kernel(k, *args)


def same_float(*arrays: Any) -> bool:
    """Return whether all arrays have the same float dtype."""
    first = arrays[0].dtype
    return bool(first.kind == "f" and all(a.dtype == first for a in arrays))


@dataclass(frozen=True)
class _Update:
    """An update, element by element.

    Attributes:
        inputs: the op's inputs in order; `rate` and those that begin with `pow` hold one number.
        state: inputs updated in place, in the order of the op's outputs.
        scalars: numbers for the code, from the attributes.
        code: CUDA.
    """

    inputs: str
    state: str
    code: str
    scalars: Callable[[Any], dict[str, float]] = lambda a: {}


_UPDATES = {
    "sgd": _Update("param rate grad", "param", "param -= rate[0] * grad"),
    "momentum": _Update(
        "param grad velocity rate",
        "param velocity",
        "velocity = mu * velocity + grad; param -= rate[0] * (nesterov != T(0) ? grad + mu * velocity : velocity)",
        lambda a: {"mu": a["mu"], "nesterov": float(a["use_nesterov"])},
    ),
    "adagrad": _Update(
        "param grad moment rate",
        "param moment",
        "moment += grad * grad; param -= rate[0] * grad / (sqrt(moment) + epsilon)",
        lambda a: {"epsilon": a["epsilon"]},
    ),
    "decayed_adagrad": _Update(
        "param grad moment rate",
        "param moment",
        "moment = decay * moment + rest * grad * grad; param -= rate[0] * grad / (sqrt(moment) + epsilon)",
        lambda a: {"decay": single(a["decay"]), "rest": 1 - single(a["decay"]), "epsilon": a["epsilon"]},
    ),
    "adadelta": _Update(
        "param grad mean_grad mean_update",
        "param mean_grad mean_update",
        """
        mean_grad = rho * mean_grad + rest * grad * grad;
        T below = mean_grad + epsilon;
        mean_update = rho * mean_update + rest * ((mean_update + epsilon) / below * grad * grad);
        param -= sqrt((mean_update + epsilon) / below) * grad
        """,
        lambda a: {"rho": single(a["rho"]), "rest": 1 - single(a["rho"]), "epsilon": a["epsilon"]},
    ),
    "adamax": _Update(
        "param grad rate moment inf_norm pow1",
        "param moment inf_norm",
        """
        moment = b1 * moment + c1 * grad;
        inf_norm = max(abs(grad), b2 * inf_norm + epsilon);
        param -= rate[0] / (T(1) - pow1[0]) * (moment / inf_norm)
        """,
        lambda a: {"b1": single(a["beta1"]), "c1": 1 - single(a["beta1"]), "b2": a["beta2"], "epsilon": a["epsilon"]},
    ),
    "ftrl": _Update(
        "param squared linear grad rate",
        "param squared linear",
        """
        T next = squared + grad * grad, root = pow(next, power);
        linear += grad - (root - pow(squared, power)) / rate[0] * param;
        T sign = linear > T(0) ? T(1) : linear < T(0) ? T(-1) : T(0);
        param = abs(linear) > l1 ? (l1 * sign - linear) / (root / rate[0] + T(2) * l2) : T(0);
        squared = next
        """,
        lambda a: {"l1": a["l1"], "l2": a["l2"], "power": -a["lr_power"]},
    ),
}
_SPARSE = ("adagrad", "ftrl")  # update only the rows of a sparse gradient; the others densify it


def update_kernels(cupy: Any) -> dict[str, Kernel]:
    """Return the update kernels of one device by op type."""
    made = {name: _make(cupy, name, update) for name, update in _UPDATES.items()}
    return {**made, "sgd": _sgd(cupy, made["sgd"]), "rmsprop": _rmsprop(cupy), "adam": _adam(cupy)}


def _make(cupy: ModuleType, name: str, update: _Update) -> Kernel:
    inputs, state = update.inputs.split(), update.state.split()
    numbers = [n for n in inputs if n == "rate" or n.startswith("pow")]
    kernel: Any = None

    def run(k: Any, *args: Any) -> Any:
        nonlocal kernel
        given = dict(zip(inputs, args))
        if isinstance(given["grad"], SelectedRows) and name not in _SPARSE:
            given["grad"] = given["grad"].to_dense(cupy)
        if isinstance(given["grad"], SelectedRows) or len(args) != len(inputs) or not same_float(*given.values()):
            return general(k, *args)
        scalars = update.scalars(k.attrs)
        if kernel is None:
            words = ["T grad", *(f"raw T {n}" for n in numbers), *(f"T {n}" for n in scalars)]
            outputs = ", ".join(f"T {n}" for n in state)
            kernel = cupy.ElementwiseKernel(", ".join(words), outputs, update.code, f"fluidio_{name}")
        changed = [given[n] for n in state]
        kernel(given["grad"], *(given[n] for n in numbers), *scalars.values(), *changed)
        return changed[0] if len(changed) == 1 else tuple(changed)

    return run


def _sgd(cupy: Any, dense: Kernel) -> Kernel:
    def sgd(k: Any, param: Any, rate: Any, grad: Any) -> Any:
        if not isinstance(grad, SelectedRows):
            return dense(k, param, rate, grad)
        cupy.add.at(param, cupy.asarray(grad.index), -rate.reshape(-1)[0] * grad.value)  # no unique rows: no wait
        return param

    return sgd


def _rmsprop(cupy: Any) -> Kernel:
    kernel = cupy.ElementwiseKernel(
        "T grad, raw T rate, T decay, T rest, T epsilon, T mu",
        "T param, T moment, T square",
        """
        square = decay * square + rest * grad * grad;
        moment = mu * moment + rate[0] * grad / sqrt(square + epsilon);
        param -= moment
        """,
        "fluidio_rmsprop",
    )
    centred = cupy.ElementwiseKernel(
        "T grad, raw T rate, T decay, T rest, T epsilon, T mu",
        "T param, T moment, T square, T mean",
        """
        square = decay * square + rest * grad * grad;
        mean = decay * mean + rest * grad;
        moment = mu * moment + rate[0] * grad / sqrt(square + epsilon - mean * mean);
        param -= moment
        """,
        "fluidio_centred_rmsprop",
    )

    def rmsprop(k: Call, param: Array, square: object, mean: object, rate: Array, grad: Array, moment: object) -> Any:
        a = k.attrs
        if isinstance(grad, SelectedRows):
            grad = grad.to_dense(cupy)
        state = (param, moment, square, mean) if a["centered"] else (param, moment, square)
        if not same_float(rate, grad, *state):
            return general(k, param, square, mean, rate, grad, moment)
        decay = single(a["decay"])
        (centred if a["centered"] else kernel)(grad, rate, decay, 1 - decay, a["epsilon"], a["momentum"], *state)
        return param, moment, square, mean

    return rmsprop


def _adam(cupy: Any) -> Kernel:
    kernel = cupy.ElementwiseKernel(
        "T grad, raw T rate, raw T pow1, raw T pow2, T b1, T b2, T c1, T c2, T f1, T f2, T epsilon",
        "T param, T m1, T m2, raw T next1, raw T next2",
        """
        m1 = b1 * m1 + c1 * grad;
        m2 = b2 * m2 + c2 * grad * grad;
        param -= rate[0] * sqrt(T(1) - pow2[0] * f2) / (T(1) - pow1[0] * f1) * (m1 / (sqrt(m2) + epsilon));
        if (i == 0) { next1[0] = pow1[0] * b1; next2[0] = pow2[0] * b2; }
        """,
        "fluidio_adam",
    )

    def adam(k: Any, param: Any, grad: Any, rate: Any, m1: Any, m2: Any, pow1: Any, pow2: Any, *betas: Any) -> Any:
        a = k.attrs
        sparse = isinstance(grad, SelectedRows)
        if any(beta is not None for beta in betas) or (sparse and a["lazy_mode"]):
            return general(k, param, grad, rate, m1, m2, pow1, pow2, *betas)
        if sparse:
            grad = grad.to_dense(cupy)
        if not same_float(param, grad, rate, m1, m2, pow1, pow2):
            return general(k, param, grad, rate, m1, m2, pow1, pow2, *betas)
        b1, b2 = single(a["beta1"]), single(a["beta2"])
        # Fluid: 1.8 multiplies the powers before it uses them when the gradient is sparse.
        ahead = (b1, b2) if sparse and k.wants("Beta1PowOut") else (1.0, 1.0)
        # Other threads still read the powers: the new ones go to new memory.
        next1, next2 = cupy.empty_like(pow1), cupy.empty_like(pow2)
        factors = (b1, b2, 1 - b1, 1 - b2)
        kernel(grad, rate, pow1, pow2, *factors, *ahead, a["epsilon"], param, m1, m2, next1, next2)
        return (param, m1, m2, next1, next2) if k.wants("Beta1PowOut") else (param, m1, m2, pow1, pow2)

    return adam
