"""`contrib.mixed_precision`: training stays in float32."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from fluidio.optimizer import Optimizer
from fluidio.program import Operator, Program, Variable

__all__ = ["AutoMixedPrecisionLists", "OptimizerWithMixedPrecision", "decorate"]


class AutoMixedPrecisionLists:
    """Lists of ops for float16 and float32; kept, and without effect."""

    def __init__(self, custom_white_list: Any = None, custom_black_list: Any = None, **_: Any) -> None:
        self.white_list = set(custom_white_list or ())
        self.black_list = set(custom_black_list or ())


class OptimizerWithMixedPrecision:
    """The optimizer given, with the methods that `decorate` promised."""

    def __init__(self, optimizer: Optimizer, scaling: float) -> None:
        self._optimizer = optimizer
        self._scaling = scaling
        self._scaled_loss: Variable | None = None

    def get_loss_scaling(self) -> float:
        return self._scaling

    def get_scaled_loss(self) -> Variable | None:
        return self._scaled_loss

    def backward(
        self, loss: Variable, startup_program: Program | None = None, parameter_list: Any = None,
        no_grad_set: Iterable[Any] | None = None, callbacks: Any = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        self._scaled_loss = loss
        return list(self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks))

    def apply_gradients(self, params_grads: Any) -> list[Operator]:
        return self._optimizer.apply_gradients(params_grads)

    def minimize(
        self, loss: Variable, startup_program: Program | None = None, parameter_list: Any = None,
        no_grad_set: Iterable[Any] | None = None,
    ) -> tuple[list[Operator], list[tuple[Any, Any]]]:  # fmt: skip
        self._scaled_loss = loss
        ops, pairs = self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
        return ops, list(pairs)


def decorate(
    optimizer: Optimizer, amp_lists: Any = None, init_loss_scaling: float = 1.0, incr_every_n_steps: int = 1000,
    decr_every_n_nan_or_inf: int = 2, incr_ratio: float = 2.0, decr_ratio: float = 0.8,
    use_dynamic_loss_scaling: bool = True,
) -> OptimizerWithMixedPrecision:  # fmt: skip
    """Return the optimizer as it is, under the interface of mixed precision.

    Fluid: forward and backward ran in float16 with a scaled loss. Here they run in float32, where no scaling is
    needed; a warning says so.
    """
    warnings.warn("mixed_precision.decorate: training stays in float32, loss scaling has no effect", stacklevel=2)
    return OptimizerWithMixedPrecision(optimizer, init_loss_scaling)
