"""Parameter servers that start after the trainers have ended, or never."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from fluidio.distributed import Membership, meeting, server
from tests.distributed.jobs import endpoints, needs_torch

pytestmark = needs_torch


def train_and_leave(names: list[str]) -> None:
    """Meet and leave, as the only trainer."""
    trainer = meeting.Meeting(names[0], hold=False, prefix="fluidio", limit=60)
    trainer.enter(0, 1, 60)
    trainer.put("left", 0)
    trainer.close()


def serve(names: list[str], index: int) -> None:
    server.serve(Membership(-1, 1, tuple(names), names[index], index), None)


def test_a_server_that_starts_after_the_end_ends_normally() -> None:
    names = endpoints(2)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(serve, names, 0)
        train_and_leave(names)
        serve(names, 1)
        first.result()


def test_the_first_server_does_not_wait_for_ever_for_one_that_was_never_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "_SOON", 0.1)
    monkeypatch.setenv("FLUIDIO_TIMEOUT", "0.5")
    monkeypatch.setenv("FLUIDIO_START_TIMEOUT", "60")
    names = endpoints(2)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(serve, names, 0)
        train_and_leave(names)
        first.result()
    assert f"parameter server {names[1]} has not come" in capsys.readouterr().err
