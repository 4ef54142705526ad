"""`fluidio doctor --gpu` runs the tests marked gpu of a checkout, on the card that was named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluidio.cli import doctor_tests, main

GOOD = "import pytest\n\n@pytest.mark.gpu\ndef test_good():\n    pass\n"
UNMARKED = "\ndef test_unmarked():\n    assert False\n"
BAD = "\n@pytest.mark.gpu\ndef test_bad():\n    assert 7 == 8\n"
SKIPPED = "import pytest\n\n@pytest.mark.gpu\n@pytest.mark.skip\ndef test_skipped():\n    pass\n"
LOOKS = """
import os, pytest

@pytest.mark.gpu
def test_environment():
    assert (os.environ["FLUIDIO_CUDASIM"], os.environ["CUDA_VISIBLE_DEVICES"]) == ("off", "GPU-c,GPU-a,GPU-b")
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout whose tests are to be written to the file that this gives."""
    folder = tmp_path / "tests" / "gpu"
    folder.mkdir(parents=True)
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nmarkers =\n    gpu: a card\n")
    monkeypatch.setattr(doctor_tests, "_root", lambda: tmp_path)
    monkeypatch.delenv("FLUIDIO_CUDASIM", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return folder / "test_card.py"


def test_the_summary_is_the_report_of_tests_that_pass(checkout: Path) -> None:
    checkout.write_text(GOOD + UNMARKED)
    assert doctor_tests.why_not() is None
    passed, (line,) = doctor_tests.run_tests(0)
    assert passed
    assert line.startswith("1 passed, 1 deselected")


def test_what_failed_is_shown(checkout: Path) -> None:
    checkout.write_text(GOOD + BAD)
    passed, lines = doctor_tests.run_tests(0)
    assert not passed
    assert any("assert 7 == 8" in line for line in lines)
    assert lines[-1].startswith("1 failed, 1 passed")


@pytest.mark.parametrize("text", [SKIPPED, UNMARKED])
def test_tests_of_which_none_ran_have_not_passed(checkout: Path, text: str) -> None:
    checkout.write_text(text)
    assert not doctor_tests.run_tests(0)[0]


def test_the_card_that_is_named_comes_first_and_the_simulator_is_off(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c")
    checkout.write_text(LOOKS)
    assert doctor_tests.run_tests(2)[0]


def test_without_a_list_of_cards_they_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_tests, "get_cuda_device_count", lambda: 3)
    assert doctor_tests._environment({}, 1)["CUDA_VISIBLE_DEVICES"] == "1,0,2"
    assert "CUDA_VISIBLE_DEVICES" not in doctor_tests._environment({}, 0)


def test_a_missing_tool_is_named_with_the_pip_line(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_tests, "_NEEDED", ("pytest", "no_such_tool"))
    reason = doctor_tests.why_not()
    assert reason is not None
    assert reason.startswith("no_such_tool not installed: pip install -e '")
    assert reason.endswith("[test]'")


@pytest.mark.parametrize("option", [("--device", "-1"), ("--megabytes", "nan"), ("--megabytes", "0")])
def test_numbers_that_mean_nothing_are_refused(option: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--gpu", *option])
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert f"argument {option[0]}: expected " in error and f"got '{option[1]}'" in error
