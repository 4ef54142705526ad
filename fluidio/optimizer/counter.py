"""A counter in the program, incremented by each run."""

from __future__ import annotations

from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = ["step_counter"]


def step_counter(counter_name: str | None = None, begin: int = 1, step: int = 1) -> Variable:
    """Return the counter of that name, made if absent: int64 [1], `begin - 1 + step` in the first run.

    As in Fluid, the counting op comes first in the program, so a run that ends with EOF counts too.
    """
    helper = LayerHelper("global_step_counter")
    name = counter_name or "@STEP_COUNTER@"
    counter, is_new = helper.create_or_get_global_variable(
        name=name, dtype="int64", shape=[1], persistable=True, belong_to_optimizer=True
    )
    if is_new:
        helper.set_variable_initializer(counter, Constant(value=begin - 1, force_cpu=True))
        helper.main_program.global_block()._prepend_op(
            type="increment", inputs={"X": [counter]}, outputs={"Out": [counter]}, attrs={"step": float(step)}
        )
        counter.stop_gradient = True
    found: Variable = counter
    return found
