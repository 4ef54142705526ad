"""The guards of tests/conftest.py catch what they are for; each is tried in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.repository import ROOT

pytestmark = pytest.mark.timeout(120)


def _pytest(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `test` under a copy of the conftest and of setup.cfg."""
    (folder / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text("utf-8"), "utf-8")
    (folder / "setup.cfg").write_text((ROOT / "setup.cfg").read_text("utf-8").replace("testpaths = tests", ""), "utf-8")
    (folder / "test_it.py").write_text(test, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_it.py"]
    environment = {"PYTHONPATH": str(ROOT), "FLUIDIO_TEST_GRACE": "2"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_thread_left_behind_fails_the_test(tmp_path: Path) -> None:
    done = _pytest(
        tmp_path,
        "import threading\ndef test_it():\n"
        "    threading.Thread(target=threading.Event().wait, args=(9,), daemon=True, name='lost').start()\n",
    )
    assert done.returncode == 1
    assert "left threads behind: ['lost']" in done.stdout


def test_a_process_left_behind_fails_the_test(tmp_path: Path) -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("child processes are seen on Linux only")
    done = _pytest(
        tmp_path,
        "import subprocess, sys\nkept = []\ndef test_it():\n"
        "    kept.append(subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE))\n",
    )
    assert done.returncode == 1
    assert "left child processes behind" in done.stdout


def test_a_thread_that_ends_is_fine(tmp_path: Path) -> None:
    done = _pytest(
        tmp_path,
        "import threading, time\ndef test_it():\n    threading.Thread(target=time.sleep, args=(0.1,)).start()\n",
    )
    assert done.returncode == 0, done.stdout


def test_skips_are_listed_and_only_those_on_the_list_pass(tmp_path: Path) -> None:
    test = "import pytest\n@pytest.mark.skip(reason='no moon')\ndef test_it(): ...\ndef test_other(): ...\n"
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("# of the sky\n^no (sun|moon)$  # at night\n")
    done = _pytest(tmp_path, test, f"--allowed-skips={allowed}")
    assert done.returncode == 0, done.stdout
    assert "1  no moon" in done.stdout
    allowed.write_text("# nothing\n")
    done = _pytest(tmp_path, test, f"--allowed-skips={allowed}")
    assert done.returncode == 1
    assert "no moon  <- NOT ON THE LIST" in done.stdout
    done = _pytest(tmp_path, test, f"--allowed-skips={allowed}", "-n", "1")
    assert done.returncode == 1


def test_slow_tests_run_only_when_asked_for(tmp_path: Path) -> None:
    test = "import pytest\n@pytest.mark.slow\ndef test_it(): raise KeyError('ran')\n"
    assert "slow: run with --slow" in _pytest(tmp_path, test).stdout
    assert "KeyError: 'ran'" in _pytest(tmp_path, test, "--slow").stdout


def test_the_era_is_restored_after_each_test(tmp_path: Path) -> None:
    test = "from fluidio.era import era, use_era\n" + "".join(
        f"def test_{i}():\n    assert era().name == '1.5'\n    use_era('0.14')\n" for i in range(2)
    )
    assert _pytest(tmp_path, test).returncode == 0
