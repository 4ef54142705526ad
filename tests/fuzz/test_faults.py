"""Disks that are full, broken or slow to take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import faults, kill_works

needs_compiler = pytest.mark.skipif(not faults.can_build(), reason="extra: gcc is not installed")


def _fail(work: str, kind: str, folder: Path, count: int) -> None:
    (folder / "disk").mkdir()
    done = faults.start(work, str(folder / "disk"), kind, count)
    assert done.returncode == 0, done.stderr


@needs_compiler
@pytest.mark.parametrize("kind", faults.KINDS)
def test_what_was_finished_outlives_a_failing_disk(tmp_path: Path, kind: str) -> None:
    _fail("append", kind, tmp_path, 6)


@needs_compiler
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", faults.KINDS)
@pytest.mark.parametrize("work", kill_works.WORK)
def test_what_was_finished_outlives_many_failures(tmp_path: Path, kind: str, work: str) -> None:
    _fail(work, kind, tmp_path, 40)
