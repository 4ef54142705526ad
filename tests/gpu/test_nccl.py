"""Trainers with a GPU each sum gradients through NCCL while backward goes on; on the simulator, through a stand-in."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.distributed import Group, Membership, process
from fluidio.distributed.nccl import Nccl, nccl_of
from fluidio.executor.devices.cupy_backend import CupyBackend
from fluidio.ops.trainers import exchange
from tests.distributed.threads import Threads, together
from tests.gpu.schedules import SCHEDULES, slow_down

pytestmark = pytest.mark.gpu
SIZE = 5000


@pytest.fixture(autouse=True)
def _two_gpus(cupy: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("cudasim: a second GPU is missing")
    if nccl_of_one(cupy) is None:
        pytest.skip("cudasim: NCCL is missing")


def nccl_of_one(cupy: Any) -> Any:
    from fluidio.distributed.nccl import _module

    return _module(cupy)


def reduced(trainer: Threads, wait: bool = True) -> list[Any]:
    """Sum arrays over two GPUs, three under way at a time, while kernels run; return what kernels make of the sums."""
    dev = CupyBackend(trainer.rank)
    cupy = dev.xp
    found = []
    with cupy.cuda.Device(trainer.rank), cupy.cuda.Stream(non_blocking=True) as stream:
        nccl = nccl_of(trainer, dev)
        assert isinstance(nccl, Nccl)
        for step in range(3):
            arrays = [cupy.full(SIZE, step + part + trainer.rank, np.float32) * 2 for part in range(3)]
            under_way = []
            for array in arrays:
                array += 1
                under_way.append(nccl.all_reduce(array))
                _ = cupy.ones(SIZE) * 3  # backward goes on
            if wait:
                for work in under_way:
                    work.wait()
            found.append((arrays[0] + arrays[1] + arrays[2]).get(stream=stream))
            del arrays, under_way
        stream.synchronize()
    return found


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sums_are_those_of_all_trainers(schedule: str, sim: Any) -> None:
    slow_down(sim, schedule)
    for found in together(2, reduced):
        for step, array in enumerate(found):
            each = [2 * (step + part + rank) + 1 for part in range(3) for rank in (0, 1)]
            np.testing.assert_array_equal(array, np.full(SIZE, sum(each), np.float32))


def test_the_simulator_sees_a_sum_that_nobody_waited_for(sim: Any) -> None:
    together(2, lambda trainer: reduced(trainer, wait=False))
    sim.drain()
    assert any("race" in text and "ncclAllReduce" in text for text in sim.violations())
    sim.reset()


def test_sums_overlap_with_kernels(sim: Any) -> None:
    sim.delays(kernel=2000)
    together(2, reduced)
    sim.drain()
    spans = [span for span in sim.timeline() if span.device == 0]
    sums = [span for span in spans if span.name == "ncclAllReduce"]
    kernels = [span for span in spans if span.kind == "kernel"]
    assert len(sums) == 9
    assert any(one.start < other.end and other.start < one.end for one in sums for other in kernels)


# -- programs ---------------------------------------------------------------------------------------------------------


def program(seed: int) -> tuple[Any, Any, Any]:
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = seed
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x, y = fluid.layers.data("x", [6]), fluid.layers.data("y", [1])
        hidden = fluid.layers.fc(fluid.layers.fc(x, 16, act="tanh"), 16, act="relu")
        loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))
        fluid.optimizer.Adam(0.05).minimize(loss)
    return main, startup, loss


def train(place: Any, built: tuple[Any, Any, Any], share: slice) -> dict[str, Any]:
    main, startup, loss = built
    exe, scope, rng = fluid.Executor(place), fluid.Scope(), np.random.RandomState(1)
    exe.run(startup, scope=scope)
    for _ in range(4):
        feed = {"x": rng.rand(8, 6).astype("float32"), "y": rng.rand(8, 1).astype("float32")}
        exe.run(main, feed={name: value[share] for name, value in feed.items()}, fetch_list=[loss], scope=scope)
    held = {p.name: scope.find_var(p.name) for p in main.all_parameters()}
    return {name: np.array(variable.get_tensor()) for name, variable in held.items() if variable is not None}


@pytest.mark.parametrize("engine", ["nccl", "host"])
def test_two_trainers_with_a_gpu_each_train_as_one_process(
    engine: str, cupy: Any, sim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "host":
        monkeypatch.setenv("FLUIDIO_NCCL", "off")
    expected = train(fluid.CPUPlace(), program(3), slice(None))
    monkeypatch.setattr(process, "_membership", Membership(0, 2, ("127.0.0.1:1",)))
    builds = []
    for _ in range(2):
        built = program(3)
        fluid.DistributeTranspiler().transpile(0, built[0], trainers=2, startup_program=built[1])
        builds.append(built)
    local = threading.local()
    monkeypatch.setattr(exchange, "group", lambda: local.group)

    def work(trainer: Threads) -> dict[str, Any]:
        local.group = Group(trainer)
        share = slice(4 * trainer.rank, 4 * trainer.rank + 4)
        return train(fluid.CUDAPlace(trainer.rank), builds[trainer.rank], share)

    sim.reset()
    for found in together(2, work):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-6, err_msg=name)
    sums = [span for span in sim.timeline() if span.name == "ncclAllReduce"]
    assert (len(sums) == 8) == (engine == "nccl")
