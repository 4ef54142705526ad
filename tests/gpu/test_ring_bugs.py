"""Take one wait out of the ring: the simulator sees each of them missing, whatever the timing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu.readers import batch, buffered

pytestmark = pytest.mark.gpu

NO_COPIED = "the kernel does not wait for the copy"
NO_RELEASED = "the copy does not wait for the kernel"
NO_SYNC = "pinned memory is filled again at once"
NO_GUARD = "nobody looks whether a batch was kept"


class _Event:
    """An event with one of its attributes replaced."""

    def __init__(self, real: Any, **replaced: Any) -> None:
        self._real = real
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _break(cupy: Any, slot: Any, bug: str | None) -> None:
    never = cupy.cuda.Event(disable_timing=True)  # waiting for an event that was never recorded is no wait
    if bug == NO_COPIED:
        slot.copied = _Event(slot.copied, ptr=never.ptr, kept=never)
    elif bug == NO_RELEASED:
        slot.released = _Event(slot.released, ptr=never.ptr, kept=never)
    elif bug == NO_SYNC:
        slot.copied = _Event(slot.copied, synchronize=lambda: None)
    elif bug == NO_GUARD:
        slot.is_kept = lambda: False


def _run(cupy: Any, bug: str | None, keep: bool = False) -> list[Any]:
    """Pull ten batches through a ring with a bug and compute on each; return views of some."""
    copies = buffered(lambda: iter([batch(n) for n in range(10)]))
    stage: Any = copies._stage
    for slot in stage._slots:
        _break(cupy, slot, bug)
    kept = []
    with cupy.cuda.Stream(non_blocking=True):
        try:
            while (tensors := copies.read_next()) is not None:
                _ = tensors[0][0] * 2
                if keep:
                    kept.append(tensors[0][0][:1])
        finally:
            copies.shutdown()
        return [view.get() for view in kept]


@pytest.fixture(params=["eager", "slow copies", "slow kernels", "jitter", "lazy"])
def schedule(sim: Any, cupy: Any, request: pytest.FixtureRequest) -> None:
    _run(cupy, None)  # compiles the kernel
    sim.reset()
    if request.param == "lazy":
        sim.schedule("lazy")
    else:
        sim.delays(
            copy=1000 * (request.param == "slow copies"),
            kernel=1000 * (request.param == "slow kernels"),
            jitter=1000 * (request.param == "jitter"),
            seed=3,
        )


def _reports(sim: Any) -> set[str]:
    sim.drain()
    kinds = {text.partition(":")[0] for text in sim.violations()}
    sim.reset()
    return kinds


@pytest.mark.parametrize("bug", [None, NO_COPIED, NO_RELEASED])
def test_missing_wait_of_a_stream_is_reported(sim: Any, cupy: Any, schedule: None, bug: str | None) -> None:
    _run(cupy, bug)
    assert _reports(sim) == ({"race"} if bug else set())


@pytest.mark.parametrize("bug", [None, NO_SYNC])
def test_missing_wait_of_the_worker_is_reported(sim: Any, cupy: Any, bug: str | None) -> None:
    sim.schedule("lazy")
    _run(cupy, bug)
    assert ("pinned-overwrite" in _reports(sim)) is (bug is not None)


@pytest.mark.parametrize("bug", [None, NO_GUARD])
def test_missing_look_at_kept_batches_changes_them(sim: Any, cupy: Any, bug: str | None) -> None:
    kept = _run(cupy, bug, keep=True)
    intact = all((view == number).all() for number, view in enumerate(kept))
    assert intact is (bug is None)
    _reports(sim)
