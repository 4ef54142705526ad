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
        kept = [(p, _aside(program, p, f"{p.name}.tmp")) for p in averaged]
        with program_guard(self.apply_program):
            for param, copy in kept:
                self._use_average(self.apply_program.global_block(), param, copy)
        self._keep_aside(kept)

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
        total, count = _summed(sums), _cast(_summed(counts), param.dtype)
        block.append_op(
            type="elementwise_div", inputs={"X": [total], "Y": [count]}, outputs={"Out": [held]}, attrs={"axis": -1}
        )


class ExponentialMovingAverage(_Swapped):
    """Keep decay * average + (1 - decay) * parameter beside each parameter; build it after `minimize`.

    Fluid: `apply` divides the average by 1 - decay^t in place, so that a second `apply` does it again and the numbers
    grow; so it is here, with a warning.

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
        if self._thres_steps is not None and self._thres_steps.dtype in (VarType.INT32, VarType.INT64):
            warnings.warn(
                "ExponentialMovingAverage(thres_steps=...) of integers: Fluid 1.8.5 divides them as integers, so the "
                f"rate is always {self._decay}; cast thres_steps to float32 for a rate that grows",
                stacklevel=3,
            )
        elif self._thres_steps is not None:
            steps = self._thres_steps
            ratio = (steps + 1.0) / (steps + 10.0)
            # min(decay, ratio) = decay - relu(decay - ratio), without a variable to hold the constant
            excess = helper.create_variable_for_type_inference("float32")
            helper.append_op(type="relu", inputs={"X": [self._decay - ratio]}, outputs={"Out": [excess]})
            helper.append_op(type="assign", inputs={"X": [self._decay - excess]}, outputs={"Out": [variable]})
        return variable

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
        counter = block.create_var(name=self._step_counter, shape=[1], dtype="int64", persistable=True)
        steps = _cast(counter, VarType.FP32)
        missing = 1.0 - block._clone_variable(self._decay_var) ** steps  # the remaining weight of the initial zeros
        helper = LayerHelper("ema_apply")
        tiny = helper.create_variable_for_type_inference("float32")
        helper.append_op(
            type="fill_constant", outputs={"Out": [tiny]}, attrs={"shape": [1], "value": 1e-30, "dtype": VarType.FP32}
        )
        safe = helper.create_variable_for_type_inference("float32")
        helper.append_op(
            type="elementwise_max", inputs={"X": [missing], "Y": [tiny]}, outputs={"Out": [safe]}, attrs={"axis": -1}
        )
        for param, copy in kept:
            held, aside = block._clone_variable(param), block._clone_variable(copy)
            average = block._clone_variable(self._averages[param.name])
            block.append_op(type="assign", inputs={"X": [held]}, outputs={"Out": [aside]})
            inputs = {"X": [average], "Y": [safe]}
            block.append_op(type="elementwise_div", inputs=inputs, outputs={"Out": [held]}, attrs={"axis": -1})
            if not self._keep_average:
                block.append_op(type="assign", inputs={"X": [held]}, outputs={"Out": [average]})

    @contextlib.contextmanager
    def apply(self, executor: Any, need_restore: bool = True) -> Iterator[None]:
        """Use the averages inside the block; `need_restore=False` keeps them until `restore`."""
        if self._applied and not self._keep_average:
            warnings.warn(
                "ExponentialMovingAverage.apply for a second time: Fluid 1.8.5 corrects the average in place, so it is "
                "now corrected twice, and so it is here, for the same numbers; "
                "ExponentialMovingAverage(..., keep_average=True) leaves it as it is",
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
    """Declare where a parameter is kept while its average stands in for it."""
    return program.global_block().create_var(
        name=unique_name.generate(name), shape=param.shape, dtype=param.dtype, persistable=False, stop_gradient=True
    )


def _summed(variables: Sequence[Variable]) -> Variable:
    helper = LayerHelper("sum")
    out = helper.create_variable_for_type_inference(variables[0].dtype)
    helper.append_op(type="sum", inputs={"X": list(variables)}, outputs={"Out": [out]})
    return out


def _cast(x: Variable, dtype: VarType) -> Variable:
    helper = LayerHelper("cast")
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="cast", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"in_dtype": x.dtype, "out_dtype": dtype}
    )
    return out
