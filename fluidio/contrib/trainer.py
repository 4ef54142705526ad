"""Trainer, the high-level API of the 2018 book: functions in, events out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fluidio.contrib import checkpoint
from fluidio.contrib.checkpoint import CheckpointConfig
from fluidio.contrib.cluster import find_cluster
from fluidio.contrib.events import BeginEpochEvent, BeginStepEvent, EndEpochEvent, EndStepEvent
from fluidio.executor import Executor
from fluidio.io import load_persistables, save_inference_model, save_persistables
from fluidio.optimizer import Optimizer
from fluidio.places import CPUPlace, CUDAPlace, is_compiled_with_cuda
from fluidio.program import DataFeeder, Program, Variable, program_guard, unique_name
from fluidio.tensor import Scope, scope_guard

__all__ = [
    "BeginEpochEvent",
    "BeginStepEvent",
    "CheckpointConfig",
    "EndEpochEvent",
    "EndStepEvent",
    "Trainer",
]


def check_and_get_place(place: object) -> Any:
    """Return the given place, or the best one of this machine."""
    if place is None:
        return CUDAPlace(0) if is_compiled_with_cuda() else CPUPlace()
    return place


class Trainer:
    """Build a program from functions and train it, with an event handler for everything else.

    PADDLE_TRAINING_ROLE and related variables make it one of many trainers, or a parameter server
    that waits for them in `train`.

    Args:
        train_func: returns the loss, or a list of the loss and metrics.
        optimizer_func: returns the optimizer.
        param_path: a folder of saved parameters to start from.
        place: where to run.
        parallel: accepted; one place is used.
        checkpoint_config: keep checkpoints, and resume from the newest one.
        optimizer: the optimizer itself (Fluid 0.12).
    """

    def __init__(
        self,
        train_func: Callable[[], Any],
        optimizer_func: Any = None,
        param_path: str | None = None,
        place: Any = None,
        parallel: bool = False,
        checkpoint_config: CheckpointConfig | None = None,
        *,
        optimizer: Any = None,
    ) -> None:
        if checkpoint_config is not None and not isinstance(checkpoint_config, CheckpointConfig):
            raise TypeError(
                f"Trainer: checkpoint_config must be a CheckpointConfig, got {type(checkpoint_config).__name__}"
            )
        if parallel:
            warnings.warn("Trainer(parallel=True) trains on one place in fluidio", stacklevel=2)
        self.parallel = parallel
        self.scope = Scope()
        self.startup_program = Program()
        self.train_program = Program()
        self.checkpoint_cfg = checkpoint_config
        self._stopped = False
        with program_guard(self.train_program, self.startup_program), unique_name.guard():
            outputs = train_func()
            self.train_func_outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            self.test_program = self.train_program.clone(for_test=True)
            chosen = optimizer if optimizer is not None else optimizer_func
            chosen = chosen if isinstance(chosen, Optimizer) or hasattr(chosen, "minimize") else chosen()
            if not hasattr(chosen, "minimize"):
                raise TypeError(f"Trainer: optimizer_func must return an optimizer, got {type(chosen).__name__}")
            chosen.minimize(self.train_func_outputs[0])
        self._cluster = find_cluster()
        if self._cluster is not None:
            programs = self._cluster.distribute(self.train_program, self.startup_program)
            self.train_program, self.startup_program = programs
        self.place = check_and_get_place(place)
        self._exe = Executor(self.place)
        with scope_guard(self.scope):
            self._exe.run(self.startup_program)
            if self.checkpoint_cfg is not None:
                checkpoint.restore(self._exe, self.checkpoint_cfg, self.startup_program)
            if param_path:
                load_persistables(self._exe, param_path, self.startup_program)

    def stop(self) -> None:
        """End the training after the current step; call it from the event handler."""
        self._stopped = True

    def train(
        self,
        num_epochs: int,
        event_handler: Callable[[Any], None],
        reader: Callable[[], Iterable[Any]] | None = None,
        feed_order: object = None,
    ) -> None:
        """Train, calling the event handler for every epoch and step.

        Args:
            reader: yields batches of samples; None if the program itself reads until EOF.
            feed_order: names of the variables for the columns of a sample, or {name: column}.
        """
        self._stopped = False
        if self._cluster is not None and self._cluster.is_server:
            self._exe.run(self.train_program, scope=self.scope)
            return
        with scope_guard(self.scope):
            feeder = None if reader is None else DataFeeder(_feeds(self.train_program, feed_order), self.place)
            for epoch in range(num_epochs):
                if self.checkpoint_cfg is not None and epoch < self.checkpoint_cfg.epoch_id:
                    continue
                event_handler(BeginEpochEvent(epoch))
                self._epoch(epoch, event_handler, reader, feeder)
                if self._stopped:
                    return
                event_handler(EndEpochEvent(epoch))
            if self.checkpoint_cfg is not None:
                checkpoint.clean(self.checkpoint_cfg)
        if self._cluster is not None:
            self._exe.close()

    def _epoch(self, epoch: int, handler: Callable[[Any], None], reader: Any, feeder: DataFeeder | None) -> None:
        if reader is None or feeder is None:
            raise ValueError("Trainer.train needs reader and feed_order")
        config = self.checkpoint_cfg
        for step, data in enumerate(reader()):
            if self._stopped:
                return
            if config is not None and config.is_done(epoch, step):
                continue
            begin = BeginStepEvent(epoch, step)
            handler(begin)
            wanted = [v.name for v in self.train_func_outputs] if begin.fetch_metrics else []
            metrics = self._exe.run(self.train_program, feed=feeder.feed(data), fetch_list=wanted)
            if config is not None and config.is_due(epoch, step):
                checkpoint.store(self._exe, config, self.train_program, epoch, step)
            handler(EndStepEvent(epoch, step, metrics))

    def test(self, reader: Callable[[], Iterable[Any]], feed_order: object) -> list[Any]:
        """Return the means of what `train_func` returned over the batches of a reader."""
        names = [v.name for v in self.train_func_outputs]
        totals = np.zeros(len(names))
        count = 0
        with scope_guard(self.scope):
            feeder = DataFeeder(_feeds(self.test_program, feed_order), self.place)
            for data in reader():
                outs = self._exe.run(self.test_program, feed=feeder.feed(data), fetch_list=names)
                totals += [np.asarray(out).reshape(-1)[0] for out in outs]
                count += 1
        if not count:
            raise ValueError("Trainer.test: the reader gave no batch")
        return [total / count for total in totals]

    def save_params(self, param_path: str) -> None:
        """Save the parameters and all other persistable variables."""
        with scope_guard(self.scope):
            save_persistables(self._exe, param_path, self.startup_program)

    def save_inference_model(
        self, param_path: str, feeded_var_names: Sequence[str], target_var_indexes: Sequence[int]
    ) -> None:
        """Save the model whose outputs are those of `train_func` at the given positions."""
        with scope_guard(self.scope):
            targets = [self.train_func_outputs[index] for index in target_var_indexes]
            save_inference_model(param_path, list(feeded_var_names), targets, self._exe, self.test_program)


def _feeds(program: Program, feed_order: object) -> list[Variable]:
    block = program.global_block()
    if feed_order is None:
        return [v for v in block.vars.values() if v.is_data]
    if isinstance(feed_order, (list, tuple)):
        return [block.var(name) for name in feed_order]
    if not isinstance(feed_order, dict):
        raise TypeError(
            "feed_order must be a list of names, a dict of names and positions, or None; got "
            f"{type(feed_order).__name__}"
        )
    if sorted(feed_order.values()) != list(range(len(feed_order))):
        raise ValueError(
            f"feed_order: the positions must be 0 ... {len(feed_order) - 1}, each once; got "
            f"{sorted(feed_order.values())}"
        )
    return [block.var(name) for name in sorted(feed_order, key=lambda name: int(feed_order[name]))]
