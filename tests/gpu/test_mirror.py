"""The tests of ops, layers, optimizers, programs and readers pass on a GPU as well, and run every op of the table."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fluidio.program.op_def import OP_TABLE, find_op

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(2400)]  # the first run compiles many kernels

ROOT = Path(__file__).parents[2]
TESTS = ("ops", "layers", "optimizer", "executor", "program", "io/test_variables.py", "gpu/test_golden.py")
# What is left out, and why; nothing whose numbers differ may stand here, but for what differs in Fluid as well.
NOT_HERE = {
    "tests/ops/test_sequence_errors.py::test_a_label_out_of_range_is_named": "a GPU notes one label, not their range",
    # Fluid's kernel for the CPU trains the output gate alone where the hidden size is a multiple of 8.
    "tests/ops/test_lstm_gates.py::test_a_multiple_of_8_trains_the_output_gate_alone_and_says_so": "all gates on a GPU",
    "tests/ops/test_lstm_gates.py::test_the_projected_lstm_trains_the_gates_that_fluid_trains": "all gates on a GPU",
    "tests/ops/test_recurrent_numbers.py::test_sums_of_gradients_are_those_of_1_8_5[lstm-8-options2-expected2]": (
        "all gates on a GPU"
    ),
    "tests/ops/test_recurrent_numbers.py::test_sums_of_gradients_are_those_of_1_8_5[lstmp-8-options6-expected6]": (
        "all gates on a GPU"
    ),
    "tests/ops/test_observed_values.py::test_a_cast_to_float16_cuts_off": "a GPU rounds to the nearest",
    "tests/executor/readers/test_chains.py::test_double_buffer_over_open_files_has_a_thread_if_reading_is_costly": (
        "a thread that copies to a GPU is always worth it"
    ),
    "tests/executor/readers/test_queue_readers.py::test_ahead_of_the_program_no_more_is_read_than_the_queue_holds": (
        "a GPU's ring holds batches as well"
    ),
}
NOT_HERE |= {
    f"tests/layers/test_dense_errors.py::test_bad_data_are_refused_when_the_program_runs[{op}]": "the fetch tells of it"
    for op in ("cross_entropy2", "gather", "lookup_table", "one_hot", "softmax_with_cross_entropy")
}
# Ops that do not run there, and why.
NOT_RUN = dict.fromkeys(("feed", "fetch"), "an executor takes feeds and fetches by slot")


def test_the_tests_of_ops_and_readers_pass_on_a_gpu_and_run_every_op(cupy: Any, tmp_path: Path) -> None:
    for name in TESTS:
        assert (ROOT / "tests" / name).exists(), f"tests/{name} has moved: name it here as it is called now"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.gpu.mirror", "-p", "no:cacheprovider"]
    command += ["--timeout", "300", *(f"tests/{name}" for name in TESTS)]
    for name in NOT_HERE:
        command += ["--deselect", name]
    listed = tmp_path / "ops.txt"
    environment = {**os.environ, "FLUIDIO_MIRROR_OPS": str(listed)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    assert done.returncode == 0, f"{failed}\n{done.stdout[-3000:]}"
    find_op("mul")  # fills the table
    missing = OP_TABLE.keys() - set(listed.read_text().split())
    assert missing == NOT_RUN.keys(), "ops that no test runs on a GPU, or that one does after all"
