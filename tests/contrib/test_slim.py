"""The Compressor trains and evaluates; pruning is left out with a warning, other names raise."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.slim import Compressor


def batches() -> Iterator[list[tuple[Any, Any]]]:
    rng = np.random.RandomState(0)
    for _ in range(8):
        x = rng.rand(4).astype("float32")
        yield [(x, np.array([x.sum()], "float32"))] * 4


def compressor(**options: Any) -> Compressor:
    x, y = fluid.layers.data("x", [4]), fluid.layers.data("y", [1])
    predicted = fluid.layers.fc(x, 1)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(predicted, y))
    main = fluid.default_main_program()
    scope = fluid.Scope()
    with fluid.scope_guard(scope):
        fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    feeds, fetches = [("x", x.name), ("y", y.name)], [("loss", loss.name)]
    return Compressor(
        fluid.CPUPlace(),
        scope,
        main,
        train_reader=batches,
        train_feed_list=feeds,
        train_fetch_list=fetches,
        eval_program=main.clone(for_test=True),
        eval_reader=batches,
        eval_feed_list=dict(feeds),
        eval_fetch_list=fetches,
        train_optimizer=fluid.optimizer.SGD(0.1),
        log_period=0,
        prune_infer_model=[[x.name], [predicted.name]],
        **options,
    )


def test_it_trains_and_evaluates_each_epoch() -> None:
    task = compressor()
    task.config({"compressor": {"epoch": 3}})
    assert task.run() is task.eval_program
    losses = task.eval_results["loss"]
    assert len(losses) == 3 and losses[2] < losses[0]


def test_strategies_are_named_in_a_warning() -> None:
    with pytest.warns(UserWarning, match="ignores uniform_pruning_strategy"):
        compressor().config({"compressor": {"epoch": 1, "strategies": ["uniform_pruning_strategy"]}})


def test_a_second_run_goes_on_after_the_last_checkpoint(tmp_path: Path) -> None:
    task = compressor(checkpoint_path=str(tmp_path))
    task.epoch = 2
    task.run()
    assert (tmp_path / "1" / "persistables").is_dir() and (tmp_path / "1" / "eval_model" / "__model__").is_file()
    task.epoch, task.log_period = 3, 20
    task.run()
    assert len(task.eval_results["loss"]) == 3


def test_a_function_can_evaluate() -> None:
    task = compressor(eval_func={"size": lambda program, scope: len(program.global_block().ops)})
    task.epoch = 1
    task.run()
    assert task.eval_results["size"][0] > 3


def test_missing_parts_are_named() -> None:
    task = compressor()
    task.train_fetch_list, task.epoch = [], 1
    with pytest.raises(ValueError, match="a pair \\('loss'"):
        task.run()
    with pytest.raises(TypeError, match="train_feed_list must be a list"):
        Compressor(fluid.CPUPlace(), fluid.Scope(), fluid.Program(), train_feed_list=3)


@pytest.mark.parametrize("module", ["core", "distillation", "graph", "prune"])
def test_what_shrinks_networks_says_that_it_is_not_here(module: str) -> None:
    found = importlib.import_module(f"fluidio.contrib.slim.{module}")
    with pytest.raises(NotImplementedError, match=f"slim.{module}.Anything"):
        _ = found.Anything
    slim: Any = fluid.contrib.slim
    with pytest.raises(NotImplementedError, match=r"slim\.prune\.auto_prune_strategy\.AutoPruneStrategy"):
        slim.prune.AutoPruneStrategy()
