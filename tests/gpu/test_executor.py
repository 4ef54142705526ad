"""Programs run on a GPU as on the CPU: same numbers, few launches, one wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import DeviceError
from fluidio.testing import fresh
from tests.gpu.programs import BATCH, CLASSES, FEATURES, batches, mlp, train

pytestmark = pytest.mark.gpu

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: fluid.optimizer.SGD(0.1),
    "momentum": lambda: fluid.optimizer.Momentum(0.1, 0.9),
    "nesterov": lambda: fluid.optimizer.Momentum(0.1, 0.9, use_nesterov=True),
    "adam": lambda: fluid.optimizer.Adam(0.01),
    "adagrad": lambda: fluid.optimizer.Adagrad(0.05),
    "decayed adagrad": lambda: fluid.optimizer.DecayedAdagrad(0.05),
    "adadelta": lambda: fluid.optimizer.Adadelta(0.1),
    "adamax": lambda: fluid.optimizer.Adamax(0.01),
    "rmsprop": lambda: fluid.optimizer.RMSProp(0.01, momentum=0.5),
    "centred rmsprop": lambda: fluid.optimizer.RMSProp(0.01, centered=True),
    "ftrl": lambda: fluid.optimizer.Ftrl(0.05, l1=0.01, l2=0.01),
    "lamb": lambda: fluid.optimizer.LambOptimizer(0.01),
    "lars": lambda: fluid.optimizer.LarsMomentum(0.1, 0.9),
}
FUSED = sorted(OPTIMIZERS.keys() - {"lamb", "lars"})  # these two need norms of whole parameters first


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_equal_those_of_the_cpu(cupy: Any, name: str) -> None:
    make = OPTIMIZERS[name]
    np.testing.assert_allclose(train(fluid.CUDAPlace(0), make), train(fluid.CPUPlace(), make), rtol=1e-5)


def test_second_gpu_gives_the_same(cupy: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("cudasim: a second GPU is missing")
    make = OPTIMIZERS["adam"]
    np.testing.assert_allclose(train(fluid.CUDAPlace(1), make), train(fluid.CPUPlace(), make), rtol=1e-5)


def test_a_step_waits_once_allocates_nothing_and_launches_little(sim: Any) -> None:
    train(fluid.CUDAPlace(0), OPTIMIZERS["adam"], before_last=sim.reset)
    found = sim.counters()
    waits = [found[name] for name in ("event_sync", "stream_sync", "device_sync", "blocking_copy")]
    assert waits == [1, 0, 0, 0]  # the fetch
    assert found["launch"] + found["library_call"] <= 40
    assert found["malloc"] == found["host_alloc"] == 0
    assert found["pageable_async"] == 0


@pytest.mark.parametrize("name", FUSED)
def test_an_update_is_one_launch_for_each_parameter(sim: Any, name: str) -> None:
    train(fluid.CUDAPlace(0), OPTIMIZERS[name], before_last=sim.reset)
    updates = [s.name for s in sim.timeline() if s.kind == "kernel" and s.name.startswith("fluidio_")]
    kernel = "fluidio_" + {"nesterov": "momentum"}.get(name, name).replace(" ", "_")
    assert updates.count(kernel) == 6
    assert len([s for s in sim.timeline() if s.kind in ("kernel", "library")]) <= 40


def test_a_step_without_fetch_does_not_wait(sim: Any) -> None:
    with fresh() as (main, startup):
        mlp(fluid.optimizer.Adam(0.01))
        exe = fluid.Executor(fluid.CUDAPlace(0))
        exe.run(startup)
        for feed in batches(2):
            exe.run(main, feed=feed)
        sim.reset()
        for feed in batches(5):
            exe.run(main, feed=feed)
        found = sim.counters()
        assert [found[name] for name in ("event_sync", "stream_sync", "device_sync", "blocking_copy")] == [0, 0, 0, 0]


@pytest.mark.parametrize("how", ["slow copies", "slow kernels", "jitter", "lazy"])
def test_no_schedule_shows_a_race_or_changes_the_numbers(sim: Any, how: str) -> None:
    expected = train(fluid.CPUPlace(), OPTIMIZERS["adam"], steps=3)
    train(fluid.CUDAPlace(0), OPTIMIZERS["adam"], steps=1)
    if how == "lazy":
        sim.schedule("lazy")
    else:
        sim.delays(
            copy=500 * (how == "slow copies"), kernel=200 * (how == "slow kernels"), jitter=200 * (how == "jitter")
        )
    np.testing.assert_allclose(train(fluid.CUDAPlace(0), OPTIMIZERS["adam"], steps=3), expected, rtol=1e-5)


def test_label_out_of_range_is_reported_by_the_fetch(cupy: Any) -> None:
    with fresh() as (main, startup):
        loss = mlp(fluid.optimizer.SGD(0.1))
        exe = fluid.Executor(fluid.CUDAPlace(0))
        exe.run(startup)
        feed = {"image": np.zeros((BATCH, FEATURES), "float32"), "label": np.full((BATCH, 1), 12, "int64")}
        with pytest.raises(
            fluid.core.EnforceNotMet, match=f"label 12 is out of range: the input has {CLASSES} classes.*cross_entropy"
        ):
            exe.run(main, feed=feed, fetch_list=[loss])
        feed["label"][:] = 3
        assert np.isfinite(exe.run(main, feed=feed, fetch_list=[loss])[0])  # reported once


def test_id_out_of_range_of_an_embedding_is_reported_by_the_fetch(cupy: Any) -> None:
    with fresh() as (main, startup):
        rows = fluid.layers.embedding(fluid.layers.data("ids", [1], dtype="int64"), [10, 4])
        exe = fluid.Executor(fluid.CUDAPlace(0))
        exe.run(startup)
        with pytest.raises(fluid.core.EnforceNotMet, match="id 10 is out of range: the input has 10 rows"):
            exe.run(main, feed={"ids": np.array([[1], [10]])}, fetch_list=[rows])


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("padding", [None, 0])
@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adagrad", "ftrl"])
def test_embeddings_learn_as_on_the_cpu(cupy: Any, name: str, padding: int | None, is_sparse: bool) -> None:
    def learn(place: Any) -> Any:
        with fresh() as (main, startup):
            main.random_seed = startup.random_seed = 3
            ids = fluid.layers.data("ids", [1], dtype="int64")
            rows = fluid.layers.embedding(ids, [10, 4], is_sparse=is_sparse, padding_idx=padding)
            loss = fluid.layers.mean(fluid.layers.fc(rows, 1))
            OPTIMIZERS[name]().minimize(loss)
            exe = fluid.Executor(place)
            exe.run(startup)
            for shift in range(4):
                feed = {"ids": (np.array([[0], [3], [3], [7], [9], [3]]) + shift) % 10}
                exe.run(main, feed=feed, fetch_list=[loss])
            found = fluid.global_scope().find_var("embedding_0.w_0")
            assert found is not None
            return np.array(found.get_tensor())

    np.testing.assert_allclose(learn(fluid.CUDAPlace(0)), learn(fluid.CPUPlace()), rtol=1e-4, atol=1e-7)


def test_an_lstm_trains_all_its_gates_on_a_gpu_whatever_its_size(cupy: Any) -> None:
    def gradient(place: Any, **options: Any) -> Any:
        with fresh() as (main, startup):
            main.random_seed = startup.random_seed = 3
            x = fluid.layers.data("x", [32], lod_level=1)
            x.stop_gradient = False
            states, _ = fluid.layers.dynamic_lstm(x, 32, **options)
            (dx,) = fluid.gradients([fluid.layers.reduce_sum(states)], [x])
            exe = fluid.Executor(place)
            exe.run(startup)
            rows = np.random.default_rng(0).normal(size=(3, 32)).astype("float32")
            feed = {"x": fluid.create_lod_tensor(rows, [[3]], fluid.CPUPlace())}
            return np.array(exe.run(main, feed=feed, fetch_list=[dx], return_numpy=False)[0]).reshape(3, 4, 8)

    found = gradient(fluid.CUDAPlace(0))
    assert found[1:].all()  # the forget gate of the first step has nothing to forget
    np.testing.assert_allclose(found, gradient(fluid.CPUPlace(), all_gates=True), rtol=1e-4, atol=1e-7)


def test_feed_may_be_changed_as_soon_as_run_returns(sim: Any) -> None:
    import cupy

    with fresh() as (main, _):
        mean = fluid.layers.mean(fluid.layers.data("image", [4]))
        exe = fluid.Executor(fluid.CUDAPlace(0))
        exe.run(main, feed={"image": np.ones((2, 4), "float32")}, fetch_list=[mean])
        sim.schedule("lazy")
        pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(32), "float32", 8).reshape(2, 4)
        for array in (np.ones((2, 4), "float32"), pinned):
            exe.run(main, feed={"image": array})
            array[:] = 5  # a copy still to come out of this memory would be reported when the test ends


def test_parameters_move_between_places_with_the_scope(cupy: Any) -> None:
    expected = train(fluid.CPUPlace(), OPTIMIZERS["sgd"], steps=4)
    with fresh() as (main, startup):
        main.random_seed = startup.random_seed = 7
        loss = mlp(fluid.optimizer.SGD(0.1))
        executors = [fluid.Executor(fluid.CPUPlace()), fluid.Executor(fluid.CUDAPlace(0))]
        executors[0].run(startup)
        losses = [
            float(executors[number % 2].run(main, feed=feed, fetch_list=[loss])[0])
            for number, feed in enumerate(batches(4))
        ]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def _scope_tensor(name: str) -> Any:
    found = fluid.global_scope().find_var(name)
    assert found is not None
    return found.get_tensor()


def test_parameter_in_the_scope_goes_to_other_libraries(cupy: Any) -> None:
    with fresh() as (_, startup):
        mlp(fluid.optimizer.SGD(0.1))
        exe = fluid.Executor(fluid.CUDAPlace(0))
        exe.run(startup)
        tensor = _scope_tensor("fc_0.w_0")
        shared = cupy.from_dlpack(tensor)
        assert shared.data.ptr == tensor.array.data.ptr == tensor.__cuda_array_interface__["data"][0]
        assert cupy.asarray(tensor).shape == (FEATURES, 16)
        np.testing.assert_array_equal(np.array(tensor), shared.get())


@pytest.mark.parametrize("how", ["dlpack", "dlpack that does not wait", "array interface"])
@pytest.mark.parametrize("own_stream", [False, True])
def test_a_parameter_leaves_with_the_stream_that_writes_it(sim: Any, cupy: Any, how: str, own_stream: bool) -> None:
    computing = cupy.cuda.Stream(non_blocking=True) if own_stream else cupy.cuda.Stream.null
    elsewhere = cupy.cuda.Stream(non_blocking=True)  # the stream of another library
    with fresh() as (main, startup), computing:
        mlp(fluid.optimizer.SGD(0.1))
        exe = fluid.Executor(fluid.CUDAPlace(0))
        exe.run(startup)
        sim.schedule("lazy")
        for feed in batches(2):
            exe.run(main, feed=feed)  # without a fetch: nobody has waited for the update
        tensor = _scope_tensor("fc_0.w_0")
        if how == "array interface":
            exported = tensor.__cuda_array_interface__
            assert exported["stream"] == (computing.ptr or 1)  # 1 is the default stream in that protocol
            done = cupy.cuda.Event(disable_timing=True)
            elsewhere.wait_event(computing.record(done))  # as the protocol wants it of an importer
        else:
            tensor.__dlpack__(stream=elsewhere.ptr if how == "dlpack" else -1)
        with elsewhere:
            used = tensor.array * 2
        sim.drain()
        found = sim.violations()
        if how == "dlpack that does not wait":
            assert any(text.startswith("race") for text in found), "this would be a race"
            sim.reset()
        else:
            assert found == []
        del used


def test_tensor_of_a_pinned_place_lies_in_pinned_memory(cupy: Any) -> None:
    tensor = fluid.LoDTensor()
    tensor.set(np.arange(6, dtype="float32").reshape(2, 3), fluid.CUDAPinnedPlace())
    kind = cupy.cuda.runtime.pointerGetAttributes(np.asarray(tensor).ctypes.data).type
    assert kind == cupy.cuda.runtime.memoryTypeHost
    assert np.asarray(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    with fresh() as (main, _):
        mean = fluid.layers.mean(fluid.layers.data("x", [3]))
        found = fluid.Executor(fluid.CUDAPlace(0)).run(main, feed={"x": tensor}, fetch_list=[mean])
        assert float(found[0]) == 2.5


def test_questions_about_the_machine_are_answered_truthfully(cupy: Any) -> None:
    count = cupy.cuda.runtime.getDeviceCount()
    assert fluid.is_compiled_with_cuda()
    assert fluid.core.get_cuda_device_count() == count
    assert fluid.cuda_places() == [fluid.CUDAPlace(n) for n in range(count)]
    assert fluid.cuda_pinned_places(2) == [fluid.CUDAPinnedPlace()] * 2


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adamax"])
def test_two_gpus_learn_like_two_cpu_places(cupy: Any, name: str) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("cudasim: a second GPU is missing")

    def learn(places: Any) -> list[float]:
        with fresh() as (main, startup):
            main.random_seed = startup.random_seed = 7
            loss = mlp(OPTIMIZERS[name]())
            exe = fluid.Executor(places[0])
            exe.run(startup)
            both = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=places)
            return [float(np.mean(exe.run(both, feed=feed, fetch_list=[loss])[0])) for feed in batches(6)]

    np.testing.assert_allclose(learn(fluid.cuda_places([0, 1])), learn(fluid.cpu_places(2)), rtol=1e-5)


def test_device_that_does_not_exist(cupy: Any) -> None:
    with pytest.raises(DeviceError, match=r"CUDAPlace\(7\)"):
        fluid.Executor(fluid.CUDAPlace(7))
