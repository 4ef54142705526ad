"""Draw ParamAttr, initializers, regularizers, clips, learning rates and optimizers."""

from __future__ import annotations

from typing import Any

from tests.differential.programs_drawn.base import ProgramDraw

__all__ = ["activation", "clip", "initializer", "optimizer", "parameter"]


def _new(path: str, **kw: Any) -> dict[str, Any]:
    return {"new": path, "kw": kw}


def initializer(d: ProgramDraw) -> Any:
    seed = d.size(0, 99)
    return d.pick(
        _new("initializer.Constant", value=d.number(-1, 1)),
        _new("initializer.Uniform", low=-0.3, high=0.4, seed=seed),
        _new("initializer.Normal", loc=0.1, scale=0.5, seed=seed),
        _new("initializer.TruncatedNormal", loc=0.0, scale=0.5, seed=seed),
        _new("initializer.Xavier", uniform=d.chance(), seed=seed),
        _new("initializer.MSRA", uniform=d.chance(), seed=seed),
        _new("initializer.UniformInitializer"),
        _new("initializer.XavierInitializer", uniform=False, fan_in=d.size(2, 9)),
    )


def regularizer(d: ProgramDraw) -> dict[str, Any]:
    name = d.pick("L1Decay", "L2Decay", "L1DecayRegularizer", "L2DecayRegularizer")
    return _new(f"regularizer.{name}", regularization_coeff=d.number(0.01, 0.2))


def parameter(d: ProgramDraw) -> Any:
    """Draw what `param_attr` takes: nothing, a ParamAttr or an initializer."""
    way = d.rng.random()
    if way < 0.5:
        return None
    if way < 0.6:
        return initializer(d)
    kw: dict[str, Any] = {}
    if d.chance():
        kw["initializer"] = initializer(d)
    if d.chance(0.3):
        kw["regularizer"] = regularizer(d)
    if d.chance(0.3):
        kw["learning_rate"] = d.pick(0.5, 2.0, 0.1)
    if d.chance(0.2):
        kw["name"] = f"p{d.size(1, 9999)}"
    if d.chance(0.1):
        kw["trainable"] = False
    return _new("ParamAttr", **kw)


def activation(d: ProgramDraw) -> Any:
    return d.pick(None, None, "relu", "tanh", "sigmoid", "softmax", "leaky_relu", "elu", "softsign")


def clip(d: ProgramDraw) -> Any:
    if d.chance(0.6):
        return None
    return d.pick(
        _new("clip.GradientClipByValue", max=d.number(0.01, 0.2), min=-0.1),
        _new("clip.GradientClipByNorm", clip_norm=d.number(0.01, 0.5)),
        _new("clip.GradientClipByGlobalNorm", clip_norm=d.number(0.01, 0.5)),
    )


def rate(d: ProgramDraw) -> Any:
    """Draw a learning rate: a number or a schedule, called before the optimizer is made."""
    if d.chance(0.5):
        return d.number(0.01, 0.3)
    name, args = d.pick(
        ("exponential_decay", [0.1, d.size(1, 3), 0.5, d.chance()]),
        ("natural_exp_decay", [0.1, d.size(1, 3), 0.5, d.chance()]),
        ("inverse_time_decay", [0.1, d.size(1, 3), 0.5, d.chance()]),
        ("polynomial_decay", [0.1, d.size(2, 4), 0.01, 2.0, d.chance()]),
        ("piecewise_decay", [[1, 2], [0.3, 0.2, 0.1]]),
        ("noam_decay", [16, d.size(1, 4)]),
        ("cosine_decay", [0.1, 2, 3]),
        ("linear_lr_warmup", [0.1, 2, 0.01, 0.1]),
    )
    return {"var": d.call(name, *args)}


def optimizer(d: ProgramDraw) -> dict[str, Any]:
    """Draw an optimizer with its options."""
    name, options = d.pick(
        ("SGD", {}),
        ("SGDOptimizer", {}),
        ("Momentum", {"momentum": [0.9, 0.5], "use_nesterov": [True, False]}),
        ("Adam", {"beta1": [0.8], "beta2": [0.9], "epsilon": [1e-4], "lazy_mode": [True, False]}),
        ("Adagrad", {"epsilon": [1e-3], "initial_accumulator_value": [0.5]}),
        ("Adamax", {"beta1": [0.8], "beta2": [0.9], "epsilon": [1e-4]}),
        ("DecayedAdagrad", {"decay": [0.8], "epsilon": [1e-3]}),
        ("Adadelta", {"epsilon": [1e-3], "rho": [0.9]}),
        ("RMSProp", {"rho": [0.8], "epsilon": [1e-3], "momentum": [0.5], "centered": [True]}),
        ("Ftrl", {"l2": [0.1], "lr_power": [-0.5]}),
        ("LarsMomentum", {"momentum": [0.9], "lars_coeff": [0.01], "lars_weight_decay": [0.01]}),
        ("Lamb", {"lamb_weight_decay": [0.1], "beta1": [0.8]}),
    )
    kw = d.some(**options)
    if name in ("Momentum", "LarsMomentum"):
        kw.setdefault("momentum", 0.9)
    kw["learning_rate"] = rate(d)
    if d.chance(0.3):
        kw["regularization"] = regularizer(d)
    chosen = clip(d)
    if chosen is not None:
        kw["grad_clip"] = chosen
    return _new(f"optimizer.{name}", **kw)
