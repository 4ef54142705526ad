"""Optimizers that wrap an optimizer: Lookahead, and those that only distribute work or memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from fluidio.clip import GradientClipBase
from fluidio.dtypes import VarType
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.optimizer.base import Optimizer, ParamsGrads
from fluidio.program import Operator, Program, Variable, default_startup_program, program_guard

__all__ = ["LookaheadOptimizer", "PipelineOptimizer", "RecomputeOptimizer"]


class LookaheadOptimizer:
    """Every k steps, move slow copies of the parameters by alpha towards the fast ones and go on from there."""

    def __init__(self, inner_optimizer: Optimizer, alpha: float = 0.5, k: int = 5) -> None:
        if inner_optimizer is None:
            raise AssertionError("inner optimizer can not be None")
        if not 0.0 <= alpha <= 1.0:
            raise AssertionError("alpha should be larger or equal to 0.0, and less or equal than 1.0")
        if not isinstance(k, int) or k <= 0:
            raise AssertionError("k should be a positive integer")
        self.inner_optimizer = inner_optimizer
        self.alpha = alpha
        self.k = k
        self.type = "lookahead"

    def minimize(self, loss: Variable, startup_program: Program | None = None) -> tuple[list[Operator], ParamsGrads]:
        """Append the inner optimizer's step and the slow step behind it."""
        result = self.inner_optimizer.minimize(loss, startup_program=startup_program)
        main, startup = loss.block.program, startup_program or default_startup_program()
        with program_guard(main, startup):
            helper = LayerHelper("lookahead")
            slow = {p.name: self._slow_copy(p, main, startup) for p in main.all_parameters()}
            alpha = _constant(helper, "lookahead_alpha", self.alpha, "float32")
            due = self._due(helper)
            for fast in main.all_parameters():
                moved = slow[fast.name] + (fast - slow[fast.name]) * (due * alpha)
                main.global_block().append_op(type="assign", inputs={"X": [moved]}, outputs={"Out": [slow[fast.name]]})
                # A product with 0 or 1 keeps every finite value as it is.
                kept = slow[fast.name] * due + fast * (1.0 - due)
                main.global_block().append_op(type="assign", inputs={"X": [kept]}, outputs={"Out": [fast]})
        return result

    @staticmethod
    def _slow_copy(param: Variable, main: Program, startup: Program) -> Variable:
        name = f"{param.name}@SLOW"
        block = startup.global_block()
        start = block.create_var(name=name, shape=param.shape, dtype=param.dtype, persistable=True)
        block.append_op(type="assign", inputs={"X": [param.name]}, outputs={"Out": [start]})
        return main.global_block().create_var(name=name, shape=param.shape, dtype=param.dtype, persistable=True)

    def _due(self, helper: LayerHelper) -> Variable:
        """Return 1.0 in every k-th step and 0.0 in the others."""
        period = _constant(helper, "lookahead_k", self.k)
        step = _constant(helper, "lookahead_step", 0)
        helper.append_op(type="increment", inputs={"X": [step]}, outputs={"Out": [step]}, attrs={"step": 1.0})
        rest = helper.create_variable_for_type_inference("int32")
        helper.append_op(
            type="elementwise_mod", inputs={"X": [step], "Y": [period]}, outputs={"Out": [rest]}, attrs={"axis": -1}
        )
        real = helper.create_variable_for_type_inference("float32")
        attrs = {"in_dtype": VarType.INT32, "out_dtype": VarType.FP32}
        helper.append_op(type="cast", inputs={"X": [rest]}, outputs={"Out": [real]}, attrs=attrs)
        due = helper.create_variable_for_type_inference("float32")
        helper.append_op(type="relu", inputs={"X": [1.0 - real]}, outputs={"Out": [due]})
        return due


def _constant(helper: LayerHelper, name: str, value: float, dtype: str = "int32") -> Variable:
    variable = helper.create_global_variable(name=name, shape=[1], dtype=dtype, persistable=True, stop_gradient=True)
    helper.set_variable_initializer(variable, Constant(float(value)))
    return variable


class RecomputeOptimizer(Optimizer):
    """Train as the optimizer inside does, with less memory: what lies between checkpoints is computed again.

    As in Fluid, a batch_norm between checkpoints moves its running mean and variance twice in each step.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._checkpoints: list[Any] | None = None
        self._learning_rate = optimizer._learning_rate
        self._learning_rate_map = optimizer._learning_rate_map

    def _set_checkpoints(self, checkpoints: list[Any]) -> None:
        self._checkpoints = checkpoints

    def load(self, stat_dict: object) -> None:
        raise NotImplementedError("load function is not supported by Recompute Optimizer for now")

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Any] | None = None,
        no_grad_set: Iterable[Any] | None = None,
        callbacks: Any = None,
        checkpoints: Any = None,
    ) -> ParamsGrads:
        kept = checkpoints or self._checkpoints
        with program_guard(loss.block.program, startup_program or default_startup_program()):
            return self._optimizer._backward(loss, parameter_list, no_grad_set, callbacks, kept)

    def apply_gradients(self, params_grads: ParamsGrads) -> list[Operator]:
        return self._optimizer.apply_gradients(params_grads)

    def apply_optimize(
        self, loss: Variable, startup_program: Program | None, params_grads: ParamsGrads
    ) -> list[Operator]:
        return self._optimizer.apply_optimize(loss, startup_program, params_grads)

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Any] | None = None,
        no_grad_set: Iterable[Any] | None = None,
        grad_clip: GradientClipBase | None = None,
    ) -> tuple[list[Operator], ParamsGrads]:
        if not isinstance(loss, Variable):
            raise AssertionError(f"The loss should be a Variable, got {type(loss).__name__}")
        if self._checkpoints is None:
            raise AssertionError("You should call _set_checkpoints first")
        if grad_clip is not None:
            self._optimizer._grad_clip = grad_clip
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs


class PipelineOptimizer:
    """Train as the optimizer inside does, in one piece.

    Fluid: the program was cut into sections that ran on several devices at once. Here it runs whole on the
    executor's place; `cut_list` and the rest have no effect, and a warning says so.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        cut_list: object = None,
        place_list: object = None,
        concurrency_list: object = None,
        queue_size: int = 30,
        sync_steps: int = 1,
        start_cpu_core_id: int = 0,
    ) -> None:
        warnings.warn(
            "PipelineOptimizer cuts a program over several devices; here the whole program runs on one", stacklevel=2
        )
        self._optimizer = optimizer

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Sequence[Any] | None = None,
        no_grad_set: Iterable[Any] | None = None,
    ) -> tuple[list[Operator], ParamsGrads]:
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
