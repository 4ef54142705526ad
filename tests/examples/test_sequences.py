"""examples/sequences.py prints what it says."""

from __future__ import annotations

import subprocess
import sys

from tests.house.repository import ROOT


def test_it_prints_lengths_offsets_and_sentences() -> None:
    done = subprocess.run(
        [sys.executable, "examples/sequences.py"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "lengths  [[2, 1], [3, 2, 4]]",
        "offsets  [[0, 2, 3], [0, 3, 5, 9]]",
        "sentences [[0, 1, 2], [3, 4], [5, 6, 7, 8]]",
    ]
