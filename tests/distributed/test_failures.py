"""A trainer that ends leaves the others to go on; one that dies, hangs or fails is an error on them that names it."""

from __future__ import annotations

import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fluidio.distributed import meeting
from fluidio.errors import DistributedError
from tests.distributed.jobs import Ended, Job, endpoints, fluidio_run, mpiexec, needs_mpi, needs_torch, paddle_variables

pytestmark = pytest.mark.timeout(300)  # several processes, maybe on a busy machine


def run(tmp_path: Path, steps: str, *words: str, limit: str = "100") -> list[Ended]:
    """Run trainers started with Paddle's variables; the one that misbehaves is ended at last."""
    count = len(steps.split(","))
    names = endpoints(count)
    bad = int(words[0]) if words else -1
    with Job() as job:
        for trainer in range(count):
            env = {**paddle_variables(trainer, names), "FLUIDIO_TIMEOUT": limit}
            job.start(fluidio_run("uneven.py", tmp_path, steps, *words), env)
        others = [process for trainer, process in enumerate(job.processes) if trainer != bad]
        for process in others:
            process.wait(250)
        if bad >= 0 and job.processes[bad].poll() is None:
            job.processes[bad].send_signal(signal.SIGKILL)
        return job.wait()


def check_uneven(tmp_path: Path, steps: list[int]) -> None:
    seen = [np.load(tmp_path / f"trainer-{i}.npy") for i in range(len(steps))]
    longest = seen[int(np.argmax(steps))]
    for values, count in zip(seen, steps):
        assert len(values) == count + 1
        np.testing.assert_array_equal(values, longest[: count + 1])  # unseeded, and the same from the start
    assert len(np.unique(longest[:, 0, 0])) == len(longest)


@needs_torch
def test_trainers_with_fewer_steps_leave_and_the_others_go_on(tmp_path: Path) -> None:
    for ended in run(tmp_path, "2,6,4"):
        assert ended.status == 0, ended.output
    check_uneven(tmp_path, [2, 6, 4])


@needs_mpi
@pytest.mark.slow
def test_trainers_of_mpiexec_with_fewer_steps_leave(tmp_path: Path) -> None:
    with Job() as job:
        job.start([*mpiexec(), "-n", "3", *fluidio_run("uneven.py", tmp_path, "2,6,4")])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    check_uneven(tmp_path, [2, 6, 4])


@needs_torch
@pytest.mark.parametrize(
    ("action", "limit", "reason"),
    [
        ("kill", "100", "is gone"),
        pytest.param("stop", "8", "is gone", marks=pytest.mark.slow),
        pytest.param("sleep", "8", "responds, but does not take part", marks=pytest.mark.slow),
        pytest.param("raise", "100", "gave up: ValueError: a mistake in the script", marks=pytest.mark.slow),
        pytest.param("exit", "100", "gave up: SystemExit: no data", marks=pytest.mark.slow),
        pytest.param("interrupt", "100", "gave up: KeyboardInterrupt", marks=pytest.mark.slow),
    ],
)
def test_a_trainer_that_is_lost_is_an_error_that_names_it(action: str, limit: str, reason: str, tmp_path: Path) -> None:
    begin = time.monotonic()
    ended = run(tmp_path, "5,5,5", "1", action, "2", limit=limit)
    assert time.monotonic() - begin < 250
    for trainer in (0, 2):
        assert ended[trainer].status == 1
        last = ended[trainer].output.strip().splitlines()[-1]
        named = re.search(
            rf"DistributedError: trainer 1 on {re.escape(socket.gethostname())} \(pid \d+\) {reason}", last
        )
        assert named, ended[trainer].output
        assert len(np.load(tmp_path / f"trainer-{trainer}.npy")) == 3  # the step that failed was not applied


