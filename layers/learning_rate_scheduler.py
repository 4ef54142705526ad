"""Learning rate schedules: ops in the program that compute the rate from a step counter."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidio.dtypes import VarType
from fluidio.layer_helper import LayerHelper
from fluidio.layers._control.branches import Switch
from fluidio.layers._create.tensors import cast, create_global_var, fill_constant
from fluidio.optimizer.counter import step_counter
from fluidio.optimizer.lars import append_LARS
from fluidio.program import Variable, default_main_program

__all__ = [
    "append_LARS",
    "autoincreased_step_counter",
    "cosine_decay",
    "exponential_decay",
    "inverse_time_decay",
    "linear_lr_warmup",
    "natural_exp_decay",
    "noam_decay",
    "piecewise_decay",
    "polynomial_decay",
]


def autoincreased_step_counter(counter_name: str | None = None, begin: int = 1, step: int = 1) -> Variable:
    """Return a variable that goes up by `step` with each run of the program, from `begin - 1`."""
    return step_counter(counter_name, begin, step)


def _decay_step_counter(begin: int = 0) -> Variable:
    """Return the counter that all schedules share, as float32."""
    return cast(step_counter("@LR_DECAY_COUNTER@", begin), "float32")


def _apply(op_type: str, x: Variable, y: Variable | None = None) -> Variable:
    helper = LayerHelper(op_type)
    out = helper.create_variable_for_type_inference(x.dtype)
    if y is None:
        helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]})
    else:
        helper.append_op(type=op_type, inputs={"X": [x], "Y": [y]}, outputs={"Out": [out]}, attrs={"axis": -1})
    return out


def _assign(x: Variable, out: Variable) -> None:
    LayerHelper("assign").append_op(type="assign", inputs={"X": [x]}, outputs={"Out": [out]})


def noam_decay(d_model: float | Variable, warmup_steps: float | Variable, learning_rate: float = 1.0) -> Variable:
    """learning_rate * d_model^-0.5 * min(t^-0.5, t * warmup_steps^-1.5), t counting from 1."""
    with default_main_program()._lr_schedule_guard():
        step = _decay_step_counter(1)
        falling = step**-0.5
        rising = (warmup_steps**-1.5) * step
        rate: Variable = learning_rate * (d_model**-0.5) * _apply("elementwise_min", falling, rising)
        return rate


def _periods(decay_steps: object, staircase: bool) -> Variable:
    periods = _decay_step_counter() / decay_steps
    return _apply("floor", periods) if staircase else periods


def exponential_decay(learning_rate: object, decay_steps: int, decay_rate: float, staircase: bool = False) -> Variable:
    """learning_rate * decay_rate^(t / decay_steps); with `staircase` the exponent is rounded down."""
    with default_main_program()._lr_schedule_guard():
        rate: Variable = learning_rate * (decay_rate ** _periods(decay_steps, staircase))
        return rate


def natural_exp_decay(learning_rate: object, decay_steps: int, decay_rate: float, staircase: bool = False) -> Variable:
    """learning_rate * exp(-decay_rate * t / decay_steps)."""
    with default_main_program()._lr_schedule_guard():
        rate: Variable = learning_rate * _apply("exp", -1 * decay_rate * _periods(decay_steps, staircase))
        return rate


def inverse_time_decay(learning_rate: object, decay_steps: int, decay_rate: float, staircase: bool = False) -> Variable:
    """learning_rate / (1 + decay_rate * t / decay_steps)."""
    with default_main_program()._lr_schedule_guard():
        rate: Variable = learning_rate / (1 + decay_rate * _periods(decay_steps, staircase))
        return rate


def polynomial_decay(
    learning_rate: float | Variable,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
) -> Variable:
    """Fall to end_learning_rate as (1 - t / decay_steps)^power does; `cycle` restarts with longer periods."""
    with default_main_program()._lr_schedule_guard():
        step = _decay_step_counter()
        if cycle:
            rounds = _apply("ceil", step / decay_steps)
            zero, one = fill_constant([1], "float32", 0.0), fill_constant([1], "float32", 1.0)
            with Switch() as switch, switch.case(step == zero):
                _assign(one, rounds)  # t = 0 is in the first cycle
            left = 1 - step / (decay_steps * rounds)
        else:
            last = fill_constant([1], "float32", float(decay_steps))
            left = 1 - _apply("elementwise_min", step, last) / decay_steps
        rate: Variable = (learning_rate - end_learning_rate) * (left**power) + end_learning_rate
        return rate


def piecewise_decay(boundaries: Sequence[int], values: Sequence[float]) -> Variable:
    """values[i] while t < boundaries[i], then the last value."""
    if len(values) - len(boundaries) != 1:
        raise ValueError(
            f"piecewise_decay: values must have one entry more than boundaries, got {len(values)} values and "
            f"{len(boundaries)} boundaries"
        )
    with default_main_program()._lr_schedule_guard():
        step = _decay_step_counter()
        rate = create_global_var([1], 0.0, "float32", persistable=True, name="learning_rate")
        with Switch() as switch:
            for boundary, value in zip(boundaries, values):
                limit = fill_constant([1], "float32", float(boundary), force_cpu=True)
                constant = fill_constant([1], "float32", float(value))
                with switch.case(step < limit):
                    _assign(constant, rate)
            last = fill_constant([1], "float32", float(values[-1]))
            with switch.default():
                _assign(last, rate)
        return rate


def cosine_decay(learning_rate: float | Variable, step_each_epoch: int, epochs: int) -> Variable:
    """learning_rate * 0.5 * (cos(epoch * pi / epochs) + 1), constant within an epoch."""
    with default_main_program()._lr_schedule_guard():
        epoch = _apply("floor", _decay_step_counter() / step_each_epoch)
        rate: Variable = learning_rate * 0.5 * (_apply("cos", epoch * math.pi / epochs) + 1)
        return rate


def linear_lr_warmup(learning_rate: float | Variable, warmup_steps: int, start_lr: float, end_lr: float) -> Variable:
    """Go from start_lr to end_lr in warmup_steps steps, then follow `learning_rate`, a number or another schedule."""
    dtype = learning_rate.dtype if isinstance(learning_rate, Variable) else VarType.FP32
    with default_main_program()._lr_schedule_guard():
        rate = create_global_var([1], 0.0, dtype, persistable=True, name="learning_rate_warmup")
        step = _decay_step_counter()
        with Switch() as switch:
            with switch.case(step < warmup_steps):
                _assign(start_lr + (end_lr - start_lr) * (step / float(warmup_steps)), rate)
            with switch.default():
                if not isinstance(learning_rate, Variable):
                    learning_rate = fill_constant([1], dtype, float(learning_rate))
                _assign(learning_rate, rate)
        return rate
