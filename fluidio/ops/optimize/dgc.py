"""dgc_momentum: Momentum until gradients are compressed, then SGD."""

from __future__ import annotations

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.optimize.momentum import momentum
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    for slot, source in (("ParamOut", "Param"), ("VelocityOut", "Velocity"), ("Grad_out", "Grad")):
        c.set(slot, c.shape(source), c.dtype(source))


@op(
    "dgc_momentum",
    "Param Grad Velocity LearningRate current_step nranks",
    "ParamOut VelocityOut Grad_out",
    {"mu": 0.9, "use_nesterov": False, "rampup_begin_step": -1.0},
    infer=_infer,
    grad=False,
    lod="none",
)
def dgc_momentum(
    k: Call, param: Array, grad: Array, velocity: Array, rate: Array, step: Array, ranks: Array
) -> KernelResult:
    """Grad_out = Grad / nranks; Grad updates Param by Momentum before `rampup_begin_step`, by SGD from then on."""
    begin = int(k.attrs["rampup_begin_step"])
    if begin < 0:
        return param, velocity, grad
    share = grad / grad.dtype.type(k.dev.download(ranks).reshape(-1)[0])
    # Fluid: the update reads Grad, so it sees the quotient if both are one variable, as in DGCMomentumOptimizer.
    used = share if k.outs["Grad_out"] == k.ins["Grad"] else grad
    if int(k.dev.download(step).reshape(-1)[0]) < begin:
        return (*momentum(k, param, used, velocity, rate), share)
    param -= rate * used
    return param, velocity, share
