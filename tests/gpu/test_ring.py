"""The copy ring: order, overlap, kept batches, errors, resets."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fluidio.executor.devices import backend_for
from fluidio.executor.readers import Batch, DevicePrefetch, Source
from fluidio.executor.readers.base import Tensors
from fluidio.places import CUDAPlace
from fluidio.recordio import Column, RecordBlock
from fluidio.recordio.decode.spans import Part, part_of
from fluidio.tensor import LoDTensor
from tests.gpu.readers import COLUMNS, ROWS, batch, buffered

pytestmark = pytest.mark.gpu


@pytest.fixture
def ring(cupy: Any) -> Iterator[Callable[..., Any]]:
    """Make double buffers on a GPU that are shut down when the test ends."""
    made: list[Any] = []

    def make(batches: Any, device: int = 0, slots: int = 3) -> Any:
        def items() -> Iterator[Any]:
            source: Any = batches() if callable(batches) else batches
            return iter(source)

        made.append(buffered(items, device, slots))
        return made[-1]

    yield make
    for one in made:
        one.shutdown()


def _compute(tensors: Tensors) -> Any:
    """Use a batch on the current stream; the result shows which batch it was and that it was whole."""
    image, label = tensors[0][0], tensors[1][0]
    return (image * 2 + image).sum() + label[-1].sum()


def _expected(number: int) -> float:
    return 3.0 * number * ROWS * COLUMNS + ROWS - 1 + number


@pytest.mark.parametrize("how", ["eager", "slow copies", "slow kernels", "jitter", "lazy"])
def test_batches_arrive_whole_and_in_order(sim: Any, ring: Any, cupy: Any, how: str) -> None:
    _compute([(cupy.asarray(array), lod) for array, lod in batch(0)])
    sim.drain()
    if how == "lazy":
        sim.schedule("lazy")
    else:
        sim.delays(
            copy=1000 * (how == "slow copies"), kernel=500 * (how == "slow kernels"), jitter=800 * (how == "jitter")
        )
    with cupy.cuda.Stream(non_blocking=True):
        copies = ring([batch(n) for n in range(9)])
        results = []
        while (tensors := copies.read_next()) is not None:
            results.append(_compute(tensors))
        assert [float(r.get()) for r in results] == [_expected(n) for n in range(9)]


def test_one_transfer_for_each_batch_and_no_memory_after_the_first_ones(sim: Any, ring: Any) -> None:
    copies = ring([batch(n) for n in range(20)])
    for _ in range(4):
        copies.read_next()
    before = sim.counters()
    while copies.read_next() is not None:
        pass
    after = sim.counters()
    assert after["h2d"] == 20
    assert after["pageable_async"] == 0
    assert [after[k] - before[k] for k in ("malloc", "host_alloc", "device_bytes", "pinned_bytes")] == [0, 0, 0, 0]


def test_the_reader_never_waits_for_the_device(sim: Any, ring: Any) -> None:
    copies = ring([batch(n) for n in range(6)])
    while copies.read_next() is not None:
        pass
    mine = threading.get_ident()
    assert [s.name for s in sim.timeline() if s.kind == "sync" and s.thread == mine] == []


def test_copies_are_hidden_behind_kernels(sim: Any, ring: Any, cupy: Any) -> None:
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = cupy.zeros((ROWS, COLUMNS), "float32")
        x *= 2
        best = 0.0
        for _ in range(5):  # a busy machine can spoil a run; a wrong order spoils them all
            stream.synchronize()
            sim.reset()
            sim.delays(copy=5000, kernel=5000)
            copies = ring([batch(n) for n in range(16)])
            while (tensors := copies.read_next()) is not None:
                _ = tensors[0][0] * 2
            stream.synchronize()
            spans = sim.timeline()
            moved = [s for s in spans if s.kind == "h2d"]
            assert len(moved) == 16
            # The first copy has nothing to hide behind.
            best = max(best, sim.hidden(moved[1:], [s for s in spans if s.kind == "kernel"]))
            if best >= 0.8:
                break
    assert best >= 0.8, f"{best:.0%} of the copy time is hidden"


def test_kept_batches_are_never_overwritten(ring: Any) -> None:
    kept = []
    copies = ring([batch(n) for n in range(12)])
    for number in range(12):
        tensors = copies.read_next()
        if number % 3 == 0:
            kept.append((number, tensors[0][0][:2]))  # a view is enough
        del tensors
    assert copies.read_next() is None
    assert all((view.get() == number).all() for number, view in kept)


def test_batch_kept_one_step_longer_is_used_before_its_memory_is_written_again(sim: Any, cupy: Any) -> None:
    backend: Any = backend_for(CUDAPlace(0))
    ring = backend.copy_stage()
    with cupy.cuda.Stream(non_blocking=True):
        for number in range(8):
            kept = ring.take(ring.stage(batch(number)))
            following = ring.take(ring.stage(batch(-number)))  # the first one is given back, but still there
            result = _compute(kept)
            del kept
            for _ in range(3):
                ring.take(ring.stage(batch(99)))
            assert float(result.get()) == _expected(number)
            del following


def test_loop_over_batches_allocates_nothing_though_its_variable_keeps_one(sim: Any, ring: Any) -> None:
    copies = ring([batch(n) for n in range(60)], slots=4)
    before = sim.counters()
    for number, tensors in enumerate(iter(copies.read_next, None)):  # the variable keeps a batch while the next is read
        if number == 10:
            before = sim.counters()
        _compute(tensors)
    after = sim.counters()
    assert after["h2d"] == 60
    assert [after[k] - before[k] for k in ("malloc", "free", "host_alloc", "device_bytes", "pinned_bytes")] == [0] * 5


def test_batch_exported_by_dlpack_is_never_overwritten(ring: Any, cupy: Any) -> None:
    copies = ring([batch(n) for n in range(8)])
    kept = cupy.from_dlpack(copies.read_next()[0][0])
    while copies.read_next() is not None:
        pass
    assert (kept.get() == 0).all()


def test_batch_reader_joins_records_in_pinned_memory(sim: Any, ring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [
        RecordBlock([Column(np.full((3, 4), n, "float32"), None, num_records=3)], 3) for n in range(4)
    ]  # a batch of 4 records takes from two blocks

    class Records(Source):
        left = iter(blocks)

        def _part(self, most: int) -> Part | None:
            return next(map(part_of, self.left), None)

    copied: list[Any] = []
    copyto = np.copyto

    def counted(*args: Any, **options: Any) -> None:
        copied.append(args)
        copyto(*args, **options)

    monkeypatch.setattr(np, "copyto", counted)
    backend: Any = backend_for(CUDAPlace(0))
    copies = DevicePrefetch("double_buffer", Batch("batch", Records("records"), 6, True), backend.copy_stage())
    try:
        found = [tensors[0][0].get()[:, 0].tolist() for tensors in iter(copies.read_next, None)]
    finally:
        copies.shutdown()
    assert found == [[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]]
    assert copied == []


def test_batches_may_grow_shrink_and_be_empty(ring: Any) -> None:
    sizes = [1, 700, 3, 0, 64, 5000, 2]
    copies = ring([batch(n, rows) for n, rows in enumerate(sizes)])
    for number, rows in enumerate(sizes):
        (image, _), (label, _) = copies.read_next()
        assert image.shape == (rows, COLUMNS)
        assert label.dtype == np.int64
        assert (image.get() == number).all()


def test_lod_travels_with_its_batch(ring: Any) -> None:
    tensor = LoDTensor()
    tensor.set(np.arange(6, dtype="float32").reshape(6, 1))
    tensor.set_recursive_sequence_lengths([[2, 4]])
    ((moved, lod),) = ring([[(tensor.array, tensor.levels)]]).read_next()
    assert LoDTensor.wrap(moved, lod).recursive_sequence_lengths() == [[2, 4]]
    np.testing.assert_array_equal(moved.get(), np.array(tensor))


def test_end_stays_the_end_and_a_reset_begins_afresh(ring: Any) -> None:
    copies = ring([batch(1)])
    for _ in range(3):
        assert float(_compute(copies.read_next()).get()) == _expected(1)
        assert copies.read_next() is None
        assert copies.read_next() is None
        copies.reset()


def test_error_of_the_source_comes_after_the_batches_before_it(ring: Any) -> None:
    def batches() -> Iterator[Any]:
        yield batch(0)
        yield batch(1)
        raise OSError("the disk is gone")

    copies = ring(batches)
    assert float(_compute(copies.read_next()).get()) == _expected(0)
    assert float(_compute(copies.read_next()).get()) == _expected(1)
    with pytest.raises(OSError, match="the disk is gone"):
        copies.read_next()


def test_strings_cannot_go_to_a_gpu(ring: Any) -> None:
    copies = ring([[(np.array(["a"]), ())]])
    with pytest.raises(TypeError, match="field 0 of the batch has dtype <U1"):
        copies.read_next()


def test_failing_copy_is_an_error_not_a_hang(sim: Any, ring: Any, cupy: Any) -> None:
    sim.fail("h2d", after=2)
    copies = ring([batch(n) for n in range(9)])
    copies.read_next()
    copies.read_next()
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="LaunchFailure"):
        copies.read_next()


def test_full_device_is_an_error_not_a_hang(sim: Any, ring: Any, cupy: Any) -> None:
    cupy.get_default_memory_pool().free_all_blocks()
    sim.leave_memory(1024)
    copies = ring([batch(0)])
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="MemoryAllocation"):
        copies.read_next()


def test_memory_of_the_pool_is_given_back_before_the_ring_fails(sim: Any, ring: Any, cupy: Any) -> None:
    cupy.get_default_memory_pool().free_all_blocks()
    with cupy.cuda.Stream(non_blocking=True):  # whose part of the pool is empty
        cupy.empty(1 << 16, "uint8")  # freed, but kept by the pool
    sim.leave_memory(1024)
    assert ring([batch(0)]).read_next() is not None


def test_a_thousand_resets_in_mid_epoch_leave_nothing(sim: Any, ring: Any) -> None:
    copies = ring(lambda: (batch(n, rows=4) for n in itertools.count()))
    for _ in range(20):  # until every slot has been used
        copies.read_next()
    copies.reset()
    before, threads = sim.counters(), threading.active_count()
    for number in range(1000):
        for _ in range(number % 4):
            copies.read_next()
        copies.reset()
    after = sim.counters()
    assert [after[k] - before[k] for k in ("device_bytes", "pinned_bytes", "streams", "events")] == [0, 0, 0, 0]
    assert threading.active_count() == threads


def _forget_a_buffer() -> None:
    """Read from a buffer, let go of it, and see its thread end."""
    threads = set(threading.enumerate())
    forgotten = buffered(lambda: (batch(n) for n in itertools.count()))
    forgotten.read_next()
    (worker,) = set(threading.enumerate()) - threads
    del forgotten
    gc.collect()
    worker.join(10)
    assert not worker.is_alive()
    gc.collect()


def test_buffer_that_is_forgotten_ends_its_thread_and_frees_its_memory(sim: Any, cupy: Any) -> None:
    _forget_a_buffer()  # what the backend keeps from its first use on is not the buffer's
    before = sim.counters()
    _forget_a_buffer()
    after = sim.counters()
    assert [after[k] - before[k] for k in ("device_bytes", "streams", "events")] == [0, 0, 0]


def test_two_devices_at_once(ring: Any, cupy: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("cudasim: a second GPU is missing")
    rings = [ring([batch(n) for n in range(5)], device) for device in (0, 1)]
    for number in range(5):
        for device, copies in enumerate(rings):
            with cupy.cuda.Device(device):
                tensors = copies.read_next()
                assert tensors[0][0].device.id == device
                assert float(_compute(tensors).get()) == _expected(number)
