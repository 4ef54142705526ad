"""Optimizers that scale each weight by its history: Adagrad, DecayedAdagrad, Adadelta, RMSProp, FTRL."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from fluidio.ops.optimize.rows import ALL_ROWS
from fluidio.optimizer.arguments import Clip, Decay, Parameters, Rate
from fluidio.optimizer.base import Optimizer, Pair
from fluidio.program import Block, Operator, Parameter

__all__ = ["AdadeltaOptimizer", "AdagradOptimizer", "DecayedAdagradOptimizer", "FtrlOptimizer", "RMSPropOptimizer"]


class AdagradOptimizer(Optimizer):
    """m += g * g; p -= lr * g / (sqrt(m) + epsilon)."""

    type = "adagrad"
    _moment_acc_str = "moment"

    def __init__(
        self,
        learning_rate: Rate,
        epsilon: float = 1e-6,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
        **legacy: Any,
    ) -> None:
        if isinstance(grad_clip, (int, float)):  # Fluid until 1.6: (..., name, initial_accumulator_value)
            initial_accumulator_value, grad_clip = grad_clip, None
        self._require(learning_rate=learning_rate, epsilon=epsilon)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        self._epsilon = epsilon
        self.initial_accumulator_value = initial_accumulator_value

    def _create_accumulators(self, block: Block, parameters: Sequence[Parameter]) -> None:
        for param in parameters:
            self._add_accumulator(self._moment_acc_str, param, fill_value=self.initial_accumulator_value)

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        moment = self._get_accumulator(self._moment_acc_str, param_and_grad[0])
        attrs = {"epsilon": self._epsilon}
        return self._update(block, param_and_grad, {"Moment": [moment]}, {"MomentOut": [moment]}, attrs)


class DecayedAdagradOptimizer(Optimizer):
    """Adagrad with decay: m = decay * m + (1 - decay) * g * g."""

    type = "decayed_adagrad"
    _moment_acc_str = "moment"
    accumulators = (_moment_acc_str,)

    def __init__(
        self,
        learning_rate: Rate,
        decay: float = 0.95,
        epsilon: float = 1e-6,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        **legacy: Any,
    ) -> None:
        self._require(learning_rate=learning_rate, decay=decay, epsilon=epsilon)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        self._decay, self._epsilon = decay, epsilon

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        moment = self._get_accumulator(self._moment_acc_str, param_and_grad[0])
        attrs = {"decay": self._decay, "epsilon": self._epsilon}
        return self._update(block, param_and_grad, {"Moment": [moment]}, {"MomentOut": [moment]}, attrs)


class AdadeltaOptimizer(Optimizer):
    """Scale by running root mean squares of gradients and updates.

    As in Fluid, the learning rate is required but unused.
    """

    type = "adadelta"
    _avg_squared_grad_acc_str = "_avg_squared_grad"
    _avg_squared_update_acc_str = "_avg_squared_update"
    accumulators = (_avg_squared_grad_acc_str, _avg_squared_update_acc_str)

    def __init__(
        self,
        learning_rate: Rate,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        **legacy: Any,
    ) -> None:
        for what, value in (("learning_rate", learning_rate), ("epsilon", epsilon), ("rho", rho)):
            if value is None:
                raise ValueError(f"{what} must be given, got None")
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        self._epsilon, self._rho = epsilon, rho

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        param, grad = param_and_grad
        squared_grad, squared_update = (self._get_accumulator(name, param) for name in self.accumulators)
        return block.append_op(
            type=self.type,
            inputs={
                "Param": [param],
                "Grad": [grad],
                "AvgSquaredGrad": [squared_grad],
                "AvgSquaredUpdate": [squared_update],
            },
            outputs={
                "ParamOut": [param],
                "AvgSquaredGradOut": [squared_grad],
                "AvgSquaredUpdateOut": [squared_update],
            },
            attrs={"epsilon": self._epsilon, "rho": self._rho},
        )


class RMSPropOptimizer(Optimizer):
    """Divide by the running root mean square; epsilon is inside the root.

    Args:
        all_rows: use every row of a sparse gradient. Fluid: some rows that do not come sorted have no effect.
    """

    type = "rmsprop"
    _momentum_acc_str = "momentum"
    _mean_square_acc_str = "mean_square"
    _mean_grad_acc_str = "mean_grad"
    accumulators = (_momentum_acc_str, _mean_square_acc_str, _mean_grad_acc_str)

    def __init__(
        self,
        learning_rate: Rate,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        *,
        all_rows: bool = False,
        **legacy: Any,
    ) -> None:
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        for what, value in (("rho", rho), ("epsilon", epsilon), ("momentum", momentum)):
            if value is None:
                raise ValueError(f"{what} must be given, got None")
        self._rho, self._epsilon, self._momentum, self._centered = rho, epsilon, momentum, centered
        self._own_attrs: dict[str, Any] = {ALL_ROWS: True} if all_rows else {}

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        moment, square, mean = (self._get_accumulator(name, param_and_grad[0]) for name in self.accumulators)
        return self._update(
            block,
            param_and_grad,
            {"Moment": [moment], "MeanSquare": [square], "MeanGrad": [mean]},
            {"MomentOut": [moment], "MeanSquareOut": [square], "MeanGradOut": [mean]},
            {
                "decay": self._rho,
                "epsilon": self._epsilon,
                "momentum": self._momentum,
                "centered": self._centered,
                **self._own_attrs,
            },
        )


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader, with L1 and L2.

    Args:
        own_l2: let `l2` take effect.

    Fluid: the op gets l1 for both. The same happens here, with a warning if they differ.
    """

    type = "ftrl"
    _squared_acc_str = "squared"
    _linear_acc_str = "linear"
    accumulators = (_squared_acc_str, _linear_acc_str)

    def __init__(
        self,
        learning_rate: Rate,
        l1: float = 0.0,
        l2: float = 0.0,
        lr_power: float = -0.5,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        *,
        own_l2: bool = False,
        **legacy: Any,
    ) -> None:
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        if l1 != l2 and not own_l2:
            warnings.warn(
                f"Ftrl(l1={l1}, l2={l2}): like Fluid 1.8.5, fluidio uses l1 in place of l2; Ftrl(..., "
                "own_l2=True) uses l2",
                stacklevel=2,
            )
        self._l1, self._l2, self._lr_power, self._own_l2 = l1, l2, lr_power, own_l2

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        squared, linear = (self._get_accumulator(name, param_and_grad[0]) for name in self.accumulators)
        return self._update(
            block,
            param_and_grad,
            {"SquaredAccumulator": [squared], "LinearAccumulator": [linear]},
            {"SquaredAccumOut": [squared], "LinearAccumOut": [linear]},
            {"l1": self._l1, "l2": self._l2 if self._own_l2 else self._l1, "lr_power": self._lr_power},
        )
