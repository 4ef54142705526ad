"""Executor: run programs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from fluidio import distributed
from fluidio.era import era
from fluidio.errors import EOFException
from fluidio.executor.devices import backend_for
from fluidio.executor.feed import check_feed_names, feed_dict, set_feeds
from fluidio.executor.fetch import FetchesUpdates, check_fetch_names, check_given, fetch_names, take
from fluidio.executor.legacy_names import add_feed_fetch_ops
from fluidio.executor.memory import keep_freed_memory, return_freed_memory
from fluidio.executor.observed import observed_run
from fluidio.executor.plan import Plan
from fluidio.executor.plan_cache import PlanCache, PlanKey
from fluidio.executor.plan_cache import take as take_plan
from fluidio.executor.pruned import known_part, pruned_program, split_updates
from fluidio.flow.observer import OBSERVERS
from fluidio.flow.watchdog import WATCHDOG
from fluidio.ops.compiled.blas import enter, leave
from fluidio.places import CPUPlace, CUDAPlace, PlaceLike, is_compiled_with_cuda
from fluidio.program import Program, default_main_program
from fluidio.program.arguments import Feed, FetchList
from fluidio.program.call_site import describe, user_site
from fluidio.tensor import Scope, global_scope

__all__ = ["Executor"]


class Executor:
    """Runs programs on one place.

    Example:
        >>> import fluidio as fluid
        >>> exe = fluid.Executor(fluid.CPUPlace())
        >>> main = fluid.Program()
        >>> with fluid.program_guard(main):
        ...     two = fluid.layers.fill_constant([1], "float32", 2.0)
        >>> float(exe.run(main, fetch_list=[two])[0])
        2.0
    """

    def __init__(self, place: PlaceLike | None = None) -> None:
        if place is None:
            place = CUDAPlace(0) if is_compiled_with_cuda() else CPUPlace()
        self.place = place
        self._dev = backend_for(place)
        self._closed = ""
        keep_freed_memory()

    @property
    def _default_executor(self) -> Any:
        """The `core.Executor` of the place, which loading code hands to functions of `fluid.core`."""
        from fluidio.executor.core_executor import Executor as CoreExecutor

        return CoreExecutor(self.place)

    def run(
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        return_merged: bool = True,
        use_prune: bool = False,
    ) -> list[Any]:
        """Run a program once and return what `fetch_list` names.

        Args:
            program: a Program or CompiledProgram; the default main program if None.
            feed: {name: ndarray or LoDTensor}.
            fetch_list: Variables or names, and optionally what `minimize` returned: then only the ops needed for the
                fetched values and these updates run (Fluid 1.8).
            scope: where persistable variables live; the global scope if None.
            return_numpy: return ndarrays (an error for values with LoD) instead of LoDTensors.
            use_prune: run only the ops needed for the fetched values and for the updates of all optimizers.
            use_program_cache: accepted; plans are always cached, and never used for a program that has changed.

        Several threads may run one program at once. Runs that update variables of the same scope take turns, so every
        step is atomic; read-only runs proceed in parallel.

        Raises:
            EOFException: a reader has no next data; `reset()` it.
            EnforceNotMet: an op failed; the text names it, its inputs and the line that built it.
        """
        if self._closed:
            raise RuntimeError(f"this Executor was closed: {self._closed}; create a new one to continue")
        if program is None:
            program = default_main_program()
        run = self._run_on_gpu if self._dev.is_gpu else self._run
        if not OBSERVERS.all or next(OBSERVERS.skipped, None) is not None:
            return run(program, feed, fetch_list, scope, return_numpy, return_merged, use_prune)
        step = partial(run, program, feed, fetch_list, scope, return_numpy, return_merged, use_prune)
        return observed_run(step, program, repr(self.place), feed, fetch_list)

    def _run_on_gpu(self, *arguments: Any) -> list[Any]:
        with self._dev.active():  # the current GPU is per thread
            return self._run(*arguments)

    def _run(
        self,
        program: Any,
        feed: Any,
        fetch_list: Any,
        scope: Scope | None,
        return_numpy: bool,
        return_merged: bool,
        use_prune: bool,
    ) -> list[Any]:
        if scope is None:
            scope = global_scope()
        elif not isinstance(scope, Scope):
            raise TypeError(f"scope must be a fluid.Scope() or None, got {type(scope).__name__} {scope!r:.60}")
        if use_prune:
            return self._run_pruned(program, feed, fetch_list, scope, return_numpy, return_merged)
        if not isinstance(program, Program):
            return self._run_compiled(program, feed, fetch_list, scope, return_numpy, return_merged)
        try:
            return self.run_program(program, feed, fetch_list, scope, return_numpy)
        except FetchesUpdates:
            return self._run_pruned(program, feed, fetch_list, scope, return_numpy, return_merged)

    def run_program(
        self,
        program: Program,
        feed: Any,
        fetch_list: Any,
        scope: Scope,
        return_numpy: bool,
        reads_first: bool = False,
    ) -> list[Any]:
        """Run a program's plan; with `reads_first`, no other op has run when a reader reaches its end."""
        feed = feed if type(feed) is dict else feed_dict(feed)
        names = fetch_names(fetch_list)
        cache = program.attached.get(PlanCache)
        key: PlanKey = (self._dev, tuple(feed), names, reads_first)
        free = cache.free(key)
        plan = take_plan(free, program.changes)
        if plan is None:
            feed, key, plan = self._compile(program, feed, names, reads_first)
            free = cache.free(key)
        try:
            if not plan.updates:
                return self._step(plan, feed, names, scope, return_numpy)
            with plan.turn(program, scope):
                return self._step(plan, feed, names, scope, return_numpy)
        finally:
            free.append(plan)

    def _step(self, plan: Plan, feed: Any, names: tuple[str, ...], scope: Scope, return_numpy: bool) -> list[Any]:
        f = plan.frame(scope)
        if feed:
            set_feeds(f, plan.feed_slots, plan.feed_variables, feed)
        if plan.given_fetches:
            check_given(f)
        enter()
        try:
            plan.run(f)
        finally:
            leave()
        WATCHDOG.steps += 1
        return take(f, plan.fetch_slots, names, return_numpy) if names else []

    def _run_pruned(
        self, program: Any, feed: Any, fetch_list: Any, scope: Scope, return_numpy: bool, return_merged: bool
    ) -> list[Any]:
        variables, updates = split_updates(fetch_list)
        if not isinstance(program, Program) and not hasattr(program, "_run_by"):
            raise TypeError(
                f"exe.run takes a Program or a CompiledProgram, got {type(program).__name__} {program!r:.60}"
            )
        first = feed[0] if isinstance(feed, (list, tuple)) and feed else feed
        make = partial(self._prune_program, program, feed, variables, updates)
        part = known_part(program, list(first or ()), fetch_names(variables), updates, make)
        return self._run(part, feed, variables, scope, return_numpy, return_merged, False)

    def _compile(
        self, program: Program, feed: dict[str, Any], names: tuple[str, ...], reads_first: bool
    ) -> tuple[dict[str, Any], PlanKey, Plan]:
        if era().unknown_feed_warns:
            unknown = [name for name in feed if name not in program.global_block().vars]
            if unknown:
                warnings.warn(
                    f"exe.run: the program has no variables {unknown}, so what was fed for them is ignored",
                    stacklevel=3,
                )
                feed = {name: value for name, value in feed.items() if name not in unknown}
        check_feed_names(program, list(feed))
        check_fetch_names(program, names)
        program.attached.get(PlanCache).make_room(program.changes)
        key = (self._dev, tuple(feed), names, reads_first)
        return feed, key, Plan(program, list(feed), names, self._dev, reads_first)

    def _run_compiled(
        self, program: Any, feed: Any, fetch_list: Any, scope: Scope, return_numpy: bool, return_merged: bool
    ) -> list[Any]:
        if not hasattr(program, "_run_by"):
            raise TypeError(
                f"exe.run takes a Program or a CompiledProgram, got {type(program).__name__} {program!r:.60}"
            )
        try:
            results: list[Any] = program._run_by(self, feed, fetch_list, scope, return_numpy, return_merged)
        except FetchesUpdates:
            return self._run_pruned(program, feed, fetch_list, scope, return_numpy, return_merged)
        return results

    def epoch(
        self,
        program: Any = None,
        *,
        reader: Any,
        fetch_list: Any = None,
        feed: Any = None,
        scope: Scope | None = None,
        return_numpy: bool = True,
    ) -> Iterator[list[Any]]:
        """Yield the values each step of one epoch fetches: start the reader, run until it ends, reset it.

        The reader is reset however the loop ends: at the end of the data, by `break`, by an error.

        Args:
            reader: a py_reader, loader or file reader; its `start()` (if it has one) and `reset()` are called.

        Example:
            >>> for loss, in exe.epoch(main, fetch_list=[loss], reader=loader):   # doctest: +SKIP
            ...     print(loss)
        """
        start = getattr(reader, "start", None)
        if start is not None:
            start()
        steps, again = 0, start is None  # a file reader may still be at the end where another loop left it
        try:
            while True:
                try:
                    results = self.run(program, feed, fetch_list, scope=scope, return_numpy=return_numpy)
                except EOFException:
                    if steps or not again:
                        return
                    again = False
                    reader.reset()
                    continue
                steps += 1
                yield results
        finally:
            reader.reset()

    def train_from_dataset(
        self,
        program: Program | None = None,
        dataset: Any = None,
        scope: Scope | None = None,
        thread: int = 0,
        debug: bool = False,
        fetch_list: FetchList | None = None,
        fetch_info: Any = None,
        print_period: int = 100,
        fetch_handler: Any = None,
    ) -> None:
        """Run the program for every batch of a `fluid.DatasetFactory` dataset.

        Args:
            thread: accepted; batches are run in order.
            fetch_list: variables to print every `print_period` steps, under the names in `fetch_info`.
            fetch_handler: a `FetchHandler` that is called with values every few seconds.
        """
        from fluidio.executor.from_dataset import run_dataset

        if debug:
            warnings.warn("train_from_dataset: debug has no effect; use fetch_list and print_period", stacklevel=2)
        run_dataset(self, program, dataset, scope, fetch_list, fetch_info, print_period, fetch_handler)

    infer_from_dataset = train_from_dataset

    # Fluid: names that legacy code and tests call.

    @classmethod
    def _split_optimize_ops_in_fetch_list(cls, fetch_list: Any) -> tuple[list[Any], list[Any]]:
        return split_updates(fetch_list)

    @classmethod
    def _prune_program(cls, program: Any, feed: Any = None, fetch_list: Any = None, optimize_ops: Any = None) -> Any:
        first = feed[0] if isinstance(feed, (list, tuple)) and feed else feed
        return pruned_program(program, list(first or ()), fetch_names(fetch_list), optimize_ops or ())

    @classmethod
    def _update_feed(cls, program: Any, feed: Any) -> Any:
        """Return the part of a feed (or of a list of them) that the program has variables for."""
        if isinstance(feed, (list, tuple)):
            return [cls._update_feed(program, one) for one in feed]
        known = getattr(program, "_program", program).global_block().vars
        return {name: value for name, value in feed.items() if name in known}

    def _add_feed_fetch_ops(
        self, program: Program, feed: Feed, fetch_list: FetchList, feed_var_name: str, fetch_var_name: str
    ) -> Program:
        return add_feed_fetch_ops(program, feed, fetch_list, feed_var_name, fetch_var_name)

    def close(self) -> None:
        """Refuse further runs, leave the job's group of trainers and free memory; calling it again is harmless."""
        if not self._closed:
            self._closed = f"{self!r} was closed at {describe(user_site()) or 'an unknown line'}"
            distributed.leave()
            return_freed_memory()

    def __repr__(self) -> str:
        return f"Executor({self.place})"
