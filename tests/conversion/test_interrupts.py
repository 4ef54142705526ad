"""Ctrl-C ends a command at once, however long its pieces of work are, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fluidio.cli import main
from fluidio.conversion import copying, export, generate, pool, reshard
from fluidio.recordio import Writer
from tests.conversion.templates import write


@pytest.fixture
def data(tmp_path: Path) -> str:
    with Writer(tmp_path / "x", "none", 10) as writer:
        for number in range(100):
            writer.write(str(number))
    return str(tmp_path / "x")


def test_tasks_cancelled_before_an_interrupt_leave_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(threading, "excepthook", said.append)

    def interrupted(executor: Any) -> None:
        futures = [executor.submit(signal.pause) for _ in range(20)]
        while sum(future.running() for future in futures) < 2:  # one in the worker, one at least in its queue
            os.sched_yield()
        for future in futures:
            future.cancel()
        (worker,) = executor._processes.values()
        terminate, thread = worker.terminate, executor._executor_manager_thread

        def slowly() -> None:
            terminate()
            if threading.current_thread() is not thread:
                thread.join()  # it has found the worker gone

        monkeypatch.setattr(worker, "terminate", slowly)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), pool.local(1) as executor:
        interrupted(executor)
    assert not said


def test_a_pool_does_not_wait_for_work_that_never_ends() -> None:
    with pytest.raises(KeyboardInterrupt), pool.local(2) as workers:
        assert workers.submit(int).result() == 0  # they run
        workers.submit(signal.pause)
        raise KeyboardInterrupt


TEMPLATE = """
import os, signal

def task_number():
    return 2

def dict_data(task):
    yield {"x": task}
    if task:
        os.kill(os.getppid(), signal.SIGINT)
        signal.pause()
"""


@pytest.mark.skipif(not hasattr(signal, "pause"), reason="platform: there is no signal.pause")
def test_an_interrupted_conversion_keeps_finished_tasks_only(tmp_path: Path) -> None:
    template = write(tmp_path, TEMPLATE)
    with pytest.raises(KeyboardInterrupt):
        generate(template, str(tmp_path / "out" / "x"), 1, workers=1)
    names = sorted(name for _, _, found in os.walk(tmp_path / "out") for name in found)
    assert not [name for name in names if ".part-" in name]
    assert [name for name in names if name.startswith("task-")]


def test_one_file_is_exported_in_the_main_thread(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[threading.Thread] = []
    work = export._export_one

    def observed(*job: Any) -> Any:
        seen.append(threading.current_thread())
        return work(*job)

    monkeypatch.setattr(export, "_export_one", observed)
    assert main(["export", data, "--to", "npz", "--output", f"{data}-to"]) == 0
    assert seen == [threading.main_thread()]


def test_an_interrupt_ends_copies_that_never_end(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def endless(source: str, target: str, report: Callable[[int], object]) -> tuple[int, str]:
        begun.set()
        while True:
            report(1)

    def interrupted(jobs: dict[Any, str], *_: Any) -> None:
        if jobs:
            begun.wait()
            raise KeyboardInterrupt

    monkeypatch.setattr(copying, "_copy_whole", endless)
    monkeypatch.setattr(copying, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copying.copy([data], str(tmp_path / "to"))


def test_an_interrupted_recompression_says_nothing_else(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    left = 3

    def interrupted(count: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    monkeypatch.setattr(reshard, "note", interrupted)
    with pytest.raises(KeyboardInterrupt):  # and no "Exception ignored in: Writer.__del__", which would be an error
        reshard.recompress_all([data], [f"{data}-new"], "snappy")
    assert not os.path.exists(f"{data}-new")
