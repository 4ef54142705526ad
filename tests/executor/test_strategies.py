"""BuildStrategy, ExecutionStrategy and what a CompiledProgram refuses, as 1.8.5 does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.era import use_era
from fluidio.errors import EnforceNotMet


@pytest.mark.parametrize(
    ("field", "given", "kept"),
    [
        ("enable_inplace", None, False),
        ("fuse_bn_act_ops", 2, True),
        ("num_trainers", True, 1),
        ("memory_optimize", None, None),
        ("trainers_endpoints", "a", ["a"]),
        ("reduce_strategy", fluid.BuildStrategy.ReduceStrategy.Reduce, fluid.BuildStrategy.ReduceStrategy.Reduce),
    ],
)
def test_fields_convert_what_fluid_converted(field: str, given: Any, kept: Any) -> None:
    strategy = fluid.BuildStrategy()
    setattr(strategy, field, given)
    assert getattr(strategy, field) == kept


@pytest.mark.parametrize(
    ("field", "given", "error"),
    [
        ("enable_inplace", "a", TypeError),
        ("num_trainers", 1.5, TypeError),
        ("memory_optimize", 2, EnforceNotMet),
        ("debug_graphviz_path", True, TypeError),
        ("reduce_strategy", 1, TypeError),
        ("fuse_all_reduce_op", True, AttributeError),
    ],
)
def test_fields_refuse_what_fluid_refused(field: str, given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"fuse_all_reduce_ops\?" if error is AttributeError else field):
        setattr(fluid.BuildStrategy(), field, given)


def test_lists_of_two_strategies_are_apart() -> None:
    fluid.BuildStrategy().trainers_endpoints.append("a")
    assert fluid.BuildStrategy().trainers_endpoints == []
    assert (fluid.ExecutionStrategy().num_iteration_per_drop_scope, fluid.ExecutionStrategy().use_cuda) == (100, True)


def test_data_parallel_training_needs_the_name_of_the_loss() -> None:
    with use_era("1.8"):
        x = fluid.data("x", [None, 2])
        loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        fluid.optimizer.SGD(0.1).minimize(loss)
        with pytest.raises(AssertionError, match="needs loss_name"):
            fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel()


def test_a_program_for_inference_runs_as_it_is() -> None:
    x = fluid.layers.data("x", [2])
    out = fluid.layers.scale(x, 2.0)
    program = fluid.CompiledProgram(fluid.default_main_program())._with_inference_optimize(None)
    (found,) = fluid.Executor(fluid.CPUPlace()).run(program, feed={"x": np.ones((1, 2), np.float32)}, fetch_list=[out])
    assert np.asarray(found).tolist() == [[2.0, 2.0]]
    with pytest.raises(AssertionError, match="one of the two"):
        program.with_data_parallel()
