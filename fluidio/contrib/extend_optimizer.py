"""`contrib.extend_optimizer`: optimizers with decoupled weight decay, such as AdamW."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fluidio import layers
from fluidio.optimizer import Optimizer
from fluidio.program import Operator, Program, Variable, default_startup_program, program_guard

__all__ = ["extend_with_decoupled_weight_decay"]


class DecoupledWeightDecay:
    """What the extended class adds: before each update, parameter -= coeff * parameter."""

    def __init__(
        self, coeff: object = 0.0, apply_decay_param_fun: Callable[[str], bool] | None = None, **kwargs: object
    ) -> None:
        if not isinstance(coeff, (float, Variable)):
            raise TypeError(f"coeff must be a float or a Variable, got {type(coeff).__name__}")
        super().__init__(**kwargs)
        self._coeff = coeff
        self._apply_decay_param_fun = apply_decay_param_fun
        self._params_name: set[str] = set()

    def _decayed(self, parameter: Any) -> bool:
        wanted = self._apply_decay_param_fun is None or self._apply_decay_param_fun(parameter.name)
        return bool(wanted) and not (isinstance(self._coeff, float) and self._coeff == 0.0)

    def _append_decay(self, program: Program, params_grads: Sequence[Any]) -> None:
        chosen = [(p, g) for p, g in params_grads if g is not None and self._decayed(p)]
        pulls = []
        for parameter, gradient in chosen:
            with program._optimized_guard([parameter, gradient]):
                pulls.append(parameter * self._coeff)
            self._params_name.add(parameter.name)
        for (parameter, gradient), pull in zip(chosen, pulls):
            with program._optimized_guard([parameter, gradient]):
                layers.assign(layers.elementwise_sub(x=parameter, y=pull), parameter)

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[object] | None = None,
        no_grad_set: Iterable[object] | None = None,
        grad_clip: object = None,
    ) -> tuple[list[Operator], list[Any]]:
        """Append the gradients, the decay of each parameter, and the updates of the base optimizer."""
        base: Any = self
        pairs = list(base.backward(loss, startup_program, parameter_list, no_grad_set))
        if grad_clip is not None:
            base._grad_clip = grad_clip
        with program_guard(loss.block.program, startup_program or default_startup_program()):
            self._append_decay(loss.block.program, pairs)
        return base.apply_optimize(loss, startup_program, pairs), pairs

    def __str__(self) -> str:
        return " ".join(["Weight Decay, params:", ",".join(sorted(self._params_name))])


def extend_with_decoupled_weight_decay(base_optimizer: type[Any]) -> type[Any]:
    """Return a class of optimizers that decay weights beside the update, not through the gradient: AdamW from Adam.

        AdamW = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.Adam)
        AdamW(learning_rate=0.1, weight_decay=0.01).minimize(loss)

    The extended class takes `weight_decay` first, the base's arguments by name, and `apply_decay_param_fun`, which
    tells from its name whether a parameter decays.
    """
    if not isinstance(base_optimizer, type) or not issubclass(base_optimizer, Optimizer):
        raise TypeError(
            "extend_with_decoupled_weight_decay takes a class of optimizers such as fluid.optimizer.Adam, "
            f"got {base_optimizer!r}"
        )

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecay, base_optimizer):  # type: ignore[misc]
        """An optimizer with decoupled weight decay."""

        def __init__(
            self, weight_decay: object, apply_decay_param_fun: Callable[[str], bool] | None = None, **kwargs: object
        ) -> None:
            super().__init__(weight_decay, apply_decay_param_fun, **kwargs)

    return OptimizerWithDecoupledWeightDecay
