"""`fluidio doctor --gpu` and `fluidio demo --device gpu:0` on a GPU."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fluidio.cli import doctor_tests, gpu_checks, gpu_speed, main

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gpu_speed, "_STEPS", 1)
    monkeypatch.setattr(gpu_speed, "_BATCH", 2)
    monkeypatch.setattr(gpu_speed, "_NETWORKS", {"MLP": gpu_speed._mlp})


def test_doctor_checks_and_measures(cupy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--gpu", "--no-tests", "--megabytes", "0.05"]) == 0
    report = capsys.readouterr().out
    assert report.count("  ok      ") == len(gpu_checks.CHECKS)
    assert "FAILED" not in report
    assert re.search(r"GPU 0 of \d+: .* GiB free", report)
    assert re.search(r"overlap: 24 batches of 0.05 MB: copies alone \d+ ms .* together \d+ ms: \d+% of", report)
    assert re.search(r"speed: MLP, batch 2, Adam: [\d.]+ ms a step on the GPU, [\d.]+ ms on the CPU", report)
    assert "all checks passed\n" in report
    assert report.startswith(Path("fluidio-gpu.txt").read_text("utf-8"))


def test_doctor_reports_a_check_that_fails(
    cupy: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(device: int) -> None:
        raise AssertionError("7 is not 8")

    monkeypatch.setattr(gpu_checks, "CHECKS", {"sevens": broken})
    assert main(["doctor", "--gpu", "--no-tests", "--megabytes", "0.01"]) == 1
    report = capsys.readouterr().out
    assert "  FAILED  sevens: AssertionError: 7 is not 8" in report
    assert "1 check(s) failed" in report


def test_a_measurement_that_fails_is_part_of_the_report(
    sim: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_checks, "CHECKS", {})
    monkeypatch.setattr(gpu_speed, "_NETWORKS", {})
    sim.leave_memory(1 << 16)
    assert main(["doctor", "--gpu", "--no-tests", "--megabytes", "64"]) == 1
    report = capsys.readouterr().out
    assert re.search(r"  FAILED  measuring overlap: \w+Error: .*[Oo]ut of memory", report)
    assert "1 check(s) failed" in report


@pytest.mark.parametrize("passed", [True, False])
def test_doctor_runs_the_tests_marked_gpu_and_reports_how_they_ended(
    cupy: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, passed: bool
) -> None:
    devices: list[int] = []

    def run_tests(device: int) -> tuple[bool, list[str]]:
        devices.append(device)
        return passed, ["FAILED test_a.py::test_a", "1 failed in 3 s"] if not passed else ["2 passed in 3 s"]

    monkeypatch.setattr(gpu_checks, "CHECKS", {})
    monkeypatch.setattr(doctor_tests, "run_tests", run_tests)
    assert main(["doctor", "--gpu", "--megabytes", "0.01"]) == int(not passed)
    assert devices == [0]
    tail = "".join(capsys.readouterr().out.partition("tests marked gpu: running")[1:]).splitlines()[1:]
    if passed:
        assert tail[:2] == ["  ok      tests marked gpu: 2 passed in 3 s", "all checks passed"]
    else:
        assert tail[:2] == ["FAILED test_a.py::test_a", "  FAILED  tests marked gpu: 1 failed in 3 s"]
        assert tail[2].startswith("1 check(s) failed")


@pytest.mark.parametrize("wanted", [None, "--tests"])
def test_tests_that_cannot_run_fail_only_if_they_were_asked_for(
    cupy: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wanted: str | None
) -> None:
    monkeypatch.setattr(gpu_checks, "CHECKS", {})
    monkeypatch.setattr(doctor_tests, "_root", lambda: tmp_path)  # as in an installed wheel
    assert main(["doctor", "--gpu", "--megabytes", "0.01", *([wanted] if wanted else [])]) == int(wanted is not None)
    line = capsys.readouterr().out.splitlines()[-3]
    assert line.startswith(
        f"{'  FAILED  ' if wanted else ''}tests marked gpu: not run: they are in the source checkout"
    )


def test_doctor_without_the_option_only_looks(cupy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert re.search(r"GPUs: \d \(`fluidio doctor --gpu` checks them\)", capsys.readouterr().out)


def test_device_that_is_not_there(cupy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--gpu", "--device", "9"]) == 1
    assert "CUDAPlace(9)" in capsys.readouterr().err


def test_demo_learns_on_the_gpu(cupy: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "--device", "gpu:0", "--dir", str(tmp_path), "--epochs", "3"]) == 0
    found = re.search(r"accuracy on 599 digits it has never seen: ([\d.]+)%", capsys.readouterr().out)
    assert found is not None
    assert float(found.group(1)) > 85
