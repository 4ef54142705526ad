"""SGD and its relatives with momentum."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from fluidio.ops.optimize.rows import ALL_ROWS
from fluidio.optimizer.arguments import Clip, Decay, Parameters, Rate
from fluidio.optimizer.base import Optimizer, Pair
from fluidio.program import Block, Operator

__all__ = ["DGCMomentumOptimizer", "DpsgdOptimizer", "LarsMomentumOptimizer", "MomentumOptimizer", "SGDOptimizer"]


class SGDOptimizer(Optimizer):
    """p -= lr * g."""

    type = "sgd"

    def __init__(
        self,
        learning_rate: Rate,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        **legacy: Any,
    ) -> None:
        self._require(learning_rate=learning_rate)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        return self._update(block, param_and_grad, {}, {})


class DpsgdOptimizer(Optimizer):
    """Differentially private SGD: clipped gradients with normal noise.

    Fluid: the noise comes from NumPy's generator, so runs differ from Fluid's number by number.
    """

    type = "dpsgd"

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        clip: float = 0.9,
        batch_size: float = 0.999,
        sigma: float = 1e-8,
        parameter_list: Parameters = None,
    ) -> None:
        self._require(learning_rate=learning_rate, clip=clip, batch_size=batch_size, sigma=sigma)
        super().__init__(learning_rate, parameter_list)
        self._clip, self._batch_size, self._sigma = clip, batch_size, sigma

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        attrs = {"clip": self._clip, "batch_size": self._batch_size, "sigma": self._sigma}
        return self._update(block, param_and_grad, {}, {}, attrs)


class MomentumOptimizer(Optimizer):
    """v = mu * v + g; p -= lr * v, or lr * (g + mu * v) with Nesterov.

    Args:
        all_rows: use every row of a sparse gradient. Fluid: some rows that do not come sorted have no effect.
    """

    type = "momentum"
    _velocity_acc_str = "velocity"
    accumulators = (_velocity_acc_str,)

    def __init__(
        self,
        learning_rate: Rate,
        momentum: float,
        parameter_list: Parameters = None,
        use_nesterov: Any = False,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        *,
        all_rows: bool = False,
        **legacy: Any,
    ) -> None:
        if isinstance(parameter_list, bool):
            # Fluid until 1.6: (learning_rate, momentum, use_nesterov, regularization, name)
            old = use_nesterov if hasattr(use_nesterov, "is_regularizer") else regularization
            parameter_list, use_nesterov, regularization = None, parameter_list, old
        self._require(learning_rate=learning_rate, momentum=momentum)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        self._momentum = momentum
        self._use_nesterov = bool(use_nesterov)
        self._own_attrs: dict[str, Any] = {ALL_ROWS: True} if all_rows else {}

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        velocity = self._get_accumulator(self._velocity_acc_str, param_and_grad[0])
        attrs = {"mu": self._momentum, "use_nesterov": self._use_nesterov, **self._own_attrs}
        return self._update(block, param_and_grad, {"Velocity": [velocity]}, {"VelocityOut": [velocity]}, attrs)


class DGCMomentumOptimizer(MomentumOptimizer):
    """Momentum, without the compression of traffic between machines.

    Fluid: deep gradient compression saves network traffic between trainers. On one machine the update is Momentum's,
    so `rampup_begin_step`, `rampup_step`, `sparsity` and `num_trainers` have no effect; a warning says so once.
    """

    def __init__(
        self,
        learning_rate: Rate,
        momentum: float,
        rampup_begin_step: int,
        rampup_step: int = 1,
        sparsity: Sequence[float] = (0.999,),
        parameter_list: Parameters = None,
        use_nesterov: bool = False,
        num_trainers: int | None = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
    ) -> None:
        warnings.warn(
            "DGCMomentumOptimizer compresses gradients between machines; on one machine it is plain Momentum",
            stacklevel=2,
        )
        super().__init__(learning_rate, momentum, parameter_list, use_nesterov, regularization, grad_clip, name)


class LarsMomentumOptimizer(Optimizer):
    """Momentum with a rate for each parameter that follows the ratio of its norm to its gradient's."""

    type = "lars_momentum"
    _velocity_acc_str = "velocity"
    accumulators = (_velocity_acc_str,)

    def __init__(
        self,
        learning_rate: Rate,
        momentum: float,
        lars_coeff: float = 0.001,
        lars_weight_decay: float = 0.0005,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
    ) -> None:
        self._require(learning_rate=learning_rate, momentum=momentum)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)
        self._momentum = momentum
        self._lars_coeff = float(lars_coeff)
        self._lars_weight_decay_factor = float(lars_weight_decay)

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        velocity = self._get_accumulator(self._velocity_acc_str, param_and_grad[0])
        attrs = {
            "mu": self._momentum,
            "lars_coeff": self._lars_coeff,
            "lars_weight_decay": self._lars_weight_decay_factor,
        }
        return self._update(block, param_and_grad, {"Velocity": [velocity]}, {"VelocityOut": [velocity]}, attrs)
