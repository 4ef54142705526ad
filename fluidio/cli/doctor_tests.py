"""The tests marked `gpu`, which `fluidio doctor --gpu` runs from a checkout; a wheel contains no tests."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import fluidio
from fluidio.places import get_cuda_device_count

__all__ = ["run_tests", "why_not"]

_NEEDED = ("pytest", "pytest_timeout", "hypothesis")
_SHOWN = 60  # lines of a run that failed


def _root() -> Path:
    return Path(fluidio.__file__).resolve().parent.parent


def why_not() -> str | None:
    """Return why the tests cannot run here and what to do about it, or None."""
    if not (_root() / "setup.cfg").is_file() or not (_root() / "tests" / "gpu").is_dir():
        return "they are in the source checkout, not in the wheel: run this command there"
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} not installed: pip install -e '{_root()}[test]'" if missing else None


def run_tests(device: int) -> tuple[bool, list[str]]:
    """Run them with this GPU as the first one; return whether they passed, and lines for the report."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests/gpu"]
    done = subprocess.run(
        command,
        cwd=_root(),
        env=_environment(os.environ, device),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )
    lines = done.stdout.rstrip().splitlines() or [f"pytest said nothing and returned {done.returncode}"]
    passed = done.returncode == 0 and re.search(r"\b\d+ passed", lines[-1]) is not None  # all skipped proves nothing
    return passed, lines[-1:] if passed else lines[-_SHOWN:]


def _environment(given: Mapping[str, str], device: int) -> dict[str, str]:
    """Return the environment of the tests: on the card and not on the simulator, with `device` as number 0."""
    changed = {"FLUIDIO_CUDASIM": given.get("FLUIDIO_CUDASIM", "off")}
    if device:
        cards = given.get("CUDA_VISIBLE_DEVICES") or ",".join(str(n) for n in range(get_cuda_device_count()))
        names = cards.split(",")
        names.insert(0, names.pop(device))
        changed["CUDA_VISIBLE_DEVICES"] = ",".join(names)
    return {**given, **changed}
