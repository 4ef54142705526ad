"""`contrib.mixed_precision`: an optimizer for float16 and float32 training with a scaled loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fluidio import layers
from fluidio.contrib.amp_lists import AutoMixedPrecisionLists
from fluidio.contrib.amp_rewrite import rewrite_program, update_loss_scaling, update_role_var_grad
from fluidio.optimizer import Optimizer
from fluidio.program import (
    Operator,
    Program,
    Variable,
    default_main_program,
    unique_name,
)

__all__ = ["AutoMixedPrecisionLists", "OptimizerWithMixedPrecision", "decorate"]


def _state(name: str, value: float, dtype: str) -> Variable:
    return layers.create_global_var(
        name=unique_name.generate(name), shape=[1], value=value, dtype=dtype, persistable=True
    )


class _Schedule:
    """How the loss scale grows and shrinks: after how many good and bad steps, and by which factors."""

    def __init__(self, after: tuple[int, int], factors: tuple[float, float]) -> None:
        self._after = [layers.fill_constant(shape=[1], dtype="int32", value=steps) for steps in after]
        self._counts = [_state(name, 0, "int32") for name in ("num_good_steps", "num_bad_steps")]
        self._factors = factors

    def update(self, scale: Variable, is_finite: Variable) -> None:
        """Append the change of the scale after a step."""
        (good, bad), (grow_after, shrink_after), (grow, shrink) = self._counts, self._after, self._factors
        update_loss_scaling(is_finite, scale, good, bad, grow_after, shrink_after, grow, shrink)


class OptimizerWithMixedPrecision:
    """Wraps an optimizer: rewrites the program, scales the loss, and skips steps that overflow."""

    def __init__(
        self,
        optimizer: Optimizer,
        amp_lists: AutoMixedPrecisionLists,
        init_loss_scaling: float,
        use_dynamic_loss_scaling: bool,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int,
        incr_ratio: float,
        decr_ratio: float,
    ) -> None:
        self._optimizer = optimizer
        self._amp_lists = amp_lists
        self._train_program = default_main_program()
        self._scaled_loss: Variable | None = None
        self._loss_scaling = _state("loss_scaling", init_loss_scaling, "float32")
        self._schedule = (
            _Schedule((incr_every_n_steps, decr_every_n_nan_or_inf), (incr_ratio, decr_ratio))
            if use_dynamic_loss_scaling
            else None
        )
        if isinstance(optimizer._learning_rate, float):  # created here, so that it is float32 like the parameters
            rate = _state("learning_rate", optimizer._learning_rate, "float32")
            optimizer._learning_rate_map[self._train_program] = rate

    def get_loss_scaling(self) -> Variable:
        """Return the variable that holds the loss scale."""
        return self._loss_scaling

    def get_scaled_loss(self) -> Variable | None:
        """Return the scaled loss, once there is a loss."""
        return self._scaled_loss

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Variable | str] | None = None,
        no_grad_set: Iterable[object] | None = None,
        callbacks: object = None,
    ) -> list[list[Any]]:
        """Insert casts into the program and append the gradients of the scaled loss; return them unscaled."""
        program = self._train_program
        rewrite_program(program, self._amp_lists)
        self._scaled_loss = scaled = loss * self._loss_scaling
        found = self._optimizer.backward(scaled, startup_program, parameter_list, no_grad_set, callbacks)
        pairs = [pair for pair in found if pair[1] is not None]  # Fluid: fails where a loop gives no gradient
        update_role_var_grad(program, pairs)
        return [[parameter, self._unscaled(parameter, grad)] for parameter, grad in pairs]

    def _unscaled(self, parameter: Variable, grad: Variable) -> Variable:
        with self._train_program._optimized_guard([parameter, grad]):
            found: Variable = grad / self._loss_scaling
        return found

    def apply_gradients(self, scaled_params_grads: Any) -> list[Operator]:
        """Append updates; with dynamic loss scaling, a step with non-finite gradients updates with zeros."""
        if self._schedule is not None:
            self._append_scaling(self._schedule, [grad for _, grad in scaled_params_grads])
        return self._optimizer.apply_gradients(scaled_params_grads)

    def _append_scaling(self, schedule: _Schedule, grads: list[Variable]) -> None:
        sums = layers.concat([layers.reduce_sum(grad) for grad in grads])
        is_finite = layers.isfinite(layers.reduce_sum(sums))
        schedule.update(self._loss_scaling, is_finite)
        with layers.Switch() as switch:
            with switch.case(is_finite):
                pass
            with switch.default():
                for grad in grads:
                    layers.assign(layers.zeros_like(grad), grad)

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Variable | str] | None = None,
        no_grad_set: Iterable[object] | None = None,
    ) -> tuple[list[Operator], list[list[Any]]]:
        """Append gradients and updates."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_gradients(pairs), pairs


def decorate(
    optimizer: Optimizer,
    amp_lists: Any = None,
    init_loss_scaling: float = 2**15,
    incr_every_n_steps: int = 1000,
    decr_every_n_nan_or_inf: int = 2,
    incr_ratio: float = 2.0,
    decr_ratio: float = 0.8,
    use_dynamic_loss_scaling: bool = True,
) -> OptimizerWithMixedPrecision:
    """Return an optimizer for mixed precision: conv2d, matmul and mul in float16, sensitive ops in float32.

    Fluid: it ran only on GPUs. Here it runs everywhere; on the CPU, products are summed in float32.
    """
    return OptimizerWithMixedPrecision(
        optimizer,
        amp_lists or AutoMixedPrecisionLists(),
        init_loss_scaling,
        use_dynamic_loss_scaling,
        incr_every_n_steps,
        decr_every_n_nan_or_inf,
        incr_ratio,
        decr_ratio,
    )
