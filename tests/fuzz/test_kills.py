"""kill -9 at any moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import kill_works
from tests.fuzz.targets import ROOT


def _kill(work: str, folder: Path, count: int) -> None:
    """Kill in a process of its own, which has no threads and may fork."""
    command = [sys.executable, "-m", "tests.fuzz.kills", work, str(folder), f"--count={count}"]
    done = subprocess.run(command, cwd=ROOT.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("work", kill_works.WORK)
def test_what_was_finished_outlives_a_kill(tmp_path: Path, work: str) -> None:
    _kill(work, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("work", kill_works.WORK)
def test_what_was_finished_outlives_many_kills(tmp_path: Path, work: str) -> None:
    _kill(work, tmp_path, 125)
