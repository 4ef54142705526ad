"""The sentence on top of a run: what holds it up and what to do, from measured waits."""

from __future__ import annotations

from typing import Any

import pytest

from fluidio.pages.advice import Measured, Queue, advise

FILES = Queue("multi_file_reader_0", starved=0.6, blocked=0.0, most=1, threads=2)
BUFFER = Queue("create_double_buffer_reader_0", starved=0.62, blocked=0.0, most=1, threads=1)


def run(**changes: Any) -> Measured:
    usual = Measured(60.0, 0.02, 0.75, 0.2, [FILES._replace(starved=0.01, blocked=0.8)], 0.9, 8, step_seconds=0.02)
    return usual._replace(**changes)


def test_a_slow_source_wants_more_threads_however_few_cores_there_are() -> None:
    slow = run(waiting=0.62, computing=0.35, outside=0.03, queues=[FILES, BUFFER], busy_cores=0.05, cores=2)
    told = advise(slow)
    assert told.kind == "source"
    assert told.text == (
        "the program waits 62 % of the time for `open_files`: the files are slow to read; "
        "give open_files 4 more threads (thread_num=6)"
    )


def test_slow_decoding_wants_as_many_threads_as_there_are_cores() -> None:
    slow = run(waiting=0.5, computing=0.5, queues=[FILES, BUFFER], busy_cores=2.0, cores=3)
    told = advise(slow)
    assert told.kind == "decoding"
    assert "decoding is slow; give open_files 1 more thread (thread_num=3)" in told.text


def test_decoding_on_all_cores_wants_less_compression() -> None:
    slow = run(waiting=0.5, queues=[FILES._replace(threads=8), BUFFER], busy_cores=7.5)
    assert advise(slow).kind == "decoding"
    assert "less compression" in advise(slow).text


def test_a_generator_that_computes_wants_processes_and_one_that_waits_wants_several() -> None:
    queue = Queue("create_py_reader_0", 0.7, 0.0, 2, 1)
    busy = advise(run(waiting=0.7, queues=[queue], busy_cores=1.0))
    idle = advise(run(waiting=0.7, queues=[queue], busy_cores=0.02))
    assert busy.kind == "decoding" and "`py_reader`" in busy.text and "num_workers=4" in busy.text
    assert idle.kind == "source" and "xmap_readers" in idle.text


def test_threads_that_take_the_interpreter_from_steps_are_named() -> None:
    told = advise(run(waiting=0.03, computing=0.9, held_up=0.6, queues=[Queue("create_py_reader_0", 0.02, 0.3, 8, 1)]))
    assert told.kind == "decoding"
    assert "held up 60 % of the time" in told.text


def test_a_slow_step_is_told_with_its_slowest_op() -> None:
    told = advise(run(waiting=0.01, computing=0.97, outside=0.02, slowest_op=("conv2d_grad", 0.41)))
    assert told.kind == "step"
    assert told.text == "the program computes 97 % of the time, 41 % of that in conv2d_grad: data is not slow"


def test_a_small_queue_is_told_where_both_sides_wait_and_the_source_is_quick_enough() -> None:
    queue = Queue("create_py_reader_0", starved=0.4, blocked=0.5, most=2, threads=1)
    told = advise(run(waiting=0.4, computing=0.55, outside=0.05, queues=[queue], busy_cores=0.1))
    assert told.kind == "queue"
    assert told.text.endswith("which is blocked 50 % of it: its queue is too small; give it a capacity of 8")


def test_a_double_buffer_has_no_size_to_change() -> None:
    told = advise(run(waiting=0.3, computing=0.6, queues=[BUFFER._replace(starved=0.3, blocked=0.7)]))
    assert told.kind == "queue"
    assert told.text.endswith("larger batches would even it out")


def test_a_queue_that_is_sometimes_full_does_not_excuse_a_slow_source() -> None:
    queue = Queue("create_py_reader_0", starved=0.7, blocked=0.15, most=2, threads=1)
    assert advise(run(waiting=0.8, computing=0.15, queues=[queue], busy_cores=0.02)).kind == "source"


def test_a_balanced_run_needs_nothing() -> None:
    told = advise(run())
    assert told.kind == "balanced"
    assert "computes 75 % of the time" in told.text


def test_time_between_steps_is_the_scripts_own() -> None:
    assert advise(run(waiting=0.0, computing=0.3, outside=0.7)).kind == "outside"


def test_a_short_run_says_nothing() -> None:
    assert advise(run(seconds=0.1, waiting=0.9)).kind == "short"


@pytest.mark.parametrize("waiting", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("queues", [[], [FILES], [BUFFER], [FILES, BUFFER]])
@pytest.mark.parametrize("busy", [0.0, 1.0, 9.0])
def test_there_is_always_a_sentence(waiting: float, queues: list[Queue], busy: float) -> None:
    told = advise(run(waiting=waiting, queues=queues, busy_cores=busy))
    assert told.text.startswith(f"the program waits {100 * waiting:.0f} % of the time for")
    assert "nan" not in told.text


def test_slow_worker_processes_are_not_taken_for_a_source_that_computes_nothing() -> None:
    queue = Queue("DataLoader", 0.9, 0.0, 2, 1)
    slow = run(waiting=0.9, queues=[queue], busy_cores=0.0, cores=8, processes=2)
    told = advise(slow)
    assert told.kind == "decoding"
    assert told.text.endswith("for `DataLoader`: its 2 worker processes are slow; use more (num_workers=4)")
    assert "one or more for each core" in advise(slow._replace(cores=2)).text


def test_files_that_are_waited_for_without_a_starved_queue_get_the_advice_for_files() -> None:
    told = advise(run(waiting=0.16, queues=[FILES._replace(starved=0.04)], busy_cores=0.6, cores=4))
    assert told.kind == "decoding"
    assert "thread_num=3" in told.text
