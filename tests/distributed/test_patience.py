"""A process that waits for the others says for whom, where, how long, and how to train alone."""

from __future__ import annotations

import pytest

from fluidio.distributed.environment import Launch
from fluidio.distributed.membership import Membership
from fluidio.distributed.patience import says_whom_it_waits_for, waiting_line

ENDS = ("10.0.0.1:7000", "10.0.0.2:7000", "10.0.0.3:7000")


@pytest.mark.parametrize(
    ("told", "launch", "text"),
    [
        (Membership(0, 2, ENDS[:1]), None, "trainer 0 of 2 waits for trainer 1 at 10.0.0.1:7000"),
        (Membership(0, 5, ENDS[:1]), None, "trainer 0 of 5 waits for trainers 1 to 4 at 10.0.0.1:7000"),
        (Membership(1, 3, ENDS, ENDS[1]), None, "waits for trainers 0, 2 (10.0.0.1:7000, 10.0.0.3:7000) at 10.0.0.1:7"),
        (Membership(-1, 3, ENDS[:2], ENDS[1], 1), None, "parameter server 10.0.0.2:7000 waits for trainers 0 to 2 at"),
        (Membership(0, 2, ()), Launch("torch", "torchrun", 0, 2, "host:29500"), "waits for trainer 1 at host:29500"),
        (Membership(0, 2, ()), Launch("mpi", "mpiexec", 0, 2), "trainer 1 among the processes of mpiexec"),
    ],
)
def test_the_line_names_trainers_and_place(
    told: Membership, launch: Launch | None, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FLUIDIO_TIMEOUT", "FLUIDIO_START_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.argv", ["train.py", "--trainer_id", "0"])
    line = waiting_line(told, launch)
    assert (
        text in line and "for up to 300 s (FLUIDIO_START_TIMEOUT=seconds); FLUIDIO_DISTRIBUTED=off trains alone" in line
    )


def test_the_line_says_that_a_process_without_a_part_trains_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluidio.distributed.patience.goes_alone", lambda: True)
    monkeypatch.setattr("fluidio.distributed.limits.goes_alone", lambda: True)
    told = Membership(0, 2, ENDS[:1])
    assert "for up to 15 s (FLUIDIO_START_TIMEOUT=seconds); if nobody comes, it trains alone" in waiting_line(
        told, None
    )


def test_a_job_that_meets_at_once_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with says_whom_it_waits_for(Membership(0, 2, ENDS[:1]), None):
        pass
    assert capsys.readouterr().err == ""
