"""Training programs travel: those of the real Fluid 1.8.5 train here, ours carry all that it needs to train them."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

FOLDER = Path(__file__).parents[1] / "data" / "training"
LOSSES: dict[str, list[float]] = json.loads((FOLDER / "losses.json").read_text())
_REAL = os.environ.get("FLUIDIO_REAL_FLUID")

pytestmark = pytest.mark.filterwarnings("ignore:dynamic_lstm")


@pytest.fixture(scope="module")
def programs() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "programs.py"))


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_training_program_of_the_real_1_8_5_trains_here(programs: dict[str, Any], name: str) -> None:
    np.testing.assert_allclose(programs["load"](name, str(FOLDER)), LOSSES[name], rtol=1e-5)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_our_training_program_trains_the_same_after_a_round_trip(
    programs: dict[str, Any], name: str, tmp_path: Path
) -> None:
    assert programs["build"](name, str(tmp_path)) == programs["load"](name, str(tmp_path))


def _filled(slots: dict[str, list[str]]) -> dict[str, list[str]]:
    return {slot: names for slot, names in slots.items() if names}


def described(path: Path) -> list[tuple[Any, ...]]:
    """Return type, inputs, outputs and attributes of every op, leaving out what says where it was built."""
    program = fluid.Program.parse_from_string(path.read_bytes())
    hidden = {"op_callstack", "op_namescope"}
    return [
        (op.type, _filled(op.slots_in), _filled(op.slots_out), {k: v for k, v in op.attrs.items() if k not in hidden})
        for op in program.global_block().ops
    ]


@pytest.mark.parametrize("name", ["sgd.main", "sgd.startup"])
def test_ops_are_written_with_the_names_and_attributes_of_1_8_5(
    programs: dict[str, Any], name: str, tmp_path: Path
) -> None:
    programs["build"](name.partition(".")[0], str(tmp_path))
    ours, theirs = described(tmp_path / name), described(FOLDER / name)
    assert [op[0] for op in ours] == [op[0] for op in theirs]
    for mine, real in zip(ours, theirs):
        assert mine[1:3] == real[1:3], mine[0]
        assert {k: mine[3].get(k) for k in real[3]} == real[3], mine[0]


def test_gradient_ops_have_all_attributes_of_their_forward_ops(programs: dict[str, Any], tmp_path: Path) -> None:
    programs["build"]("conv", str(tmp_path))
    attrs = {op[0]: set(op[3]) for op in described(tmp_path / "conv.main")}
    assert {"workspace_size_MB", "padding_algorithm", "op_role_var", "op_device"} <= attrs["conv2d_grad"]
    assert {"exclusive", "use_quantizer"} <= attrs["pool2d_grad"] == attrs["pool2d"]


@pytest.mark.skipif(_REAL is None, reason="FLUIDIO_REAL_FLUID names no Python with the real Fluid 1.8")
def test_our_training_programs_train_in_the_real_1_8_5(programs: dict[str, Any], tmp_path: Path) -> None:
    ours = {name: programs["build"](name, str(tmp_path)) for name in LOSSES}
    done = subprocess.run(
        [str(_REAL), str(FOLDER / "programs.py"), "run", str(tmp_path)],
        env={**os.environ, "FLUID_UNDER_TEST": "paddle"},
        check=True,
        capture_output=True,
        text=True,
        timeout=55,
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    for name, expected in ours.items():
        np.testing.assert_allclose(theirs[name], expected, rtol=1e-5, err_msg=name)
