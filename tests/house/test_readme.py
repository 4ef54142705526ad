"""The code blocks of README.md and docs/ run, and print what stands under them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import markdown
from tests.house.repository import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_OTHERS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
_PROGRAMS = [(page, block, output) for page in PAGES for block, output in markdown.programs(page)]
_COMMANDS = [(page, command, output) for page in PAGES for command, output in markdown.commands(page)]


def _environment() -> dict[str, str]:
    """Return an environment in which `python` and `fluidio` are those of this run."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}


@pytest.mark.parametrize(("block", "output"), [pytest.param(b, o, id=f"{p.name}:{b.line}") for p, b, o in _PROGRAMS])
def test_a_python_block_runs(block: markdown.Block, output: str | None, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.text, "utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert output is None or markdown.matches(output, done.stdout), done.stdout


@pytest.mark.parametrize(("command", "output"), [pytest.param(c, o, id=f"{p.name}:{c}") for p, c, o in _COMMANDS])
def test_a_console_block_marked_run_prints_what_it_says(command: str, output: str, tmp_path: Path) -> None:
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert markdown.matches(output, done.stdout), done.stdout


@pytest.mark.parametrize("end", ["fluidio demo", "pytest -q -n auto"])
def test_there_is_one_set_up_line_for_the_demo_and_one_for_the_tests(end: str) -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len([line for line in lines if line.startswith("python3 -m venv") and line.endswith(end)]) == 1


def test_local_links_lead_to_files() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [*PAGES, *(ROOT / name for name in _OTHERS)]
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_blocks_and_their_output_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# T\n```python\nprint(1)\n```\n\n<!-- output -->\n```text\n1\n```\n"
        "<!-- not-run -->\n```python\nboom\n```\n<!-- run -->\n```console\n$ echo a\na\n$ echo b\nb\n```\n"
    )
    assert [(block.text, block.line, output) for block, output in markdown.programs(page)] == [("print(1)\n", 3, "1\n")]
    assert markdown.commands(page) == [("echo a", "a\n"), ("echo b", "b\n")]
    assert markdown.matches("a ... c", "a b\n c\n")
    assert not markdown.matches("a", "b")
