"""`fluidio doctor --gpu` and `fluidio demo --device gpu:0` on a GPU."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fluidio.cli import gpu_checks, main

pytestmark = pytest.mark.gpu


def test_doctor_checks_and_measures(cupy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--gpu", "--megabytes", "0.05"]) == 0
    report = capsys.readouterr().out
    assert report.count("  ok      ") == len(gpu_checks.CHECKS)
    assert "FAILED" not in report
    assert re.search(r"GPU 0 of \d+: .* GiB free", report)
    assert re.search(r"overlap: 24 batches of 0.05 MB: copies alone \d+ ms .* together \d+ ms: \d+% of", report)
    assert report.endswith("all checks passed\n")


def test_doctor_reports_a_check_that_fails(
    cupy: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(device: int) -> None:
        raise AssertionError("7 is not 8")

    monkeypatch.setattr(gpu_checks, "CHECKS", {"sevens": broken})
    assert main(["doctor", "--gpu", "--megabytes", "0.01"]) == 1
    report = capsys.readouterr().out
    assert "  FAILED  sevens: AssertionError: 7 is not 8" in report
    assert "1 check(s) failed" in report


def test_doctor_without_the_option_only_looks(cupy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert re.search(r"GPUs: \d \(`fluidio doctor --gpu` checks them\)", capsys.readouterr().out)


def test_device_that_is_not_there(cupy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--gpu", "--device", "9"]) == 1
    assert "Invalid CUDAPlace(9)" in capsys.readouterr().err


def test_demo_learns_on_the_gpu(cupy: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "--device", "gpu:0", "--dir", str(tmp_path), "--epochs", "3"]) == 0
    found = re.search(r"accuracy on 599 digits it has never seen: ([\d.]+)%", capsys.readouterr().out)
    assert found is not None
    assert float(found.group(1)) > 85
