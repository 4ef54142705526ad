"""`fluidio demo` learns from RecordIO files and says what it does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio.cli import main
from fluidio.cli.demo import write_shards
from fluidio.demo import split_digits
from fluidio.recordio import BlockReader


def test_it_reaches_95_percent_on_digits_it_has_not_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--dir", str(tmp_path / "new")]) == 0
    text = capsys.readouterr().out
    found = re.search(r"accuracy on 599 digits it has never seen: ([\d.]+)%", text)
    assert found is not None and float(found[1]) >= 95
    assert (
        len(re.findall(r"epoch +\d+: 19 batches, +[\d,]+ records/s, loss [\d.]+; EOFException, reset\(\)", text)) == 30
    )
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", text)]
    assert losses[-1] < losses[0] / 5
    assert str(tmp_path / "new") in text
    assert _accuracy(tmp_path / "new" / "model") == pytest.approx(float(found[1]) / 100, abs=1e-3)


def _accuracy(model: Path) -> float:
    """Return the share of unseen digits that the saved model names rightly."""
    _, (images, labels) = split_digits()
    exe = fluid.Executor(fluid.CPUPlace())
    program, names, targets = fluid.io.load_inference_model(str(model), exe)
    (prediction,) = exe.run(program, feed={names[0]: images}, fetch_list=targets)
    return float(np.mean(prediction.argmax(axis=1) == labels))


def test_it_can_be_run_again_in_the_same_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["demo", "--dir", str(tmp_path), "--epochs", "1", "--shards", "2", "--batch-size", "500"]
    assert (main(options), main(options)) == (0, 0)
    first, second = re.findall(r"epoch  1: 3 batches, .* loss ([\d.]+)", capsys.readouterr().out)
    assert first == second


def test_what_it_says_to_try_next_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--dir", str(tmp_path), "--epochs", "1"]) == 0
    commands = re.findall(r"^  fluidio ((?:inspect|check) .*)$", capsys.readouterr().out, re.MULTILINE)
    assert [main(command.split()) for command in commands] == [0, 0]


def test_every_digit_is_in_one_shard(tmp_path: Path) -> None:
    digits, _ = split_digits()
    labels: list[int] = []
    for name in write_shards(tmp_path, digits, 5):
        with BlockReader(name) as blocks:
            for block in blocks:
                (images, _), (numbers, _) = block.tensors()
                assert images.shape[1:] == (64,)
                labels += numbers.ravel().tolist()
    assert np.bincount(labels).tolist() == np.bincount(digits[1]).tolist()


@pytest.mark.parametrize("option", ["--epochs", "--batch-size", "--shards"])
@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_counts_are_at_least_one(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["demo", option, value])
    assert stop.value.code == 2
    assert option in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--dir", str(tmp_path / "file" / "in")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
