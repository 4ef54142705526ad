"""Trainers agree on each exchange, and go on without those who leave."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.distributed import Group, Intent
from fluidio.distributed.communicator import Alone, Member
from fluidio.errors import DistributedError
from tests.distributed.threads import Threads, together


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.booleans())
def test_trainers_with_uneven_steps_go_on_with_the_mean_over_those_left(steps: list[int], ahead: bool) -> None:
    def train(trainer: Threads) -> list[float]:
        group, seen = Group(trainer), []
        for step in range(steps[trainer.rank]):
            if ahead:
                group.announce(Intent.STEP)
            there = group.meet(Intent.STEP)
            total = np.array([float(trainer.members[trainer.rank].trainer + 10 * step)])
            there.all_reduce(total).wait()
            seen.append(float(total[0]) / len(there.members))
        group.leave()
        return seen

    for number, seen in enumerate(together(len(steps), train)):
        for step, mean in enumerate(seen):
            there = [t for t, count in enumerate(steps) if count > step]
            assert number in there
            assert mean == pytest.approx(np.mean([t + 10 * step for t in there]))


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=4))
def test_trainers_without_data_sit_out_and_come_back(data: list[list[bool]]) -> None:
    having = [[t for t, has in enumerate(data) if has[step]] for step in range(4)]

    def train(trainer: Threads) -> list[float]:
        group, seen = Group(trainer), []
        for step in range(4):
            if not data[trainer.rank][step]:
                group.sit_out()
                continue
            assert group.meet(Intent.STEP) is group.communicator
            total = np.array([float(trainer.rank)])
            group.communicator.all_reduce(total).wait()
            seen.append(float(total[0]) / len(group.communicator.members))
        group.leave()
        return seen

    for number, seen in enumerate(together(len(data), train)):
        assert seen == pytest.approx([np.mean(there) for there in having if number in there])


def test_a_trainer_that_does_something_else_is_an_error_on_all() -> None:
    def work(trainer: Threads) -> str:
        with pytest.raises(DistributedError) as caught:
            Group(trainer).meet(Intent.BROADCAST if trainer.rank == 2 else Intent.STEP, 7)
        return str(caught.value)

    for text in together(3, work):
        assert "trainer 0 on host-0 (pid 1000) exchanges the gradients" in text
        assert "trainer 2 on host-2 (pid 1002) takes the first parameters" in text


def test_a_trainer_whose_announced_step_failed_cannot_leave_in_peace() -> None:
    def work(trainer: Threads) -> None:
        group = Group(trainer)
        group.announce(Intent.STEP)
        if trainer.rank == 0:
            with pytest.raises(DistributedError, match="training step failed"):
                group.leave()
            return
        with pytest.raises(threading.BrokenBarrierError):
            group.meet(Intent.STEP).all_reduce(np.zeros(1)).wait()

    together(2, work)


def test_trainers_with_different_programs_are_told_so() -> None:
    def work(trainer: Threads) -> None:
        with pytest.raises(DistributedError, match="run different programs"):
            Group(trainer).meet(Intent.STEP, trainer.rank)

    together(2, work)


def test_who_has_left_cannot_come_back() -> None:
    group = Group(Alone(Member(0, "here", 1)))
    group.leave()
    group.leave()
    with pytest.raises(DistributedError, match="has left the others"):
        group.meet(Intent.STEP)


def test_a_trainer_that_fails_does_not_leave_in_peace() -> None:
    done = threading.Event()

    def work(trainer: Threads) -> bool:
        group = Group(trainer)
        if trainer.rank == 1:
            group.fail("ValueError: no such file")
            group.leave()
            done.set()
            return trainer.closed
        assert done.wait(20)
        with pytest.raises(threading.BrokenBarrierError):
            group.meet(Intent.STEP)
        return trainer.closed

    assert together(2, work) == [False, False]
