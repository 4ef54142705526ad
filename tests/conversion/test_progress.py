"""The progress line: it moves inside of tasks, and its numbers only grow."""

from __future__ import annotations

import io
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fluidio.cli import main
from fluidio.conversion import generate, shared_progress
from fluidio.conversion.progress import Progress
from fluidio.conversion.shared_progress import SharedProgress
from tests.conversion.templates import NUMBERS, contents, write

HELD = """
import os, sys, time

def task_number():
    return 2

def dict_data(task_id):
    for row in range(500):
        yield {"task": task_id, "row": row}
    while task_id == 1 and not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    for row in range(500):
        yield {"task": task_id, "row": row}
"""


class Terminal(io.StringIO):
    """A terminal that opens a gate as soon as it shows a text."""

    def __init__(self, wanted: str, gate: Path) -> None:
        super().__init__()
        self._wanted, self._gate = wanted, gate

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if re.search(self._wanted, text):
            self._gate.touch()
        return super().write(text)


def test_the_line_moves_while_a_task_is_running(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    # Task 1 stops half-way until the line shows task 0 finished and the half: 1 of 3 steps and about half of another.
    shown = Terminal(r"\[#{9,10} *\] 1/3 tasks and shards, 1,500 rows, .*time left 0:", gate)
    script = write(tmp_path, HELD)
    manifest = generate(script, str(tmp_path / "x"), 1, workers=2, args=[str(gate)], progress=shown)
    assert manifest["records"] == 2000
    counts = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) rows,", shown.getvalue())]
    assert counts == sorted(counts)


def test_the_line_moves_before_any_task_is_finished(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    text = HELD.replace("return 2", "return 1").replace("task_id == 1", "True")
    shown = Terminal(r"\[ *\] 0/2 tasks and shards, 500 rows, .*time left unknown", gate)
    generate(write(tmp_path, text), str(tmp_path / "x"), 1, workers=1, args=[str(gate)], progress=shown)
    assert gate.exists()


def test_other_executors_move_the_line_when_a_task_ends(tmp_path: Path) -> None:
    shown = Terminal("never", tmp_path / "gate")
    script = write(tmp_path, NUMBERS)
    with ThreadPoolExecutor(1) as executor:
        generate(script, str(tmp_path / "a" / "x"), 1, args=["3", "10"], executor=executor, progress=shown)
    assert "4/4 tasks and shards" in shown.getvalue()
    generate(script, str(tmp_path / "b" / "x"), 1, args=["3", "10"], workers=2)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_unfinished_tasks_count_by_the_length_of_finished_ones() -> None:
    told = SharedProgress(4)
    shared_progress.serve(told)
    try:
        shared_progress.report()  # no task: nothing to say
        assert told.state(100) == (0, 0, 0.0)
        with shared_progress.telling(2, lambda: (30, 4000)):
            shared_progress.report()
        with shared_progress.telling(1, lambda: (500, 6000)):
            shared_progress.report()
        shared_progress.report()  # the task is over: what it said last stays until it is cleared
    finally:
        shared_progress.serve(None)
    assert told.state(100) == pytest.approx((530, 10000, 0.3 + 0.99))
    assert told.state(0) == (530, 10000, 0.0)  # no task is finished: nobody knows
    told.clear(1)
    assert told.state(100) == pytest.approx((30, 4000, 0.3))


def test_a_line_counts_kept_steps_and_running_ones() -> None:
    progress = Progress(4, "tasks")
    progress.step(10, 100, kept=True)
    assert re.fullmatch(r"\[#{5} {15}\] 1/4 tasks, 1 kept, time left unknown", progress.line())
    progress.running(5, 50, 0.5)
    assert re.fullmatch(r"\[#{7} {13}\] 1/4 tasks, 5 rows, .* rows/s, .* MB/s, 1 kept, time left 0:00", progress.line())
    for _ in range(3):
        progress.step(10, 100)
    assert re.fullmatch(r"\[#{20}\] 4/4 tasks, .* rows/s, .* MB/s, 1 kept, took 0:00", progress.line())


@pytest.mark.parametrize("words", ["convert SCRIPT --output OUT -- 3 10", "cp X NEW", "export X --to npz --output NEW"])
@pytest.mark.parametrize("on_terminal", [False, True])
def test_commands_show_progress_on_a_terminal_and_are_quiet_in_a_pipe(
    words: str, on_terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = write(tmp_path, NUMBERS)
    generate(script, str(tmp_path / "x"), 1, args=["3", "10"], workers=1)
    places = {"SCRIPT": script, "OUT": "out", "NEW": "new", "X": "x-00000-of-00000"}
    command = [str(tmp_path / places[word]) if word in places else word for word in words.split()]
    stream = Terminal("never", tmp_path / "gate") if on_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(command) == 0
    assert bool(stream.getvalue()) is on_terminal
