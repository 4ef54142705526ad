"""Run an example in this process and hand back what it printed."""

from __future__ import annotations

import re
import runpy
import sys
from typing import Any

import pytest

from tests.house.repository import ROOT


def run_example(monkeypatch: pytest.MonkeyPatch, capfd: Any, script: str, *arguments: str) -> list[str]:
    """Return the lines that `python examples/SCRIPT ARGUMENTS` prints."""
    path = str(ROOT / "examples" / script)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(sys, "argv", [path, *arguments])
    runpy.run_path(path, run_name="__main__")
    out: str = capfd.readouterr().out
    return out.splitlines()


def numbers(line: str) -> list[float]:
    """Return the numbers of a line."""
    return [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?", line)]
