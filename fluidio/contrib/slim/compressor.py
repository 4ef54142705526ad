"""`contrib.slim.Compressor`: train and evaluate a program, epoch by epoch."""

from __future__ import annotations

import importlib
import logging
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fluidio.contrib.slim.strategies import Strategy, Work, strategies_of
from fluidio.errors import EnforceNotMet
from fluidio.executor import Executor
from fluidio.io import load_persistables, save_inference_model, save_persistables
from fluidio.log_helper import get_logger
from fluidio.places import PlaceLike
from fluidio.program import DataFeeder, Program, program_guard, unique_name
from fluidio.tensor import Scope, scope_guard

__all__ = ["Compressor"]

_LOGGER = get_logger(__name__, logging.INFO, fmt="%(asctime)s-%(levelname)s: %(message)s")

Pairs = Mapping[str, str] | Sequence[tuple[str, str]]


class Compressor:
    """Train a program for some epochs, evaluate it after each, keep checkpoints.

    Fluid: the configuration's strategies changed the network meanwhile. Quantisation and distillation do so here,
    too; pruning and architecture search are left out, with a warning that names them.

    Args:
        train_reader: batches of samples, or feed dicts.
        train_feed_list: (key, variable name) pairs in the order of a sample's columns.
        train_fetch_list: (key, variable name) pairs; "loss" is minimised by `train_optimizer`.
        eval_func: {name: function(program, scope)} to call in place of running `eval_program`.
        teacher_programs, distiller_optimizer: for distillation.
        search_space: accepted; it belongs to architecture search.
    """

    def __init__(
        self,
        place: PlaceLike,
        scope: Scope,
        train_program: Program,
        train_reader: Any = None,
        train_feed_list: Any = None,
        train_fetch_list: Any = None,
        eval_program: Program | None = None,
        eval_reader: Any = None,
        eval_feed_list: Any = None,
        eval_fetch_list: Any = None,
        eval_func: Mapping[str, Callable[..., float]] | None = None,
        save_eval_model: bool = True,
        prune_infer_model: Any = None,
        teacher_programs: Any = (),
        checkpoint_path: str | None = None,
        train_optimizer: Any = None,
        distiller_optimizer: Any = None,
        search_space: Any = None,
        log_period: int = 20,
    ) -> None:
        for name, feed in (("train_feed_list", train_feed_list), ("eval_feed_list", eval_feed_list)):
            if feed is not None and not isinstance(feed, (list, tuple, Mapping)):
                raise TypeError(f"{name} must be a list of pairs (key, variable name), got {type(feed).__name__}")
        self.place, self.scope = place, scope
        self.train_program, self.train_reader = train_program, train_reader
        self.train_feed_list, self.train_fetch_list = _pairs(train_feed_list), _pairs(train_fetch_list)
        self.eval_program, self.eval_reader = eval_program, eval_reader
        self.eval_feed_list, self.eval_fetch_list = _pairs(eval_feed_list), _pairs(eval_fetch_list)
        self.eval_func = dict(eval_func or {})
        self.save_eval_model = save_eval_model
        self.prune_infer_model = prune_infer_model
        self.train_optimizer = train_optimizer
        self.teacher_programs, self.distiller_optimizer = teacher_programs, distiller_optimizer
        self.strategies: list[Strategy] = []
        self.checkpoint_path = checkpoint_path
        self.log_period = log_period
        self.epoch = 0
        self.eval_results: dict[str, list[float]] = {}

    def config(self, config_file: str | Mapping[str, Any]) -> None:
        """Take epochs, the checkpoint folder and strategies from a YAML file (or its parsed content)."""
        content = _yaml(config_file) if isinstance(config_file, str) else config_file
        found = content.get("compressor") or {}
        self.epoch = int(found.get("epoch", self.epoch))
        self.checkpoint_path = found.get("checkpoint_path", self.checkpoint_path)
        names = found.get("strategies") or list(content.get("strategies") or ())
        self.strategies, left_out = strategies_of(content, names)
        if left_out:
            warnings.warn(
                f"Compressor ignores {', '.join(left_out)}: fluidio does not change the size of a network", stacklevel=2
            )

    def run(self) -> Program | None:
        """Train and evaluate; return the evaluated program. Results are in `eval_results`, one for each epoch."""
        exe = Executor(self.place)
        with scope_guard(self.scope):
            work = self._work(exe)
            for epoch in range(self._first_epoch(work), self.epoch):
                for strategy in self.strategies:
                    strategy.begin(work, epoch)
                self._train(work, epoch)
                self._evaluate(work)
                self._save(work, epoch)
                for strategy in self.strategies:
                    strategy.end(work, epoch)
        return work.evaluated

    def _work(self, exe: Executor) -> Work:
        return Work(
            exe,
            self.place,
            self.scope,
            student=self.train_program,
            trained=self._training_program(exe),
            fetch=dict(self.train_fetch_list),
            evaluated=self.eval_program,
            eval_feeds=[name for _, name in self.eval_feed_list],
            eval_fetches=[name for _, name in self.eval_fetch_list],
            teachers=self.teacher_programs,
            distiller_optimizer=self.distiller_optimizer,
        )

    def _training_program(self, exe: Executor) -> Program:
        """Return a copy of the program with the optimizer's ops, whose own variables are set here."""
        if self.train_optimizer is None:
            return self.train_program
        fetch = dict(self.train_fetch_list)
        if "loss" not in fetch:
            raise ValueError(
                f"train_fetch_list needs a pair ('loss', variable name), the value to minimize; it has {sorted(fetch)}"
            )
        program, startup = self.train_program.clone(), Program()
        # The same names in every run, so that checkpoints match.
        with program_guard(program, startup), unique_name.guard("compressor_"):
            self.train_optimizer.minimize(program.global_block().var(fetch["loss"]))
        exe.run(startup)
        return program

    def _train(self, work: Work, epoch: int) -> None:
        keys, names = OrderedDict(work.fetch).keys(), list(work.fetch.values())
        for step, feed in enumerate(self._feeds(work.trained, self.train_reader, self.train_feed_list)):
            results = work.exe.run(work.trained, feed=feed, fetch_list=names)
            if self.log_period and step % self.log_period == 0:
                means = [round(float(np.mean(value)), 6) for value in results]
                _LOGGER.info("epoch:%d; batch_id:%d; %s = %s", epoch, step, keys, means)

    def _evaluate(self, work: Work) -> None:
        program = work.evaluated
        if program is None:
            return
        if self.eval_func:
            means = {name: float(call(program, self.scope)) for name, call in self.eval_func.items()}
        else:
            feeds = self._feeds(program, self.eval_reader, self.eval_feed_list)
            rows = [
                [float(np.mean(value)) for value in work.exe.run(program, feed=feed, fetch_list=work.eval_fetches)]
                for feed in feeds
            ]
            if not rows:
                raise EnforceNotMet("Compressor: eval_reader gave no batch")
            means = dict(zip((key for key, _ in self.eval_fetch_list), np.mean(rows, axis=0).tolist()))
            shown = ", ".join(str(np.float32(mean)) for mean in means.values())
            _LOGGER.info("Final eval result: %s=[%s]", OrderedDict(means).keys(), shown)
        for name, mean in means.items():
            self.eval_results.setdefault(name, []).append(mean)

    def _feeds(self, program: Program, reader: Any, feed_list: list[tuple[str, str]]) -> Iterable[dict[str, Any]]:
        if reader is None:
            raise ValueError("Compressor needs train_reader and eval_reader, but one of them is None")
        feeder = DataFeeder([program.global_block().var(name) for _, name in feed_list], self.place, program)
        for batch in reader():
            if isinstance(batch, Mapping):
                yield dict(batch)
            elif isinstance(batch, list) and len(batch) == 1 and isinstance(batch[0], Mapping):
                yield dict(batch[0])
            else:
                yield feeder.feed(batch)

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def _first_epoch(self, work: Work) -> int:
        """Load the last checkpoint and return the epoch to start with."""
        folder = self.checkpoint_path
        if not folder or not os.path.isdir(folder):
            return 0
        done = [int(name) for name in os.listdir(folder) if name.isdigit()]
        if not done:
            return 0
        epoch = max(done) + 1
        for strategy in self.strategies:
            strategy.resume(work, epoch)
        load_persistables(work.exe, os.path.join(folder, str(max(done)), "persistables"), work.trained)
        return epoch

    def _save(self, work: Work, epoch: int) -> None:
        if not self.checkpoint_path:
            return
        folder = os.path.join(self.checkpoint_path, str(epoch))
        save_persistables(work.exe, os.path.join(folder, "persistables"), work.trained)
        if self.save_eval_model and work.evaluated is not None and self.prune_infer_model:
            feeds, fetches = self.prune_infer_model
            block = work.evaluated.global_block()
            target = os.path.join(folder, "eval_model")
            save_inference_model(target, list(feeds), [block.var(n) for n in fetches], work.exe, work.evaluated)


def _pairs(given: Pairs | None) -> list[tuple[str, str]]:
    items = given.items() if isinstance(given, Mapping) else given or ()
    return [(str(key), str(name)) for key, name in items]


def _yaml(path: str) -> Mapping[str, Any]:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        raise ImportError("Compressor.config reads YAML: pip install pyyaml (or pass what the file holds)") from error
    with open(path, encoding="utf-8") as file:
        content = yaml.safe_load(file)
    if not isinstance(content, Mapping):
        raise ValueError(
            f"{path}: the configuration must be a mapping with the key `compressor`, got {type(content).__name__}"
        )
    return content
