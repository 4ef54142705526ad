"""The attack on all parsers, short; `.ci/full` runs the long one."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

import pytest

from tests.fuzz import run
from tests.fuzz.targets import TARGETS, corpus
from tests.house.repository import ROOT

_NEEDS_ARROW = ("parquet commands", "arrow commands")


@pytest.fixture(autouse=True)
def _extras(request: pytest.FixtureRequest) -> None:
    """Leave out the targets that need a package which is not installed."""
    called = getattr(request.node, "callspec", None)
    if called and called.params.get("name") in _NEEDS_ARROW and importlib.util.find_spec("pyarrow") is None:
        pytest.skip("extra: pyarrow is not installed")


@pytest.mark.parametrize("name", TARGETS)
def test_good_inputs_are_taken(name: str) -> None:
    assert all(TARGETS[name].attack(data) for data in TARGETS[name].seeds())


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_that_were_finds_once_are_none_now(name: str) -> None:
    assert [TARGETS[name].attack(data) in (True, False) for data in corpus(name)] == [True] * len(corpus(name))


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_give_our_errors_only(name: str) -> None:
    count = 400 // TARGETS[name].effort
    taken = run.attack(name, range(count))
    assert taken < count or not TARGETS[name].allowed  # indexes that do not fit are left aside


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TARGETS)
def test_many_damaged_inputs_in_little_memory(name: str) -> None:
    count = str(6000 // TARGETS[name].effort)
    command = [sys.executable, "-m", "tests.fuzz.run", name, "--count", count, "--seed", "1000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_c_code_holds_under_sanitizers() -> None:
    command = [sys.executable, "-m", "tests.fuzz.sanitized", "recordio", "pickles", "--count", "1500"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stderr[-3000:]
