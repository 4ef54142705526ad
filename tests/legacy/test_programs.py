"""Whole legacy programs run unmodified and print the numbers of the real 1.8.5."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from tests.legacy.repository import PROGRAMS, checkout, differences, names, numbered, run

REAL = os.environ.get("FLUIDIO_REAL_FLUID", "")
# The program, the checkpoint of the real 1.8.5 in `checkpoint.zip`, and how the program is told to go on from it.
RESUMED = {
    "graph": ("ckpt", "--init"),
    "simnet": ("model/4", "--init_checkpoint"),
    "language_model": ("models/epoch_4/lm", "--init_from_pretrain_model"),
}
# Options that lead the programs through other models and schedules.
VARIANTS = {
    "image_classification mobilenet": ["--model", "MobileNet", "--lr_strategy", "cosine_decay"],
    "language_model basic_lstm": ["--rnn_model", "basic"],
    "sentiment lstm": ["--model_type", "lstm_net"],
    "sentiment bow": ["--model_type", "bow_net"],
    "sentiment cnn": ["--model_type", "cnn_net"],
    "graph gcn": ["--model", "gcn"],
    "rl_dqn dueling": ["--alg", "dueling"],
    "rl_framework sac": ["sac"],
}

# Packages that programs import beside paddle and NumPy.
NEEDED = {
    "detection_registry": ["yaml", "cv2"],
    "interest_network": ["yaml"],
    "ocr_yaml": ["yaml", "cv2"],
    "rl_framework": ["scipy"],
    "video_slowfast": ["PIL"],
}

# Programs that start many processes or train many networks.
SLOW = {"slot_files", "optimizers", "ctr_models", "ctr_pipes_py2"}


def need(name: str) -> None:
    """Skip the test if a package that a program imports is not installed."""
    for package in NEEDED.get(name, ()):
        pytest.importorskip(package, reason=f"extra: {package} is not installed")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in names()])
def test_a_program_prints_the_numbers_of_the_original(name: str, tmp_path: Path) -> None:
    need(name)
    found = numbered(run(checkout(name, tmp_path)))
    expected = (PROGRAMS / name / "expected.txt").read_text().splitlines()
    assert differences(expected, found) == []


@pytest.mark.timeout(120)
@pytest.mark.slow
@pytest.mark.parametrize("case", VARIANTS)
def test_a_variant_prints_the_numbers_of_the_original(case: str, tmp_path: Path) -> None:
    name, _, variant = case.partition(" ")
    need(name)
    found = numbered(run(checkout(name, tmp_path), *VARIANTS[case]))
    expected = (PROGRAMS / name / f"expected_{variant}.txt").read_text().splitlines()
    assert differences(expected, found) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", RESUMED)
def test_training_goes_on_from_a_checkpoint_of_the_original(name: str, tmp_path: Path) -> None:
    program = checkout(name, tmp_path)
    with zipfile.ZipFile(program / "checkpoint.zip") as archive:
        archive.extractall(tmp_path / "real")
    saved, option = RESUMED[name]
    found = numbered(run(program, option, str(tmp_path / "real" / saved)))
    expected = (PROGRAMS / name / "expected_resumed.txt").read_text().splitlines()
    assert differences(expected, found) == []


@pytest.mark.timeout(240)
@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="FLUIDIO_REAL_FLUID names no Python")
@pytest.mark.parametrize("name", RESUMED)
def test_the_original_goes_on_from_our_checkpoint(name: str, tmp_path: Path) -> None:
    saved, option = RESUMED[name]
    ours = checkout(name, tmp_path / "ours")
    run(ours)
    again, real = checkout(name, tmp_path / "again"), checkout(name, tmp_path / "real")
    theirs = numbered(run(real, option, str(ours / saved), runner=(REAL,)))
    assert differences(theirs, numbered(run(again, option, str(ours / saved)))) == []
