"""Optimizers that wrap an optimizer: Lookahead, and those that only distribute work or memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from fluidio.clip import GradientClipBase
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.optimizer.base import Optimizer, ParamsGrads
from fluidio.optimizer.small_ops import assign, constant, elementwise, otherwise, when
from fluidio.program import Operator, Program, Variable, default_startup_program, program_guard

__all__ = ["LookaheadOptimizer", "PipelineOptimizer", "RecomputeOptimizer"]


class LookaheadOptimizer:
    """Every k steps, move slow copies of the parameters by alpha towards the fast ones, and continue from there."""

    def __init__(self, inner_optimizer: Optimizer, alpha: float = 0.5, k: int = 5) -> None:
        if inner_optimizer is None:
            raise AssertionError("LookaheadOptimizer: inner_optimizer must be given, got None")
        if not 0.0 <= alpha <= 1.0:
            raise AssertionError(f"LookaheadOptimizer: alpha must lie in 0 ... 1, got {alpha}")
        if not isinstance(k, int) or k <= 0:
            raise AssertionError(f"LookaheadOptimizer: k must be a whole number above 0, got {k!r}")
        self.inner_optimizer = inner_optimizer
        self.alpha = alpha
        self.k = k
        self.type = "lookahead"

    def minimize(self, loss: Variable, startup_program: Program | None = None) -> tuple[list[Operator], ParamsGrads]:
        """Append the inner optimizer's step followed by the slow step."""
        result = self.inner_optimizer.minimize(loss, startup_program=startup_program)
        main, startup = loss.block.program, startup_program or default_startup_program()
        params = main.all_parameters()
        with program_guard(main, startup):
            helper = LayerHelper("lookahead")
            slow = {p.name: self._slow_copy(p, main, startup) for p in params}
            period = _state(helper, "lookahead_k", self.k)
            alpha = _state(helper, "lookahead_alpha", self.alpha, "float32")
            step = _state(helper, "lookahead_step", 0)
            helper.append_op(type="increment", inputs={"X": [step]}, outputs={"Out": [step]}, attrs={"step": 1.0})
            zero, one = constant(0.0), constant(1.0)
            with when(elementwise("mod", step, period) == zero) as opposite:
                for fast in params:
                    towards = elementwise("mul", fast, alpha)
                    stay = elementwise("mul", slow[fast.name], elementwise("sub", one, alpha))
                    moved = elementwise("add", towards, stay)
                    assign(moved, slow[fast.name])
                    assign(moved, fast)
            with otherwise(opposite):
                pass
        return result

    @staticmethod
    def _slow_copy(param: Variable, main: Program, startup: Program) -> Variable:
        name = f"{param.name}@SLOW"
        block = startup.global_block()
        start = block.create_var(name=name, shape=param.shape, dtype=param.dtype, persistable=True)
        block.append_op(type="assign", inputs={"X": [param.name]}, outputs={"Out": [start]})
        return main.global_block().create_var(name=name, shape=param.shape, dtype=param.dtype, persistable=True)


def _state(helper: LayerHelper, name: str, value: float, dtype: str = "int32") -> Variable:
    variable = helper.create_global_variable(name=name, shape=[1], dtype=dtype, persistable=True, stop_gradient=True)
    helper.set_variable_initializer(variable, Constant(float(value)))
    return variable


_warned = False


def _tell_of_lost_error_clips(loss: Variable) -> None:
    global _warned
    clipped = [v.name for v in loss.block.vars.values() if v.error_clip is not None]
    if clipped and not _warned:
        _warned = True
        warnings.warn(
            f"RecomputeOptimizer: like Fluid 1.8.5, fluidio leaves out the error_clip of {', '.join(sorted(clipped))}; "
            "backward(loss, callbacks=[fluid.clip.error_clip_callback]) clips",
            stacklevel=4,
        )


class RecomputeOptimizer(Optimizer):
    """Train as the inner optimizer does, with less memory: values between checkpoints are recomputed.

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
        if kept and callbacks is None:
            _tell_of_lost_error_clips(loss)
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
            raise AssertionError(f"RecomputeOptimizer.minimize: the loss must be a Variable, got {type(loss).__name__}")
        if self._checkpoints is None:
            raise AssertionError("RecomputeOptimizer: call _set_checkpoints() before minimize()")
        if grad_clip is not None:
            self._optimizer._grad_clip = grad_clip
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs


class PipelineOptimizer:
    """Train as the inner optimizer does, without a pipeline.

    Fluid: the program was split into sections that ran on several devices at once. Here it runs whole on the
    executor's place; `cut_list` and the other arguments have no effect, and a warning says so.
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
            "PipelineOptimizer spreads a program over several devices; in fluidio the whole program runs on one",
            stacklevel=2,
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