@needs_torch
@pytest.mark.slow
def test_the_mistake_of_the_trainer_that_holds_the_meeting_point_is_told_to_the_others(tmp_path: Path) -> None:
    for trainer, ended in enumerate(run(tmp_path, "5,5,5", "0", "raise", "2")):
        last = ended.output.strip().splitlines()[-1]
        if trainer:
            assert re.search(
                r"Error: trainer 0 on \S+ \(pid \d+\) gave up: ValueError: a mistake in the script\.", last
            )
            assert last.count("gave up") == 1
        else:
            assert last == "ValueError: a mistake in the script"


@needs_torch
@pytest.mark.slow
def test_the_death_of_the_trainer_that_holds_the_meeting_point_is_an_error_too(tmp_path: Path) -> None:
    ended = run(tmp_path, "5,5", "0", "kill", "2")
    assert ended[1].status == 1
    assert "DistributedError: the process at the meeting point" in ended[1].output


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize("action", ["kill", "raise", "sleep"])
def test_mpiexec_ends_all_trainers_when_one_is_lost(action: str, tmp_path: Path) -> None:
    with Job() as job:
        script = fluidio_run("uneven.py", tmp_path, "5,5,5", "1", action, "2")
        job.start([*mpiexec(), "-n", "3", *script], {"FLUIDIO_TIMEOUT": "8"})
        (ended,) = job.wait(60)
    assert ended.status != 0
    if action == "sleep":
        assert re.search(r"DistributedError: trainer 1 on \S+ \(pid \d+\) did not come", ended.output), ended.output


@needs_torch
@pytest.mark.slow
def test_a_trainer_that_never_comes_is_named(tmp_path: Path) -> None:
    names = endpoints(2)
    with Job() as job:
        env = {**paddle_variables(0, names), "FLUIDIO_START_TIMEOUT": "3"}
        job.start(fluidio_run("uneven.py", tmp_path, "5,5"), env)
        (ended,) = job.wait(60)
    assert ended.status == 1 and "trainer 1 of 2 did not come to the meeting point" in ended.output
    assert f"fluidio: trainer 0 of 2 waits for trainer 1 ({names[1]}) at {names[0]}, for up to 3 s" in ended.output


@needs_torch
@pytest.mark.slow
def test_two_trainers_with_one_id_are_told_so(tmp_path: Path) -> None:
    names = endpoints(2)
    with Job() as job:
        for _ in range(2):
            env = {**paddle_variables(0, names), "FLUIDIO_START_TIMEOUT": "3"}
            job.start(fluidio_run("uneven.py", tmp_path, "5,5"), env)
        ended = job.wait(60)
    assert all(one.status == 1 for one in ended)
    text = ended[0].output + ended[1].output
    assert "cannot hold the meeting point" in text or "two processes claim to be trainer 0" in text


@needs_torch
def test_processes_told_different_numbers_of_trainers_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "_BEAT", 0.1)
    (address,) = endpoints(1)
    holder = meeting.Meeting(address, hold=True, prefix="job", limit=60)
    other = meeting.Meeting(address, hold=False, prefix="job", limit=60)
    with ThreadPoolExecutor() as pool:
        entering = [pool.submit(holder.enter, 0, 2, 60), pool.submit(other.enter, 1, 3, 60)]
    for call, told in zip(entering, (3, 2)):
        with pytest.raises(DistributedError, match=f"expects {told} trainers, but this process expects"):
            call.result()


@needs_torch
def test_a_trainer_whose_host_waits_no_longer_names_the_missing_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "_BEAT", 0.1)
    (address,) = endpoints(1)
    server = meeting.Meeting(address, hold=True, prefix="job", limit=60)
    trainer = meeting.Meeting(address, hold=False, prefix="job", limit=60)
    with ThreadPoolExecutor() as pool:
        entering = pool.submit(trainer.enter, 0, 2, 60)
        server.await_key("member", 0, 60)
        assert server.missing(2, 0.1) == [1]
        with pytest.raises(DistributedError, match="trainer 1 of 2 did not come to the meeting point"):
            entering.result()
