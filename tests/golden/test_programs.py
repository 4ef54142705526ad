"""Programs that the real Fluid 1.8.5 ran: the same scripts, unmodified, give its numbers.

A case is NAME.py with NAME.npz (the numbers) and NAME.json (tolerances) in tests/data/golden; new ones are found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
ROOT = Path(__file__).parent.parent.parent
CASES = sorted(path.stem for path in GOLDEN.glob("*.npz"))


@pytest.mark.parametrize("case", CASES)
def test_a_program_gives_the_numbers_of_fluid_1_8_5(case: str, tmp_path: Path) -> None:
    # The scripts write beside themselves unless told where to: never into the references.
    environment = {**os.environ, "GOLDEN_OUT": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "fluidio", "run", "--fluid", "1.8", str(GOLDEN / f"{case}.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=55, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    meta = json.loads((GOLDEN / f"{case}.json").read_text())
    with np.load(GOLDEN / f"{case}.npz") as wanted, np.load(tmp_path / f"{case}.npz") as found:
        assert sorted(found.files) == sorted(wanted.files)
        for key in wanted.files:
            a, b = wanted[key], found[key]
            assert (b.dtype, b.shape) == (a.dtype, a.shape), key
            if a.dtype.kind == "f":
                np.testing.assert_allclose(b, a, rtol=meta["rtol"], atol=meta["atol"], err_msg=key)
            else:
                np.testing.assert_array_equal(b, a, err_msg=key)
