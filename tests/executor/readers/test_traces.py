"""Loops over loaders and readers give, step by step, what the real Fluid 1.8.5 gave, every EOF included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.dataset.fake.cache import make
from tests.house.repository import ROOT

TRACES = ROOT / "tests" / "data" / "traces"
CASES: dict[str, Any] = json.loads((TRACES / "runs.json").read_text())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("data"))
    make(folder, "mnist")
    return folder


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_step_agrees_with_the_real_one(name: str, data: str, tmp_path: Path) -> None:
    case = CASES[name]
    out = tmp_path / "runs.json"
    given = json.dumps({key: value for key, value in case.items() if key != "runs"})
    command = [
        sys.executable,
        "-m",
        "fluidio",
        "run",
        "--fluid",
        "1.8",
        str(TRACES / "record.py"),
        given,
        data,
        str(out),
    ]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=55, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(out.read_text())
    assert [run == "EOF" for run in found] == [run == "EOF" for run in case["runs"]]
    for wanted, run in zip(case["runs"], found):
        if wanted != "EOF":
            for a, b in zip(wanted, run, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
