"""Threads that use something for the first time at the same moment: each test holds one of them up in the middle."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.distributed import process
from fluidio.distributed.communicator import Alone, Member
from fluidio.distributed.membership import Membership
from fluidio.executor import compiled, plan_cache
from fluidio.executor.plan import Plan
from fluidio.names import stand_ins
from fluidio.program import op_def
from fluidio.tensor import Scope
from tests.executor.test_threads import at_once


def a_moment_later(work: Callable[[], Any], began: threading.Event) -> tuple[threading.Thread, list[Any]]:
    """Run `work` in a thread as soon as `began` is set."""
    found: list[Any] = []

    def run() -> None:
        assert began.wait(10)
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def test_threads_that_ask_a_variable_for_its_tensor_get_the_same_one() -> None:
    both = threading.Barrier(2)

    class Tensor:
        def __init__(self) -> None:
            both.wait(10)

    variable = fluid.Scope().var("v")
    first, second = at_once(lambda _: variable._get(Tensor, "a tensor"), 2)
    assert first is second is variable.value


def test_a_variable_that_is_made_while_a_plan_looks_for_it_is_found_by_the_next_run() -> None:
    class Late(Scope):
        """Another thread makes a variable just after the plan has missed it."""

        def find_var(self, name: str) -> Any:
            found = super().find_var(name)
            if found is None and name == "late":
                self.var("late").get_tensor().set(np.ones(2, "float32"), fluid.CPUPlace())
            return found

    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        late = main.global_block().create_var(name="late", shape=[2], dtype="float32")
        doubled = fluid.layers.scale(late, 2.0)
    exe, scope = fluid.Executor(fluid.CPUPlace()), Late()
    with pytest.raises(fluid.core.EnforceNotMet):
        exe.run(main, fetch_list=[doubled], scope=scope)
    assert exe.run(main, fetch_list=[doubled], scope=scope)[0].tolist() == [2.0, 2.0]


def test_an_op_is_known_to_a_thread_that_asks_while_another_one_loads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ops_of_a_test.py").write_text(
        "from fluidio.program import op_def\n"
        "import threading\n"
        "began, ready = threading.Event(), threading.Event()\n"
        "op_def.waiting.append((began, ready))\n"
        "began.set()\n"
        "ready.wait(10)\n"
        "op_def.OP_TABLE['op_of_a_test'] = op_def.OP_TABLE['relu']\n"
        "op_def.filled(__name__)\n"
    )
    waiting: list[tuple[threading.Event, threading.Event]] = []
    monkeypatch.setattr(op_def, "waiting", waiting, raising=False)
    monkeypatch.setattr(op_def, "OP_TABLE", dict(op_def.OP_TABLE, relu=op_def.find_op("relu")))
    monkeypatch.setattr(op_def, "_unloaded", ["ops_of_a_test"])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ops_of_a_test", raising=False)
    always = threading.Event()
    always.set()
    first, found = a_moment_later(lambda: op_def.find_op("op_of_a_test"), always)
    while not waiting:
        assert first.is_alive()
    began, ready = waiting[0]
    second, found_too = a_moment_later(lambda: op_def.find_op("op_of_a_test"), began)
    second.join(0.05)
    ready.set()
    first.join()
    second.join()
    assert found == found_too == [op_def.find_op("relu")]
    assert op_def._unloaded == []


def test_a_compiled_program_may_be_run_for_the_first_time_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    places = compiled._places_like
    second = threading.Event()

    def slowly(place: Any) -> Any:
        second.wait(0.1)
        return places(place)

    monkeypatch.setattr(compiled, "_places_like", slowly)
    monkeypatch.setenv("CPU_NUM", "2")
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [3]), 2))
        fluid.optimizer.SGD(0.1).minimize(loss)
    exe, scope = fluid.Executor(fluid.CPUPlace()), fluid.Scope()
    exe.run(startup, scope=scope)
    program = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name)
    feed = {"x": np.ones((4, 3), "float32")}
    results = at_once(lambda _: exe.run(program, feed=feed, fetch_list=[loss], scope=scope)[0])
    assert all(result.shape == (2,) for result in results)


def test_trainers_meet_once_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    joins: list[int] = []
    second = threading.Event()

    def join(membership: Membership) -> Any:
        joins.append(1)
        if len(joins) > 1:
            second.set()
        second.wait(0.1)
        return Alone(Member(0, "here", 1))

    monkeypatch.setattr(process, "_join", join)
    monkeypatch.setattr(process, "_end_together", lambda: None)
    monkeypatch.setattr(process, "is_alone", lambda: False)
    monkeypatch.setattr(process, "_membership", Membership(0, 2, ("a:1", "b:1")))
    monkeypatch.setattr(process, "_group", None)
    groups = at_once(lambda _: process.group(), 3)
    assert len(joins) == 1 and len({id(group) for group in groups}) == 1


def test_a_name_that_is_not_here_is_one_class_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)
    make = stand_ins._NotHereType

    def slowly(*args: Any) -> Any:
        both.wait(10)
        return make(*args)

    monkeypatch.setattr(stand_ins, "_made", {})
    monkeypatch.setattr(stand_ins, "_NotHereType", slowly)
    first, second = at_once(lambda _: stand_ins._stand_in("fluid.dygraph.base", "no_grad"), 2)
    assert first is second


def test_threads_that_run_side_by_side_keep_a_plan_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_plans: list[int] = []
    init = Plan.__init__

    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        compiled_plans.append(1)
        init(self, *args, **kwargs)

    monkeypatch.setattr(Plan, "__init__", counted)
    both = threading.Barrier(2)
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.layers.data("x", [1])
        y = main.current_block().create_var(name="y", shape=[-1, 1], dtype="float32")

        def meet(value: Any) -> Any:
            both.wait(10)
            return np.asarray(value)

        fluid.layers.py_func(meet, x, y)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.ones((1, 1), "float32")}
    at_once(lambda _: [exe.run(main, feed=feed, fetch_list=[y]) for _ in range(5)], 2)
    assert len(compiled_plans) == 2
    fluid.layers.fill_constant([1], "float32", 0.0)
    cache = main.attached.get(plan_cache.PlanCache)
    cache.make_room(main.changes + 1)
    assert not any(cache._free.values())


def test_a_thread_that_leaves_its_guard_follows_the_main_thread_even_if_that_has_moved_on() -> None:
    inside, moved = threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(fluid.Program(), fluid.Program()):
            inside.set()
            moved.wait(10)
        seen.append(fluid.global_scope() is scope and fluid.default_main_program() is main)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    scope, main = fluid.Scope(), fluid.Program()
    with fluid.scope_guard(scope), fluid.program_guard(main):
        moved.set()
        thread.join()
    assert seen == [True]


def test_a_guard_of_a_thread_holds_though_the_main_thread_moves_on() -> None:
    inside, moved = threading.Event(), threading.Event()
    seen: list[bool] = []
    before = fluid.global_scope()

    def work() -> None:
        with fluid.scope_guard(before):
            inside.set()
            moved.wait(10)
            seen.append(fluid.global_scope() is before)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    with fluid.scope_guard(fluid.Scope()):
        moved.set()
        thread.join()
    assert seen == [True]
