"""`fluidio doctor` and `--device gpu:0` on a machine without CuPy or without a GPU."""

from __future__ import annotations

import builtins
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import fluidio
from fluidio.cli import main


@pytest.fixture
def no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import cupy` fail, whether it is installed or not."""
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] in ("cupy", "cupyx"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)


class _CupyWithoutDriver:
    """What CuPy looks like where there is no driver."""

    class cuda:
        class runtime:
            class CUDARuntimeError(RuntimeError):
                pass

            @classmethod
            def getDeviceCount(cls) -> int:
                raise cls.CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")


def test_doctor_tells_versions_and_the_missing_gpu(no_cupy: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fluidio ")
    assert lines[1].startswith("Python 3.")
    assert "numpy " in lines[2]
    assert lines[3].startswith("settings: ")
    assert lines[4].startswith("C code: ")
    assert lines[5].startswith("trainers: started alone")
    assert lines[6].startswith("GPUs: 0 (CUDAPlace(0) needs CuPy: pip install 'fluidio[cuda12]'")


def test_doctor_names_the_parts_in_c_that_are_missing(
    no_cupy: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = importlib.util.find_spec, "._snappy"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if lost in name else real(name))
    assert main(["doctor"]) == 0
    assert "\nC code: not compiled: recordio._snappy; Python does the same more slowly" in capsys.readouterr().out
    lost = "._"
    assert main(["doctor"]) == 0
    assert "\nC code: none is compiled; Python does the same more slowly" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["doctor", "--gpu"], ["demo", "--device", "gpu:0"]])
def test_missing_cupy_is_one_line_with_the_pip_line_and_the_cpu(
    no_cupy: None,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "pip install 'fluidio[cuda12]'" in error
    assert "--device cpu" in error
    assert list(tmp_path.iterdir()) == []  # nothing was begun


def test_missing_driver_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", _CupyWithoutDriver)
    assert main(["demo", "--device", "gpu:0"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "CuPy finds no CUDA driver or device" in error
    assert "--device cpu" in error


def test_a_report_hides_the_home_folder_and_shows_settings(
    no_cupy: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path(fluidio.__file__).parent.parent)
    monkeypatch.setenv("FLUIDIO_FLUID", "1.8")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "from ~" in out
    assert "FLUIDIO_FLUID=1.8" in out
