"""Adam, Adamax and Lamb."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fluidio.era import era
from fluidio.optimizer.arguments import Clip, Decay, Parameters, Rate
from fluidio.optimizer.base import Optimizer, Pair, ParamsGrads
from fluidio.program import Block, Operator, Parameter, Variable, name_scope

__all__ = ["AdamOptimizer", "AdamaxOptimizer", "LambOptimizer"]

_STATE = (
    ("Moment1", "moment1"),
    ("Moment2", "moment2"),
    ("Beta1Pow", "beta1_pow_acc"),
    ("Beta2Pow", "beta2_pow_acc"),
)


class AdamOptimizer(Optimizer):
    """Adam; epsilon is outside the root and not corrected for bias, as in Fluid.

    Until 1.7 `scale` ops after all updates advanced the beta powers; in 1.8 the op does: the era decides.
    """

    type = "adam"
    _moment1_acc_str = "moment1"
    _moment2_acc_str = "moment2"
    _beta1_pow_acc_str = "beta1_pow_acc"
    _beta2_pow_acc_str = "beta2_pow_acc"
    accumulators = (_moment1_acc_str, _moment2_acc_str)

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: float = 1e-8,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        lazy_mode: bool = False,
        **legacy: Any,
    ) -> None:
        if isinstance(grad_clip, bool):  # Fluid until 1.6: (..., epsilon, regularization, name, lazy_mode)
            grad_clip, lazy_mode = None, grad_clip
        self._require(learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lazy_mode = lazy_mode

    def _betas(self) -> tuple[tuple[str, Any], tuple[str, Any]]:
        return (self._beta1_pow_acc_str, self._beta1), (self._beta2_pow_acc_str, self._beta2)

    def _create_accumulators(self, block: Block, parameters: Sequence[Parameter]) -> None:
        for param in parameters:
            super()._create_accumulators(block, [param])
            for (name, beta), start in zip(self._betas(), (0.9, 0.999)):
                fill = start if isinstance(beta, Variable) else beta
                self._add_accumulator(name, param, fill_value=fill, shape=[1], device="cpu")

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        param = param_and_grad[0]
        state = {slot: [self._get_accumulator(name, param)] for slot, name in _STATE}
        inside = era().adam_updates_beta_pow_inside
        outputs = {f"{slot}Out": held for slot, held in state.items() if inside or slot.startswith("Moment")}
        attrs: dict[str, Any] = {"epsilon": self._epsilon, "lazy_mode": self._lazy_mode}
        inputs: dict[str, Any] = dict(state)
        for key, slot, beta in (("beta1", "Beta1Tensor", self._beta1), ("beta2", "Beta2Tensor", self._beta2)):
            if isinstance(beta, Variable):
                inputs[slot] = [beta]
            else:
                attrs[key] = beta
        return self._update(block, param_and_grad, inputs, outputs, attrs)

    def _finish_update(self, block: Block, params_grads: ParamsGrads) -> None:
        if era().adam_updates_beta_pow_inside:
            return
        for param, _ in params_grads:
            for name, beta in self._betas():
                self._scale(block, self._get_accumulator(name, param), beta)

    @staticmethod
    def _scale(block: Block, power: Variable, beta: object) -> None:
        outputs = {"Out": [power]}
        if isinstance(beta, Variable):
            inputs = {"X": [power], "Y": [beta]}
            block.append_op(type="elementwise_mul", inputs=inputs, outputs=outputs, attrs={"axis": -1})
        else:
            block.append_op(type="scale", inputs={"X": [power]}, outputs=outputs, attrs={"scale": beta})


class AdamaxOptimizer(Optimizer):
    """Adam with the infinity norm."""

    type = "adamax"
    _moment_acc_str = "moment"
    _inf_norm_acc_str = "inf_norm"
    _beta1_pow_acc_str = "beta1_pow_acc"
    accumulators = (_moment_acc_str, _inf_norm_acc_str)

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        name: str | None = None,
        **legacy: Any,
    ) -> None:
        self._require(learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name, **legacy)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon

    def _create_accumulators(self, block: Block, parameters: Sequence[Parameter]) -> None:
        for param in parameters:
            super()._create_accumulators(block, [param])
            self._add_accumulator(self._beta1_pow_acc_str, param, fill_value=self._beta1, shape=[1])

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        moment = self._get_accumulator(self._moment_acc_str, param_and_grad[0])
        inf_norm = self._get_accumulator(self._inf_norm_acc_str, param_and_grad[0])
        power = self._get_accumulator(self._beta1_pow_acc_str, param_and_grad[0])
        return self._update(
            block,
            param_and_grad,
            {"Moment": [moment], "InfNorm": [inf_norm], "Beta1Pow": [power]},
            {"MomentOut": [moment], "InfNormOut": [inf_norm]},
            {"beta1": self._beta1, "beta2": self._beta2, "epsilon": self._epsilon},
        )

    def _finish_update(self, block: Block, params_grads: ParamsGrads) -> None:
        for pair in params_grads:
            with block.program._optimized_guard(pair), name_scope("adamx"):
                power = self._get_accumulator(self._beta1_pow_acc_str, pair[0])
                AdamOptimizer._scale(block, power, self._beta1)


class LambOptimizer(AdamOptimizer):
    """Adam scaled to each parameter's norm, for large batches.

    As in 1.8, the op takes the beta powers and corrects no bias.
    """

    type = "lamb"

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameter_list: Parameters = None,
        regularization: Decay = None,
        grad_clip: Clip = None,
        exclude_from_weight_decay_fn: Callable[[Parameter], bool] | None = None,
        name: str | None = None,
    ) -> None:
        self._require(lamb_weight_decay=lamb_weight_decay)
        super().__init__(learning_rate, beta1, beta2, epsilon, parameter_list, regularization, grad_clip, name)
        self._weight_decay = lamb_weight_decay
        self._exclude_from_weight_decay_fn = exclude_from_weight_decay_fn

    def _append_optimize_op(self, block: Block, param_and_grad: Pair) -> Operator:
        param = param_and_grad[0]
        state = {slot: [self._get_accumulator(name, param)] for slot, name in _STATE}
        excluded = self._exclude_from_weight_decay_fn
        decay = 0.0 if excluded is not None and excluded(param) else self._weight_decay
        attrs = {"beta1": self._beta1, "beta2": self._beta2, "epsilon": self._epsilon, "weight_decay": decay}
        outputs = {"Moment1Out": state["Moment1"], "Moment2Out": state["Moment2"]}
        return self._update(block, param_and_grad, state, outputs, attrs)
