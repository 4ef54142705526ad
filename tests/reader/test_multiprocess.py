"""multiprocess_reader: closures in processes, errors that come home, children that end."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fluidio import reader as R
from fluidio.era import use_era
from fluidio.errors import ReaderError
from fluidio.flow import processes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="closures need fork")
BOTH = pytest.mark.parametrize("use_pipe", [True, False])


def upto(n: int, first: int = 0) -> Callable[[], Iterator[int]]:
    return lambda: iter(range(first, first + n))


@BOTH
@pytest.mark.parametrize("queue_size", [1, 1000])
def test_all_samples_of_all_readers_come_once(use_pipe: bool, queue_size: int) -> None:
    merged = R.multiprocess_reader([upto(50), upto(3, 100), upto(0)], use_pipe, queue_size)
    expected = [*range(50), 100, 101, 102]
    assert sorted(merged()) == sorted(merged()) == expected


def test_a_pipe_takes_one_sample_of_each_reader_in_turn() -> None:
    merged = R.multiprocess_reader([upto(4), upto(2, 10), upto(1, 20)])
    assert list(merged()) == [0, 10, 20, 1, 11, 2, 3]


@BOTH
def test_arrays_and_tuples_arrive_as_they_are(use_pipe: bool) -> None:
    big = np.arange(200_000, dtype="float32")

    def source() -> Iterator[Any]:
        for i in range(3):
            yield big + i, (i, "x"), [1]

    got = list(R.multiprocess_reader([source], use_pipe)())
    assert [s[1:] for s in got] == [((i, "x"), [1]) for i in range(3)]
    assert all(np.array_equal(s[0], big + i) for i, s in enumerate(got))


def test_a_strict_era_turns_tuples_into_lists() -> None:
    with use_era("1.5", strict=True):
        merged = R.multiprocess_reader([lambda: [(1, (2, 3))]])
    assert list(merged()) == [[1, [2, 3]]]


def test_paddles_own_positional_use_is_accepted() -> None:
    for flag in (True, False):
        assert sorted(R.multiprocess_reader([upto(5), upto(5)], 100, flag)()) == sorted([*range(5)] * 2)  # type: ignore[arg-type]


class Odd(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"odd {a} {b}")


@BOTH
@pytest.mark.parametrize("error", [KeyError("line 7"), Odd(1, 2)])
def test_an_error_in_a_child_is_raised_with_its_traceback(use_pipe: bool, error: Exception) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise error

    with pytest.raises(ReaderError, match=r"multiprocess_reader: readers\[1\] raised") as caught:
        list(R.multiprocess_reader([upto(2), source], use_pipe)())
    cause = caught.value.__cause__
    assert cause is not None and (type(cause) is type(error) or "odd 1 2" in str(cause))
    assert "in source" in "".join(cause.__notes__)


@BOTH
def test_none_and_what_cannot_be_pickled_are_errors(use_pipe: bool) -> None:
    with pytest.raises(ReaderError, match="None"):
        list(R.multiprocess_reader([lambda: [None]], use_pipe)())
    with pytest.raises(ReaderError, match="lambda"):
        list(R.multiprocess_reader([lambda: [lambda: 1]], use_pipe)())


@BOTH
def test_a_killed_child_is_an_error(use_pipe: bool) -> None:
    def source() -> Iterator[int]:
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)
        yield 2

    with pytest.raises(ReaderError, match=r"killed by signal 9 \(SIGKILL\)"):
        list(R.multiprocess_reader([source, upto(3)], use_pipe)())


@BOTH
def test_a_child_that_leaves_without_a_word_is_an_error(use_pipe: bool) -> None:
    def source() -> Iterator[int]:
        yield 1
        os._exit(3)

    with pytest.raises(ReaderError, match=r"exit code 3 while it ran readers\[0\]"):
        list(R.multiprocess_reader([source], use_pipe)())


@BOTH
def test_a_child_killed_while_its_own_child_holds_the_pipe_is_an_error(use_pipe: bool) -> None:
    gate, hold = os.pipe()

    def source() -> Iterator[int]:
        yield 1
        if os.fork() == 0:  # keeps the far end of the pipe open until the test is over
            os.close(hold)
            os.read(gate, 1)
            os._exit(0)
        os._exit(3)

    with pytest.raises(ReaderError, match="exit code 3"):
        list(R.multiprocess_reader([source], use_pipe)())
    os.close(hold)
    os.close(gate)


@BOTH
def test_an_abandoned_reader_ends_its_processes(use_pipe: bool) -> None:
    samples = R.multiprocess_reader([itertools.count, itertools.count], use_pipe, 4)()
    next(samples)
    children = multiprocessing.active_children()
    assert len(children) == 2
    del samples
    assert multiprocessing.active_children() == []


def test_a_child_that_ignores_sigterm_is_ended_too() -> None:
    def source() -> Iterator[int]:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        yield from itertools.count()

    samples = R.multiprocess_reader([source])()
    assert next(samples) == 0
    samples.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_no_warning_about_forking_with_threads() -> None:
    gate = threading.Event()
    other = threading.Thread(target=gate.wait)
    other.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert list(R.multiprocess_reader([upto(2)])()) == [0, 1]
    finally:
        gate.set()
        other.join()


def test_workers_inside_workers_are_refused_with_advice() -> None:
    inner = R.multiprocess_reader([upto(2)])
    with pytest.raises(ReaderError, match="use threads"):
        list(R.multiprocess_reader([inner])())


def test_threads_inside_workers_are_fine() -> None:
    assert list(R.multiprocess_reader([R.buffered(R.xmap_readers(str, upto(5), 2, 2, True), 2)])()) == list("01234")


@pytest.mark.parametrize("readers", [(), [], "x", (upto(1),)])
def test_readers_must_be_a_list_that_is_not_empty(readers: Any) -> None:
    with pytest.raises(AssertionError):
        R.multiprocess_reader(readers)


def test_a_reader_must_be_callable() -> None:
    with pytest.raises(ValueError, match=r"readers\[1\]"):
        R.multiprocess_reader([upto(1), None])  # type: ignore[list-item]


def test_without_fork_a_closure_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "context", lambda: multiprocessing.get_context("spawn"))
    with pytest.raises(TypeError, match="top level of a module"):
        list(R.multiprocess_reader([lambda: [1]])())


def test_a_script_that_ends_in_mid_epoch_exits_cleanly() -> None:
    script = """
        import itertools
        from fluidio import reader
        a = reader.multiprocess_reader([itertools.count])()
        b = reader.buffered(itertools.count, 2)()
        c = reader.xmap_readers(str, itertools.count, 2, 2, True)()
        print(next(a), next(b), next(c))
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0 0\n", "")


def test_ctrl_c_ends_all_processes_with_one_traceback() -> None:
    script = """
        import itertools, signal
        from fluidio import reader
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit "ignore"
        print("ready", flush=True)
        for pair in zip(reader.multiprocess_reader([itertools.count] * 2)(), reader.buffered(itertools.count, 2)()):
            pass
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt")


def test_an_interrupt_while_processes_start_is_held_back_and_not_lost() -> None:
    done = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), processes.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("the block ran to its end")
        assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
