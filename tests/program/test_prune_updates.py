"""Pruning keeps what an optimizer writes only where its op is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid


def _program() -> tuple[fluid.Program, fluid.Program, dict[str, object]]:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = fluid.layers.data("x", [3])
        loss = fluid.layers.mean(fluid.layers.fc(x, 2, param_attr="w"))
        updates, _ = fluid.optimizer.Adam(0.1).minimize(loss)
        w = main.global_block().var("w")
        copy = fluid.layers.create_global_var([3, 2], 0.0, "float32", persistable=True, name="copy")
        assigned = fluid.layers.assign(w, copy)
        again = fluid.layers.fc(x, 2, param_attr="w")
        total = fluid.layers.reduce_sum(w)
    return main, startup, {"assigned": assigned, "again": again, "total": total, "loss": loss, "update": updates[0]}


@pytest.mark.parametrize(
    ("target", "ops"),
    [
        ("assigned", ["assign"]),
        ("again", ["mul", "elementwise_add"]),
        ("total", ["reduce_sum"]),
        ("loss", ["mul", "elementwise_add", "mean"]),
    ],
)
def test_a_use_of_a_parameter_behind_its_update_needs_no_training(target: str, ops: list[str]) -> None:
    main, _, found = _program()
    assert [op.type for op in main._prune([found[target]]).global_block().ops] == ops


def test_an_update_that_is_asked_for_is_kept_with_what_it_needs() -> None:
    main, _, found = _program()
    kept = [op.type for op in main._prune([found["update"]]).global_block().ops]
    assert kept[-1] == "adam" and kept.count("adam") == 1 and "mean_grad" in kept


def test_a_pruned_copy_of_parameters_runs_without_a_feed() -> None:
    main, startup, found = _program()
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        exe.run(main._prune([found["assigned"]]))
        first, second = (np.array(fluid.global_scope().var(name).get_tensor()) for name in ("w", "copy"))
        assert np.array_equal(first, second)


def test_a_program_is_pruned_once_by_the_method_of_its_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def prune(self: Any, program: Any, feed: Any, fetch: Any, optimize_ops: Any) -> Any:
        calls.append((list(feed), [op.type for op in optimize_ops]))
        return program

    monkeypatch.setattr(fluid.Executor, "_prune_program", prune)
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        x = fluid.layers.data("x", [2])
        loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        updates = fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        for _ in range(3):
            exe.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[loss], use_prune=True)
        exe.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[loss, updates], use_prune=True)
    assert calls == [(["x"], []), (["x"], ["sgd", "sgd"])]
