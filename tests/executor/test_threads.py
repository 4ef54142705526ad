"""Many threads: what they build and run does not mix."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import EOFException
from fluidio.executor.readers import ops as reader_ops
from fluidio.executor.readers.batch import Batch
from fluidio.recordio import Writer
from fluidio.tensor import scope as scopes

THREADS = 6


@pytest.fixture(autouse=True)
def _crowded() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Run `work(i)` on threads that start together and return what they return."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def build(layers: int) -> tuple[fluid.Program, fluid.Program, Any]:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        y = fluid.layers.data("x", [4])
        for _ in range(layers):
            y = fluid.layers.fc(y, 4, act="relu")
    return main, startup, y


def test_threads_build_programs_side_by_side() -> None:
    expected = [[op.type for op in build(n + 1)[0].global_block().ops] for n in range(THREADS)]
    names = [sorted(build(n + 1)[0].global_block().vars) for n in range(THREADS)]
    for _ in range(10):
        built = at_once(lambda n: build(n + 1)[0].global_block())
        assert [[op.type for op in block.ops] for block in built] == expected
        assert [sorted(block.vars) for block in built] == names
    assert fluid.default_main_program().global_block().ops == []


def test_names_made_by_threads_in_one_generator_differ() -> None:
    with fluid.unique_name.guard():
        made = at_once(lambda _: [fluid.unique_name.generate("w") for _ in range(300)])
    assert len({name for names in made for name in names}) == 300 * THREADS


def test_threads_have_scopes_of_their_own() -> None:
    _, startup, _ = build(2)
    startup.random_seed = 3
    exe = fluid.Executor(fluid.CPUPlace())

    def work(number: int) -> Any:
        scope = fluid.Scope()
        for _ in range(5):
            with fluid.scope_guard(scope):
                exe.run(startup)
                bias = fluid.global_scope().var("fc_0.b_0").get_tensor()
                bias.set(np.full(4, number, "float32"), fluid.CPUPlace())
                assert fluid.global_scope() is scope
                assert np.array(fluid.global_scope().var("fc_0.b_0").get_tensor())[0] == number
        return scope

    assert len({id(scope) for scope in at_once(work)}) == THREADS
    assert fluid.global_scope().find_var("fc_0.b_0") is None


def test_threads_that_ask_a_scope_for_a_new_variable_get_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    both_make_one = threading.Barrier(2)

    class Variable(scopes.ScopeVariable):
        def __init__(self, name: str) -> None:
            both_make_one.wait()
            super().__init__(name)

    monkeypatch.setattr(scopes, "ScopeVariable", Variable)
    scope = fluid.Scope()
    first, second = at_once(lambda _: scope.var("v"), 2)
    assert first is second is scope.find_var("v")


def test_a_thread_without_a_guard_sees_what_the_main_thread_sees() -> None:
    main, scope = fluid.Program(), fluid.Scope()
    with fluid.program_guard(main), fluid.scope_guard(scope):
        assert at_once(lambda _: fluid.default_main_program() is main and fluid.global_scope() is scope) == [True] * 6


def test_a_thread_that_leaves_its_guard_follows_the_main_thread_again() -> None:
    left, changed = threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        with fluid.program_guard(fluid.Program()):
            pass
        left.set()
        changed.wait()
        seen.append(fluid.default_main_program() is main)

    thread = threading.Thread(target=work)
    thread.start()
    left.wait()
    main = fluid.Program()
    with fluid.program_guard(main):
        changed.set()
        thread.join()
    assert seen == [True]


def test_runs_that_update_take_turns() -> None:
    """Every step adds 1 to all of a large parameter: no step is lost, none is seen halfway."""
    counter = fluid.layers.create_global_var([20_000], 0.0, "float32", persistable=True, name="counter")
    fluid.layers.assign(counter + 1.0, counter)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    main = fluid.default_main_program()

    def work(_: int) -> list[float]:
        fetched = [exe.run(main, fetch_list=[counter])[0] for _ in range(20)]
        assert all((each == each[0]).all() for each in fetched)
        return [float(each[0]) for each in fetched]

    seen = sorted(value for values in at_once(work) for value in values)
    assert seen == [float(number) for number in range(1, 20 * THREADS + 1)]


def test_runs_that_only_read_give_each_thread_its_own_result() -> None:
    main, startup, y = build(3)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    inputs = [np.full((2, 4), number, "float32") for number in range(THREADS)]
    expected = [exe.run(main, feed={"x": x}, fetch_list=[y])[0] for x in inputs]

    def work(number: int) -> None:
        for _ in range(20):
            got = exe.run(main, feed={"x": inputs[number]}, fetch_list=[y])[0]
            np.testing.assert_array_equal(got, expected[number])

    at_once(work)


def test_readers_are_made_once_in_a_first_run_of_many_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    second = threading.Event()

    class Slow(Batch):
        """A reader that another thread would begin to make, too, if it could."""

        def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
            made.append(name)
            if len(made) > 1:
                second.set()
            second.wait(0.2)
            super().__init__(name, *args, **kwargs)

    monkeypatch.setattr(reader_ops, "Batch", Slow)
    path = str(tmp_path / "a.recordio")
    with Writer(path, max_num_records=7) as writer:
        writer.write_block([np.arange(120)[:, None]])
    reader = fluid.layers.open_files([path], [[-1, 1]], [0], ["int64"])
    reader = fluid.layers.double_buffer(fluid.layers.batch(fluid.layers.shuffle(reader, 10), 4))
    x = fluid.layers.read_file(reader)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    main = fluid.default_main_program()

    def work(_: int) -> list[int]:
        found: list[int] = []
        while True:
            try:
                found += exe.run(main, fetch_list=[x])[0].reshape(-1).tolist()
            except EOFException:
                return found

    found = [number for numbers in at_once(work) for number in numbers]
    assert sorted(found) == list(range(120))
    assert len(made) == 1
    reader.reset()
