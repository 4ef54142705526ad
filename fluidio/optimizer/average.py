"""Averages of parameters over the steps of training, swapped in for evaluation."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.optimizer.arguments import Decay
from fluidio.optimizer.base import Optimizer
from fluidio.optimizer.counter import step_counter
from fluidio.optimizer.small_ops import assign, assign_number, cast, elementwise, otherwise, summed, when
from fluidio.program import Block, Parameter, Program, Variable, default_main_program, program_guard, unique_name

__all__ = ["ExponentialMovingAverage", "ModelAverage"]


class _Swapped:
    """Programs that replace the parameters by their averages and restore them."""

    def __init__(self) -> None:
        self.apply_program = Program()
        self.restore_program = Program()

    def _keep_aside(self, kept: Sequence[tuple[Variable, Variable]]) -> None:
        """Build the restoring program from (parameter, its copy) pairs."""
        with program_guard(self.restore_program):
            block = self.restore_program.global_block()
            for param, copy in kept:
                source, target = block._clone_variable(copy), block._clone_variable(param)
                block.append_op(type="assign", inputs={"X": [source]}, outputs={"Out": [target]})

    @contextlib.contextmanager
    def apply(self, executor: Any, need_restore: bool = True) -> Iterator[None]:
        """Use the averages inside the block; `need_restore=False` keeps them until `restore`."""
        executor.run(self.apply_program)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor: Any) -> None:
        """Put the trained parameters back."""
        executor.run(self.restore_program)


_SUMS = ("sum_1", "sum_2", "sum_3")
_COUNTS = ("num_accumulates", "old_num_accumulates", "num_updates")


class ModelAverage(Optimizer, _Swapped):
    """Average the parameters over a window of steps; build it after `minimize`.

    In 0.12 the first argument was the list of `minimize`'s pairs; a list is treated as that.
    """

    type = "average_accumulates"

    def __init__(
        self,
        average_window_rate: Any,
        min_average_window: Any = 10000,
        max_average_window: Any = 10000,
        regularization: Decay = None,
        name: str | None = None,
    ) -> None:
        if isinstance(average_window_rate, (list, tuple)):
            average_window_rate, min_average_window = min_average_window, 10000
        Optimizer.__init__(self, 0.0, regularization=regularization, name=name)
        _Swapped.__init__(self)
        self._attrs = {
            "average_window": float(average_window_rate),
            "min_average_window": int(min_average_window),
            "max_average_window": int(max_average_window),
        }
        program = default_main_program()
        self.helper = LayerHelper("ModelAverage")
        averaged = [p for p in program.all_parameters() if p.do_model_average is not False]
        for param in averaged:
            with program._optimized_guard([param]):
                self._accumulate(param)
        self.params_grads = [(p, _aside(program, p, f"{p.name}.tmp")) for p in averaged]
        with program_guard(self.apply_program):
            for param, copy in self.params_grads:
                self._use_average(self.apply_program.global_block(), param, copy)
        self._keep_aside(self.params_grads)

    def _accumulate(self, param: Parameter) -> None:
        state = [self._add_accumulator(name, param) for name in _SUMS]
        state += [self._add_accumulator(name, param, dtype="int64", shape=[1]) for name in _COUNTS]
        names = _SUMS + _COUNTS
        self.helper.append_op(
            type=self.type,
            inputs={"param": [param], **{f"in_{name}": [v] for name, v in zip(names, state)}},
            outputs={f"out_{name}": [v] for name, v in zip(names, state)},
            attrs=dict(self._attrs),
        )

    def _use_average(self, block: Block, param: Parameter, copy: Variable) -> None:
        held, aside = block._clone_variable(param), block._clone_variable(copy)
        block.append_op(type="assign", inputs={"X": [held]}, outputs={"Out": [aside]})
        sums = [block._clone_variable(self._get_accumulator(name, param)) for name in _SUMS]
        counts = [block._clone_variable(self._get_accumulator(name, param)) for name in _COUNTS[:2]]
        count, total = summed(counts), summed(sums)
        count, total = cast(count, param.dtype), cast(total, param.dtype)
        elementwise("div", total, count, out=held)


class ExponentialMovingAverage(_Swapped):
    """Keep decay * average + (1 - decay) * parameter beside each parameter; build it after `minimize`.

    Fluid: `apply` divides the average by 1 - decay^t in place, so a second `apply` does it again and the numbers grow.
    The same happens here, with a warning.

    Args:
        decay: the rate.
        thres_steps: a Variable of steps t; the rate is then min(decay, (t + 1) / (t + 10)). Fluid: integers have no
            effect.
        keep_average: leave the average as it is when it is applied.
    """

    def __init__(
        self,
        decay: float = 0.999,
        thres_steps: Variable | None = None,
        name: str | None = None,
        *,
        keep_average: bool = False,
    ) -> None:
        super().__init__()
        self._keep_average = keep_average
        self._applied = False
        self._decay = decay
        self._thres_steps = thres_steps
        self._name = name or ""
        program = default_main_program()
        self._params = [p for p in program.all_parameters() if p.do_model_average is not False]
        self._decay_var = self._decay_variable()
        self._step_counter = "@EMA_STEP_COUNTER@"
        kept = [(p, _aside(program, p, f"{self._name}{p.name}.ema_tmp")) for p in self._params]
        self._averages = {p.name: self._average_variable(p) for p in self._params}
        with program_guard(self.apply_program):
            self._build_apply(self.apply_program.global_block(), kept)
        self._keep_aside(kept)

    def _decay_variable(self) -> Variable:
        helper = LayerHelper("ema_decay")
        variable = helper.create_global_variable(
            name="scheduled_ema_decay_rate", shape=[1], dtype="float32", persistable=True, stop_gradient=True
        )
        helper.set_variable_initializer(variable, Constant(float(self._decay)))
        if self._thres_steps is not None:
            self._schedule(self._thres_steps, variable)
        return variable

    def _schedule(self, steps: Variable, rate: Variable) -> None:
        """Append the ops that set the rate to min(decay, (steps + 1) / (steps + 10)) in each run."""
        whole = steps.dtype in (VarType.INT32, VarType.INT64)
        if whole:
            warnings.warn(
                "ExponentialMovingAverage(thres_steps=...) of integers: like Fluid 1.8.5, fluidio divides "
                f"them as integers, so the rate is always {self._decay}; cast thres_steps to float32 to have "
                "a rate that grows",
                stacklevel=4,
            )
        with default_main_program()._lr_schedule_guard():
            ratio = (steps + 1.0) / (steps + 10.0)
            with when(ratio < (int(self._decay) if whole else self._decay)) as opposite:
                assign(ratio, rate)
            with otherwise(opposite):
                assign_number(self._decay, rate)

    def _average_variable(self, param: Parameter) -> Variable:
        helper = LayerHelper("ema")
        variable = helper.create_global_variable(
            name=unique_name.generate(f"{self._name}{param.name}_ema"),
            shape=param.shape,
            dtype=param.dtype,
            persistable=True,
            stop_gradient=True,
        )
        helper.set_variable_initializer(variable, Constant(0.0))
        return variable

    def _build_apply(self, block: Block, kept: Sequence[tuple[Variable, Variable]]) -> None:
        helper = LayerHelper("global_var")
        counter = helper.create_global_variable(
            name=self._step_counter, shape=[1], dtype="int64", persistable=True, stop_gradient=True
        )
        helper.set_variable_initializer(counter, Constant(0.0))
        steps = cast(counter, VarType.FP32)
        share_of_zeros = elementwise("pow", block._clone_variable(self._decay_var), steps)
        for param, copy in kept:
            held, aside = block._clone_variable(param), block._clone_variable(copy)
            average = block._clone_variable(self._averages[param.name])
            assign(held, aside)
            with when(steps > 0.0):
                assign(average / (1.0 - share_of_zeros), held if self._keep_average else average)
            if not self._keep_average:
                assign(average, held)

    @contextlib.contextmanager
    def apply(self, executor: Any, need_restore: bool = True) -> Iterator[None]:
        """Use the averages inside the block; `need_restore=False` keeps them until `restore`."""
        if self._applied and not self._keep_average:
            warnings.warn(
                "ExponentialMovingAverage.apply was called again: like Fluid 1.8.5, fluidio corrects the "
                "average in place, so it is now corrected twice; ExponentialMovingAverage(..., "
                "keep_average=True) leaves it as it is",
                stacklevel=3,
            )
        self._applied = True
        with super().apply(executor, need_restore):
            yield

    def update(self) -> None:
        """Append the ops that update the averages; call it once, after `minimize`."""
        program = default_main_program()
        step_counter(self._step_counter)
        for param in self._params:
            average = self._averages[param.name]
            with program._optimized_guard([param, average]):
                carried = average * self._decay_var + param * (1.0 - self._decay_var)
                program.global_block().append_op(type="assign", inputs={"X": [carried]}, outputs={"Out": [average]})


def _aside(program: Program, param: Parameter, name: str) -> Variable:
    """Declare the variable that keeps a parameter while its average replaces it."""
    return program.global_block().create_var(
        name=unique_name.generate(name), shape=param.shape, dtype=param.dtype, persistable=False, stop_gradient=True
    )
