"""Data parallel on two GPUs gives the numbers of two CPU places; each GPU has a copy ring, and only streams wait."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.executor.devices import backend_for
from fluidio.executor.devices.cupy_backend import CupyBackend
from fluidio.executor.devices.slot import RingSlot
from fluidio.recordio import Writer
from fluidio.testing import fresh
from tests.gpu.schedules import SCHEDULES, slow_down

pytestmark = pytest.mark.gpu
layers = fluid.layers

BATCHES, EPOCHS = 8, 2
READERS = ["reader", "file", "iterable"]


@pytest.fixture(autouse=True)
def _two_gpus(cupy: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("cudasim: a second GPU is missing")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    name = str(tmp_path_factory.mktemp("parallel") / "a.recordio")
    with Writer(name) as writer:
        for a, b in _batches():
            writer.write_block([a, b])
    return name


def _batches() -> Iterator[Any]:
    random = np.random.RandomState(4)
    for _ in range(BATCHES):
        yield random.rand(6, 5).astype("float32"), random.randint(0, 3, (6, 1)).astype("int64")


def _par(name: str, shape: list[int]) -> Any:
    values = np.sin(np.arange(np.prod(shape), dtype="float64")).reshape(shape).astype("float32")
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(values))


def _train(
    gpu: bool,
    feeding: str,
    path: str,
    fetch: bool = True,
    before: Callable[[], Any] = lambda: None,
    after: Callable[[], Any] = lambda: None,
) -> tuple[list[Any], Any]:
    """Train on two places and return the losses and a weight; `before` and `after` are called around the steps."""
    with fresh() as (main, startup):
        x, y = fluid.data("x", [None, 5]), fluid.data("y", [None, 1], "int64")
        loader: Any = None
        if feeding == "file":
            loader = layers.io.open_recordio_file(path, [(-1, 5), (-1, 1)], [0, 0], ["float32", "int64"])
            x, y = layers.read_file(layers.double_buffer(layers.batch(loader, 6)))
        elif feeding != "dict":
            loader = fluid.io.DataLoader.from_generator([x, y], 4, iterable=feeding == "iterable")
        hidden = layers.fc(x, size=4, act="tanh", param_attr=_par("w1", [5, 4]), bias_attr=False)
        logits = layers.fc(hidden, size=3, param_attr=_par("w2", [4, 3]), bias_attr=False)
        loss = layers.mean(layers.softmax_with_cross_entropy(logits, y))
        fluid.optimizer.Momentum(layers.exponential_decay(0.2, 3, 0.9), 0.9).minimize(loss)
        places = [fluid.CUDAPlace(0), fluid.CUDAPlace(1)] if gpu else fluid.cpu_places(2)
        exe = fluid.Executor(places[0])
        exe.run(startup)
        program = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=places)
        found: list[Any] = []
        wanted = [loss] if fetch else []
        before()
        if feeding == "dict":
            for a, b in _batches():
                found += exe.run(program, feed={"x": a, "y": b}, fetch_list=wanted)
        elif feeding == "iterable":
            loader.set_batch_generator(_batches, places=places)
            for _ in range(EPOCHS):
                for data in loader():
                    found += exe.run(program, feed=data, fetch_list=wanted)
        else:
            if feeding == "reader":
                loader.set_batch_generator(_batches)
            for _ in range(EPOCHS):
                for out in exe.epoch(program, fetch_list=wanted, reader=loader):
                    found += out
        after()
        held: Any = fluid.global_scope().find_var("w1")
        return [np.array(value) for value in found], np.array(held.get_tensor())


def _same(found: tuple[list[Any], Any], wanted: tuple[list[Any], Any]) -> None:
    assert len(found[0]) == len(wanted[0])
    for a, b in zip(found[0], wanted[0]):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5)


@pytest.mark.parametrize("feeding", ["dict", *READERS])
def test_two_gpus_train_like_two_cpu_places(feeding: str, path: str) -> None:
    wanted = _train(False, feeding, path)
    assert wanted[0]
    _same(_train(True, feeding, path), wanted)


@pytest.mark.parametrize("own_streams", [False, True])
@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize("feeding", ["dict", *READERS])
def test_no_schedule_shows_a_race_or_changes_the_numbers(
    sim: Any, cupy: Any, feeding: str, how: str, own_streams: bool, path: str
) -> None:
    wanted = _train(False, feeding, path)
    _train(True, feeding, path)
    slow_down(sim, how)
    with _streams(cupy, own_streams):
        _same(_train(True, feeding, path), wanted)


class _streams:
    """Have the calling thread use non-blocking streams of its own; the threads of a program use the default ones."""

    def __init__(self, cupy: Any, own: bool) -> None:
        self._cupy = cupy
        self._streams = []
        for device in range(2 if own else 0):
            with cupy.cuda.Device(device):
                self._streams.append(cupy.cuda.Stream(non_blocking=True))

    def __enter__(self) -> None:
        for stream in self._streams:
            with self._cupy.cuda.Device(stream.device_id):
                stream.use()

    def __exit__(self, *error: object) -> None:
        for device in range(len(self._streams)):
            with self._cupy.cuda.Device(device):
                self._cupy.cuda.Stream.null.use()


@pytest.mark.parametrize("feeding", READERS)
def test_each_batch_is_one_transfer_to_its_gpu_and_nobody_waits_between_fetches(
    sim: Any, feeding: str, path: str
) -> None:
    _train(True, feeding, path)
    gc.collect()  # a ring waits for its stream when it goes
    seen: list[Any] = []
    _train(True, feeding, path, before=sim.reset, after=lambda: seen.extend((sim.timeline(), sim.counters())))
    spans, counted = seen
    mine, steps = threading.get_ident(), EPOCHS * BATCHES // 2
    for device in (0, 1):
        uploads = [s for s in spans if s.kind == "h2d" and s.device == device]
        assert len(uploads) == steps
    assert counted["pageable_async"] == 0
    waits = [s.name for s in spans if s.kind == "sync" and s.thread == mine]
    assert waits == ["eventSynchronize"] * 2 * steps  # a fetch, on each GPU


def test_steps_without_fetch_do_not_wait_at_all(sim: Any, path: str) -> None:
    _train(True, "iterable", path)
    gc.collect()
    spans: list[Any] = []
    _train(True, "iterable", path, fetch=False, before=sim.reset, after=lambda: spans.extend(sim.timeline()))
    assert [s.name for s in spans if s.kind == "sync" and s.thread == threading.get_ident()] == []


class _Unrecorded:
    """An event that was never recorded: waiting for it is no wait."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def __call__(self, *_: object) -> Any:
        return self._cupy.cuda.Event(disable_timing=True)


