"""Small programs in the style of public repositories of 2018 - 2020, and what the real 1.8.5 printed for them.

`tests/data/legacy/NAME` holds a program as its authors would have kept it: scripts, modules, configuration. Every line
that it prints with a number is compared with `expected.txt`, which came from the real framework, under
Python 3.7 or, for `NAME_py2`, 2.7.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.repository import ROOT

PROGRAMS = ROOT / "tests" / "data" / "legacy"
TOLERANCE = 1e-4
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|\bnan\b|\binf\b")


def names() -> list[str]:
    """Return the names of all programs."""
    return sorted(path.name for path in PROGRAMS.iterdir() if (path / "train.py").exists())


def checkout(name: str, folder: Path) -> Path:
    """Copy a program to a folder of its own."""
    return Path(shutil.copytree(PROGRAMS / name, folder / name))


def run(program: Path, *args: str, runner: tuple[str, ...] = ()) -> list[str]:
    """Run a program and return the lines that it printed."""
    command = [*(runner or (sys.executable, "-m", "fluidio", "run")), "train.py", *args]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    for name in ("FLUIDIO_FLUID", "FLUIDIO_RUN", "FLUIDIO_PROGRAM_PYTHON"):
        environment.pop(name, None)
    if runner:
        environment.pop("PYTHONPATH")
        environment["PATH"] = f"{Path(runner[0]).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(command, cwd=program, env=environment, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def numbered(lines: list[str]) -> list[str]:
    """Return the lines that hold numbers; what the framework itself logs is left out."""
    return [line for line in lines if _NUMBER.search(line) and "regularizer.py" not in line]


def differences(expected: list[str], found: list[str]) -> list[str]:
    """Return what differs: the words, or a number by more than 1e-4 of max(1, |number|)."""
    told = []
    if len(expected) != len(found):
        told.append(f"{len(expected)} lines expected, {len(found)} found")
    for old, new in zip(expected, found):
        if _NUMBER.sub("#", old) != _NUMBER.sub("#", new) or not _close(old, new):
            told.append(f"expected {old!r}, found {new!r}")
    return told


def _close(old: str, new: str) -> bool:
    pairs = zip(map(float, _NUMBER.findall(old)), map(float, _NUMBER.findall(new)))
    return all(abs(a - b) <= TOLERANCE * max(1.0, abs(a)) or (a != a and b != b) for a, b in pairs)
