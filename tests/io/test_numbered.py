"""Numbered checkpoints have the folders of Fluid 0.14: parameters, a mark that they are whole, a trainer's notes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio.io.numbered import load_trainer_args


def program() -> tuple[fluid.Executor, fluid.Program]:
    x = fluid.layers.data("x", [2])
    fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name="w"), bias_attr=False)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe, fluid.default_main_program()


def weights() -> np.ndarray:
    return np.array(fluid.global_scope().var("w").get_tensor())


def fill(value: float) -> None:
    fluid.global_scope().var("w").get_tensor().set(np.full((2, 1), value, "float32"), fluid.CPUPlace())


def test_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    exe, main = program()
    assert fluid.io.get_latest_checkpoint_serial(str(tmp_path)) == -1
    for step in range(3):
        fill(step)
        fluid.io.save_checkpoint(exe, str(tmp_path), 0, main, {"step_id": step}, max_num_checkpoints=2)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == [
        f"checkpoint_{n}/{name}" for n in (1, 2) for name in ("__model__/_SUCCESS", "__model__/w", "trainer_0/step_id")
    ]
    assert load_trainer_args(str(tmp_path), 2, 0, ["step_id"]) == ["2"]


@pytest.mark.parametrize("newest", [True, False])
def test_a_checkpoint_is_loaded_by_its_number_or_as_the_newest(tmp_path: Path, newest: bool) -> None:
    exe, main = program()
    for step in range(2):
        fill(step)
        fluid.io.save_checkpoint(exe, str(tmp_path), 0, main)
    fill(9.0)
    if newest:
        fluid.io.load_checkpoint(exe, str(tmp_path), main)
    else:
        fluid.io.load_checkpoint(exe, str(tmp_path), 0, main)
    np.testing.assert_array_equal(weights(), np.full((2, 1), float(newest)))


def test_a_checkpoint_without_its_mark_does_not_count(tmp_path: Path) -> None:
    exe, main = program()
    fluid.io.save_checkpoint(exe, str(tmp_path), 0, main)
    (tmp_path / "checkpoint_0" / "__model__" / "_SUCCESS").unlink()
    assert fluid.io.get_latest_checkpoint_serial(str(tmp_path)) == -1
    fill(9.0)
    fluid.io.load_checkpoint(exe, str(tmp_path), main)
    np.testing.assert_array_equal(weights(), np.full((2, 1), 9.0))


def test_other_trainers_write_their_notes_only(tmp_path: Path) -> None:
    exe, main = program()
    fluid.io.save_checkpoint(exe, str(tmp_path), 1, main, {"epoch_id": 4})
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["epoch_id"]


def test_cleaning_removes_the_folder_if_nothing_else_is_in_it(tmp_path: Path) -> None:
    exe, main = program()
    folder = tmp_path / "all"
    fluid.io.save_checkpoint(exe, str(folder), 0, main)
    fluid.io.clean_checkpoint(str(folder), delete_dir=True)
    assert not folder.exists()


def test_folders_of_other_names_do_not_count(tmp_path: Path) -> None:
    exe, main = program()
    fluid.io.save_checkpoint(exe, str(tmp_path), 0, main)
    for name in ("checkpoint_\N{SUPERSCRIPT TWO}", "checkpoint_007", "checkpoint_x", "other_5"):
        (tmp_path / name / "__model__").mkdir(parents=True)
        (tmp_path / name / "__model__" / "_SUCCESS").touch()
    assert fluid.io.get_latest_checkpoint_serial(str(tmp_path)) == 0
