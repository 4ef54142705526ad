"""kill -9 at any moment."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import kills


@pytest.mark.parametrize("work", kills.WORK)
def test_what_was_finished_outlives_a_kill(tmp_path: Path, work: str) -> None:
    kills.kill_once(work, str(tmp_path), random.Random(0))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("work", kills.WORK)
def test_what_was_finished_outlives_many_kills(tmp_path: Path, work: str) -> None:
    for number in range(100):
        kills.kill_once(work, str(tmp_path), random.Random(number))