def _ring_bug(cupy: Any, monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    """Let slots wait for events that nobody records."""
    make = RingSlot.__init__

    def broken(self: Any, module: Any) -> None:
        make(self, module)
        self.__dict__[event] = _Deaf(module, getattr(self, event))

    monkeypatch.setattr(RingSlot, "__init__", broken)


class _Deaf:
    """An event that is recorded, while streams wait for another one."""

    def __init__(self, cupy: Any, real: Any) -> None:
        self._real = real
        self._never = cupy.cuda.Event(disable_timing=True)
        self.ptr = self._never.ptr

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("feeding", READERS)
@pytest.mark.parametrize("how", ["eager", "jitter", "lazy"])
@pytest.mark.parametrize("event", ["copied", "released"])
def test_missing_wait_of_the_rings_is_reported(
    sim: Any, cupy: Any, monkeypatch: pytest.MonkeyPatch, feeding: str, how: str, event: str, path: str
) -> None:
    _train(True, feeding, path)
    _ring_bug(cupy, monkeypatch, event)
    slow_down(sim, how)
    with _streams(cupy, True):
        _train(True, feeding, path, fetch=False)
    _reported(sim, monkeypatch)


@pytest.mark.parametrize("how", ["eager", "jitter", "lazy"])
@pytest.mark.parametrize("bug", ["threads", "peers"])
def test_missing_wait_between_threads_or_gpus_is_reported(
    sim: Any, cupy: Any, monkeypatch: pytest.MonkeyPatch, how: str, bug: str, path: str
) -> None:
    _train(True, "iterable", path)
    if bug == "threads":
        monkeypatch.setattr(CupyBackend, "wait_for", lambda self, mark: None)
    else:
        monkeypatch.setattr("fluidio.executor.devices.cupy_backend._mark", _Unrecorded(cupy))
    slow_down(sim, how)
    with _streams(cupy, True):
        _train(True, "iterable", path, fetch=False)
    _reported(sim, monkeypatch)


def _reported(sim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.drain()
    monkeypatch.undo()
    for device in (0, 1):  # labels that came too late were noted as wrong ones
        with contextlib.suppress(fluid.core.EnforceNotMet):
            backend_for(fluid.CUDAPlace(device)).fetch([])
    found = sim.violations()
    sim.reset()
    assert any(text.startswith("race") for text in found), found


def test_steps_of_other_programs_between_are_seen_by_every_gpu(cupy: Any) -> None:
    def learn(places: Any) -> list[Any]:
        with fresh() as (main, startup):
            x = fluid.data("x", [None, 4])
            loss = layers.mean(layers.square(layers.fc(x, 1, param_attr=_par("w", [4, 1]), bias_attr=False)))
            fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
            exe = fluid.Executor(places[0])
            exe.run(startup)
            both, other = (
                fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=places) for _ in range(2)
            )
            feed = {"x": np.arange(16, dtype="float32").reshape(4, 4) / 16}
            found = []
            for program in (both, main, both, other, both, other):  # some update the weight in place without `both`
                found.append(np.mean(exe.run(program, feed=feed, fetch_list=[loss])[0]))
            velocity = next(v.name for v in main.list_vars() if "velocity" in v.name)
            found.append(exe.run(both, feed=feed, fetch_list=[velocity])[0])
            return found

    for a, b in zip(learn([fluid.CUDAPlace(0), fluid.CUDAPlace(1)]), learn(fluid.cpu_places(2))):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_failing_place_leaves_no_race(sim: Any, cupy: Any) -> None:
    x, y = fluid.data("x", [None, 5]), fluid.data("y", [None, 1], "int64")
    loss = layers.mean(layers.softmax_with_cross_entropy(layers.fc(x, 3), y))
    places = [fluid.CUDAPlace(0), fluid.CUDAPlace(1)]
    exe = fluid.Executor(places[0])
    exe.run(fluid.default_startup_program())
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(places=places)
    loader = fluid.io.DataLoader.from_generator([x, y], 4)
    loader.set_batch_generator(_batches, places=places)
    for number, data in enumerate(loader()):
        if number == 2:
            slow_down(sim, "slow kernels")
            sim.fail("launch", after=1, error=700)  # not of a reduction: CuPy 13 prints that error and goes on
            with pytest.raises(fluid.core.EnforceNotMet, match=r"op \w+ failed"):
                exe.run(program, feed=data, fetch_list=[loss])
        else:
            exe.run(program, feed=data, fetch_list=[loss])


def test_a_thousand_epochs_cut_short_leave_nothing(sim: Any, cupy: Any) -> None:
    x = fluid.data("x", [None, 4])
    places = [fluid.CUDAPlace(0), fluid.CUDAPlace(1)]
    loader = fluid.io.DataLoader.from_generator([x], 4)
    loader.set_batch_generator(lambda: ([np.full((2, 4), n, "float32")] for n in range(40)), places=places)
    threads = threading.active_count()
    assert sum(1 for _ in loader()) == 20  # until every slot has been used
    before = sim.counters()
    for number in range(1000):
        for step, pair in enumerate(loader()):
            if number % 100 == 0:
                assert [float(item["x"].array[0, 0]) for item in pair] == [2 * step, 2 * step + 1]
            del pair
            if step >= number % 4:
                break
    assert sum(1 for _ in loader()) == 20
    after = sim.counters()
    kept = ("device_bytes", "pinned_bytes", "streams", "stream_create", "malloc", "host_alloc")
    assert {k: after[k] - before[k] for k in kept} == dict.fromkeys(kept, 0)
    assert threading.active_count() == threads
