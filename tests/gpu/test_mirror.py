"""The tests of ops, optimizers, programs and readers pass on a GPU as well."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
FOLDERS = ("ops", "optimizer", "executor", "readers", "program")
# What is left out, and why; nothing whose numbers differ may stand here.
NOT_HERE = {
    "tests/ops/test_sequence_errors.py::test_a_label_out_of_range_is_named": "a GPU notes one label, not their range",
    # Fluid's kernel for the CPU trains the output gate alone where the hidden size is a multiple of 8.
    "tests/ops/test_lstm_gates.py::test_a_multiple_of_8_trains_the_output_gate_alone_and_says_so": "all gates on a GPU",
    "tests/ops/test_lstm_gates.py::test_the_projected_lstm_trains_the_gates_that_fluid_trains": "all gates on a GPU",
    "tests/readers/test_chains.py::test_double_buffer_over_open_files_has_a_thread_only_if_reading_is_much_work": (
        "a thread that copies to a GPU is always worth it"
    ),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder_passes_on_a_gpu(cupy: Any, folder: str) -> None:
    if not (ROOT / "tests" / folder).is_dir():
        pytest.fail(f"tests/{folder} has moved: name it here as it is called now")
    plugins = ["-p", "tests.gpu.mirror", "-p", "no:cacheprovider", "--timeout", "300"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, f"tests/{folder}"]
    for name in NOT_HERE:
        command += ["--deselect", name]
    # The stand-in is slow: what Hypothesis finds with many examples it finds on the CPU.
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "ci"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    assert done.returncode == 0, f"{failed}\n{done.stdout[-3000:]}"
