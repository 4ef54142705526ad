"""`contrib.mixed_precision`: training stays in float32, under the interface of mixed precision."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from fluidio import layers
from fluidio.optimizer import Optimizer
from fluidio.program import Operator, Program, Variable, default_startup_program, program_guard, unique_name

__all__ = ["AutoMixedPrecisionLists", "OptimizerWithMixedPrecision", "decorate"]

_WHITE = frozenset({"conv2d", "matmul", "mul"})
_BLACK = frozenset(
    [
        "cos_sim",
        "cross_entropy",
        "cross_entropy2",
        "exp",
        "log",
        "mean",
        "sigmoid_cross_entropy_with_logits",
        "softmax",
        "softmax_with_cross_entropy",
        "square",
        "sum",
    ]
)
_GRAY = frozenset(
    [
        "batch_norm",
        "cast",
        "dropout",
        "elementwise_add",
        "elementwise_div",
        "elementwise_floordiv",
        "elementwise_max",
        "elementwise_min",
        "elementwise_mod",
        "elementwise_mul",
        "elementwise_pow",
        "elementwise_sub",
        "fill_constant",
        "flatten2",
        "gather",
        "gaussian_random",
        "gaussian_random_batch_size_like",
        "get_tensor_from_selected_rows",
        "leaky_relu",
        "lookup_table",
        "pool2d",
        "pool3d",
        "rank",
        "relu",
        "relu6",
        "reshape2",
        "scale",
        "sigmoid",
        "sign",
        "slice",
        "soft_relu",
        "stack",
        "tanh",
        "top_k",
        "transpose2",
        "uniform_random_batch_size_like",
        "unstack",
    ]
)


class AutoMixedPrecisionLists:
    """Which ops Fluid computed in float16 (white), in float32 (black), or as their inputs came (gray)."""

    def __init__(
        self, custom_white_list: Any = None, custom_black_list: Any = None, custom_black_varnames: Any = None
    ) -> None:
        white, black = set(custom_white_list or ()), set(custom_black_list or ())
        if white & black:
            raise ValueError("Custom white list overlap custom black list")
        self._custom_white_list, self._custom_black_list = custom_white_list, custom_black_list
        self.white_list = (_WHITE | white) - black
        self.black_list = (_BLACK | black) - white
        self.gray_list = _GRAY - white - black
        self.black_varnames = custom_black_varnames


class OptimizerWithMixedPrecision:
    """The optimizer given, with the methods that `decorate` promised."""

    def __init__(self, optimizer: Optimizer, amp_lists: AutoMixedPrecisionLists, scaling: float) -> None:
        self._optimizer = optimizer
        self._amp_lists = amp_lists
        self._loss_scaling = layers.create_global_var(
            name=unique_name.generate("loss_scaling"), shape=[1], value=scaling, dtype="float32", persistable=True
        )
        for name in ("num_good_steps", "num_bad_steps"):  # variables of Fluid's checkpoints
            layers.create_global_var(
                name=unique_name.generate(name), shape=[1], value=0, dtype="int32", persistable=True
            )
        self._scaled_loss: Variable | None = None

    def get_loss_scaling(self) -> Variable:
        """Return the variable with the factor; it keeps its first value."""
        return self._loss_scaling

    def get_scaled_loss(self) -> Variable | None:
        """Return the loss times the factor, once there is a loss."""
        return self._scaled_loss

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Variable | str] | None = None,
        no_grad_set: Iterable[object] | None = None,
        callbacks: object = None,
    ) -> list[tuple[Any, Any]]:
        """Append the gradients of the loss as it is, in float32."""
        with program_guard(loss.block.program, startup_program or default_startup_program()):
            self._scaled_loss = loss * self._loss_scaling
        return list(self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks))

    def apply_gradients(self, params_grads: Any) -> list[Operator]:
        return self._optimizer.apply_gradients(params_grads)

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Variable | str] | None = None,
        no_grad_set: Iterable[object] | None = None,
    ) -> tuple[list[Operator], list[tuple[Any, Any]]]:
        """Append gradients and updates."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        with program_guard(loss.block.program, startup_program or default_startup_program()):
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
    """Return the optimizer under the interface of mixed precision.

    Fluid: forward and backward ran in float16 with a scaled loss. Here they run in float32, where no scaling is
    needed; a warning says so. The variables of the scaling are there, for checkpoints and for what fetches them.
    """
    warnings.warn("mixed_precision.decorate: training stays in float32, loss scaling has no effect", stacklevel=2)
    return OptimizerWithMixedPrecision(optimizer, amp_lists or AutoMixedPrecisionLists(), float(init_loss_scaling))
