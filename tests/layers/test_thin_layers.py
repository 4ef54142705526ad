"""Layers for several trainers or devices, with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.layers import collective


def run(out: Any, x: Any) -> Any:
    return fluid.Executor(fluid.CPUPlace()).run(feed={"x": x}, fetch_list=[out])[0]


@pytest.mark.parametrize(
    "exchange",
    [
        lambda x: fluid.layers.collective._allreduce(x, reduce_type="max"),
        lambda x: collective._broadcast(x, root=0),
        lambda x: collective._c_allreduce(x),
        lambda x: collective._c_broadcast(x),
        lambda x: collective._c_allgather(x, nranks=1, use_calc_stream=True),
        lambda x: collective._c_reducescatter(x, 1),
        lambda x: collective._c_sync_comm_stream(collective._c_sync_calc_stream(x), 0),
    ],
)
def test_one_trainer_has_what_everybody_has(exchange: Any) -> None:
    x = fluid.layers.data("x", [3])
    value = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(run(exchange(x), value), value)


def test_gradients_pass_through_an_exchange() -> None:
    x = fluid.layers.data("x", [3])
    x.stop_gradient = False
    (grad,) = fluid.gradients([fluid.layers.reduce_sum(collective._allreduce(x * 2.0))], [x])
    np.testing.assert_array_equal(run(grad, np.ones((2, 3), "float32")), np.full((2, 3), 2.0))


def test_more_trainers_than_there_are_is_an_error() -> None:
    x = fluid.layers.data("x", [3])
    gathered = collective._c_allgather(x, nranks=2)
    with pytest.raises(fluid.core.EnforceNotMet, match="nranks is 2, but there are 1 trainers"):
        run(gathered, np.ones((2, 3), "float32"))
    with pytest.raises(TypeError, match="reduce_type"):
        collective._allreduce(x, reduce_type="mean")


def test_parallel_do_runs_its_body_once() -> None:
    x = fluid.layers.data("x", [3])
    with pytest.warns(UserWarning, match="whole batch"):
        parallel = fluid.layers.ParallelDo(fluid.layers.get_places())
    with parallel.do():
        inside = parallel.read_input(x)
        parallel.write_output(fluid.layers.reduce_sum(inside))
    assert float(run(parallel(), np.ones((2, 3), "float32"))) == 6.0
