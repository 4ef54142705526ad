"""CompiledProgram and ParallelExecutor: programs on several places of one machine."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from fluidio.distributed import is_alone
from fluidio.distributed.rewrite import sharing_program, synchronise_batch_norms, train_together
from fluidio.era import era
from fluidio.errors import not_supported
from fluidio.executor.executor import Executor
from fluidio.executor.feed import check_feed_names
from fluidio.executor.fetch import check_fetch_names, fetch_names, take
from fluidio.executor.frame import Frame
from fluidio.executor.parallel import ParallelPlan, Replicas
from fluidio.executor.split import join_fetched, split_feed
from fluidio.executor.strategies import BuildStrategy, ExecutionStrategy
from fluidio.executor.turns import Turns
from fluidio.flow.watchdog import WATCHDOG
from fluidio.ops.compiled.blas import enter, leave
from fluidio.ops.threads import limited
from fluidio.places import CPUPlace, CUDAPlace, PlaceLike, cpu_places, cuda_means_cpu, cuda_places, unwrap
from fluidio.program import Program, default_main_program
from fluidio.program.arguments import Feed, FetchList
from fluidio.program.attached import Attached
from fluidio.program.ir_graph import Graph
from fluidio.tensor import LoDTensor, Scope, global_scope
from fluidio.tensor.array import Array

__all__ = ["CompiledProgram", "ParallelExecutor"]

_PLANS = 16
_compiling = threading.RLock()  # several threads may run a program for the first time


def _has_backward(program: Program) -> bool:
    return any(op.type.endswith("_grad") for block in program.blocks for op in block.ops)


def _without_feeds(program: Program) -> Program:
    """Remove the feed ops of a loaded model: what is fed goes to the places by itself."""
    block = program.global_block()
    for index in reversed([i for i, op in enumerate(block.ops) if op.type == "feed"]):
        block._remove_op(index)
    return program


class CompiledProgram:
    """A program with a way to run it; `Executor.run` takes it in place of the program.

    Example:
        >>> import fluidio as fluid
        >>> x = fluid.layers.data("x", [2])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, size=1))
        >>> program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
        ...     loss_name=loss.name, places=fluid.cpu_places(2))
    """

    def __init__(self, program_or_graph: object, build_strategy: BuildStrategy | None = None) -> None:
        if isinstance(program_or_graph, Graph):
            program_or_graph = program_or_graph.program
        if not isinstance(program_or_graph, Program):
            raise TypeError(
                f"CompiledProgram takes a Program or a graph, got {type(program_or_graph).__name__} "
                f"{program_or_graph!r:.60}"
            )
        self._program = _without_feeds(program_or_graph)
        self._build_strategy = build_strategy or BuildStrategy()
        self._exec_strategy = ExecutionStrategy()
        self._is_data_parallel = False
        self._is_inference = False
        self._loss_name: str | None = None
        self._share_vars_from: CompiledProgram | None = None
        self._places: list[Any] | None = None
        self._scope: Scope | None = None
        self._replicas: Replicas | None = None
        self._plans: dict[Any, ParallelPlan] = {}
        self._turns = Turns()
        self.attached = Attached()

    def with_data_parallel(
        self,
        loss_name: str | None = None,
        build_strategy: BuildStrategy | None = None,
        exec_strategy: ExecutionStrategy | None = None,
        share_vars_from: CompiledProgram | None = None,
        places: object = None,
    ) -> CompiledProgram:
        """Run on several places: each step takes one batch per place, averages gradients and joins fetched values.

        Args:
            loss_name: the loss, for training.
            share_vars_from: a data-parallel program that has already run and whose variables to share.
            places: `fluid.cpu_places(n)`; all places of the executor's kind by default.
        """
        assert not self._is_data_parallel, (
            "with_data_parallel() was already called: make another CompiledProgram to choose other settings"
        )
        assert not self._is_inference, (
            "with_data_parallel() after with_inference_optimize(): a CompiledProgram is made for one of the two"
        )
        if loss_name is None and era().checks_layer_arguments and _has_backward(self._program):
            raise AssertionError(
                "with_data_parallel() needs loss_name here, because the program has a backward pass: pass "
                "loss_name=loss.name"
            )
        self._is_data_parallel = True
        self._loss_name = loss_name
        self._build_strategy = build_strategy or self._build_strategy
        self._exec_strategy = exec_strategy or self._exec_strategy
        if self._exec_strategy.num_iteration_per_run > 1:
            warnings.warn("ExecutionStrategy.num_iteration_per_run has no effect in fluidio", stacklevel=2)
        self._meet_trainers(self._build_strategy)
        self._share_vars_from = share_vars_from
        if places is not None:
            self._places = list(places) if isinstance(places, (list, tuple)) else [places]
        return self

    def _meet_trainers(self, strategy: BuildStrategy) -> None:
        """Apply a strategy's settings for other trainers."""
        if strategy.num_trainers > 1:
            train_together(self._program, strategy.trainer_id, strategy.num_trainers, strategy.trainers_endpoints)
        if strategy.sync_batch_norm is not True:
            return
        if is_alone():
            warnings.warn("BuildStrategy.sync_batch_norm has no effect between the places of one process", stacklevel=3)
        else:
            synchronise_batch_norms(self._program)

    def _with_inference_optimize(self, config: object) -> CompiledProgram:
        """Return the program unchanged: plans need no passes of an inference library."""
        assert not self._is_data_parallel, (
            "with_inference_optimize() after with_data_parallel(): a CompiledProgram is made for one of the two"
        )
        assert not self._is_inference, (
            "with_inference_optimize() was already called: make another CompiledProgram to choose other settings"
        )
        self._is_inference = True
        return self

    with_inference_optimize = _with_inference_optimize

    def _run_by(
        self, exe: Executor, feed: Feed, fetch_list: FetchList, scope: Scope, return_numpy: bool, return_merged: bool
    ) -> list[Array]:
        threads = self._exec_strategy.num_threads
        with limited(threads) if threads > 0 else nullcontext():
            return self._run_on_places(exe, feed, fetch_list, scope, return_numpy, return_merged)

    def _run_on_places(
        self, exe: Executor, feed: Any, fetch_list: Any, scope: Scope, return_numpy: bool, return_merged: bool
    ) -> list[Any]:
        if not self._is_data_parallel:
            return exe.run_program(self._program, feed, fetch_list, scope, return_numpy, reads_first=True)
        places = self._compile(exe, scope)
        if len(places) > 1 and self._build_strategy.sync_batch_norm is True and not is_alone():
            not_supported(
                "BuildStrategy.sync_batch_norm with several places in each of several trainers",
                "start a trainer for each place",
            )
        if len(places) == 1:
            results = exe.run_program(self._program, feed, fetch_list, scope, return_numpy, reads_first=True)
            return results if return_merged else [[result] for result in results]
        return self._run_parallel(places, feed, fetch_list, scope, return_numpy, return_merged)

    def _compile(self, exe: Executor, scope: Scope) -> list[Array]:
        if self._scope is None:
            with _compiling:
                if self._scope is None:
                    if self._places is None:
                        self._places = list(_places_like(exe.place))
                    self._check_places(exe)
                    self._replicas = self._shared_replicas() or Replicas(len(self._places))
                    self._scope = scope  # last: what other threads look at
        if self._scope is not scope:
            raise ValueError(
                "this CompiledProgram has already run in another scope (the argument `scope` of exe.run, or "
                "fluid.scope_guard): run it there, or compile the program again"
            )
        assert self._places is not None
        return self._places

    def _check_places(self, exe: Executor) -> None:
        assert self._places is not None
        kinds = {type(unwrap(place)) for place in self._places}
        if not cuda_means_cpu() and type(unwrap(exe.place)) not in kinds:
            raise AssertionError(
                f"the executor runs on {exe.place}, but the program was compiled for {self._places}: pass "
                "with_data_parallel(places=...) places of the executor's kind"
            )

    def _shared_replicas(self) -> Replicas | None:
        source = self._share_vars_from
        if source is None:
            return None
        if not isinstance(source, CompiledProgram) or not source._is_data_parallel:
            raise ValueError(
                "share_vars_from must be a CompiledProgram on which with_data_parallel() was called: its "
                "variables are to be shared"
            )
        if source._scope is None:
            raise ValueError("share_vars_from has no variables to share yet: run that program first")
        same = source._replicas is not None and len(source._places or ()) == len(self._places or ())
        return source._replicas if same else None

    def _run_parallel(
        self, places: Sequence[Any], feed: Any, fetch_list: Any, scope: Scope, return_numpy: bool, return_merged: bool
    ) -> list[Any]:
        variables = self._program.global_block().vars
        feeds = split_feed(feed, len(places), lambda name: name in variables and variables[name].persistable)
        names = fetch_names(fetch_list)
        if getattr(self._exec_strategy, "_dry_run", False):
            return [np.empty(0, np.float32) for _ in names]
        plan = self._plan(places, tuple(feeds[0]), names)
        assert self._replicas is not None
        with self._turns.of(scope):  # only one thread at a time may use the plan
            enter()
            try:
                frames = plan.run(scope, feeds, self._replicas)
            finally:
                leave()
            WATCHDOG.steps += 1
            each = [_fetch(f, names, return_numpy) for f in frames] if names else []
        columns = [list(column) for column in zip(*each)]
        return [join_fetched(column) for column in columns] if return_merged else columns

    def _plan(self, places: Sequence[PlaceLike], feeds: tuple[str, ...], names: tuple[str, ...]) -> ParallelPlan:
        key = (feeds, names)
        plan = self._plans.get(key)
        if plan is None or plan.version != self._program.changes:
            check_feed_names(self._program, feeds)
            check_fetch_names(self._program, names)
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            scales = BuildStrategy.GradientScaleStrategy
            scale = {scales.CoeffNumDevice: 1.0 / len(places), scales.One: 1.0, scales.Customized: None}[
                scales(self._build_strategy.gradient_scale_strategy)
            ]
            plan = ParallelPlan(
                self._program, feeds, names, places, scale, bool(self._build_strategy.enable_data_balance)
            )
            self._plans[key] = plan
        return plan


def _fetch(f: Frame, names: tuple[str, ...], return_numpy: bool) -> list[Array]:
    with f.plan.dev.active():
        return take(f, f.plan.fetch_slots, names, return_numpy)


def _places_like(place: PlaceLike) -> Sequence[Any]:
    on_gpu = isinstance(unwrap(place), CUDAPlace) and not cuda_means_cpu()
    return cuda_places() if on_gpu else cpu_places()


class ParallelExecutor:
    """The older data-parallel interface: an executor bound to one program.

    Fluid: 0.12 also took num_threads, allow_op_delay, customize_loss_grad; they are accepted.
    """

    _IGNORED = ("num_threads", "allow_op_delay", "customize_loss_grad", "use_default_grad_scale", "use_nccl_allreduce")
    _warned: set[str] = set()

    def __init__(
        self,
        use_cuda: bool,
        loss_name: str | None = None,
        main_program: Program | None = None,
        share_vars_from: ParallelExecutor | None = None,
        exec_strategy: ExecutionStrategy | None = None,
        build_strategy: BuildStrategy | None = None,
        num_trainers: int = 1,
        trainer_id: int = 0,
        scope: Scope | None = None,
        **kwargs: object,
    ) -> None:
        for name in kwargs:
            if name not in self._IGNORED:
                raise ValueError(
                    f"ParallelExecutor has no argument {name!r}: set it in an ExecutionStrategy or a BuildStrategy"
                )
            if name not in self._warned:
                self._warned.add(name)
                warnings.warn(f"ParallelExecutor: {name} has no effect in fluidio", stacklevel=2)
        if share_vars_from is not None and not isinstance(share_vars_from, ParallelExecutor):
            raise AssertionError(
                "ParallelExecutor: share_vars_from must be another ParallelExecutor, got "
                f"{type(share_vars_from).__name__}"
            )
        places: Sequence[Any] = cuda_places() if use_cuda else cpu_places()
        self._exe = Executor(places[0] if use_cuda else CPUPlace())
        self._scope = scope or global_scope()
        program = main_program or default_main_program()
        if num_trainers > 1:
            train_together(program, trainer_id, num_trainers)
            self._take_first_parameters(program)
        self._program: CompiledProgram = CompiledProgram(program).with_data_parallel(
            loss_name,
            build_strategy,
            exec_strategy,
            None if share_vars_from is None else share_vars_from._program,
            places,
        )

    def _take_first_parameters(self, program: Program) -> None:
        """Start from the parameters of trainer 0, as Fluid's ParallelExecutor does."""
        variables = [self._scope.find_var(v.name) for v in program.list_vars() if v.persistable]
        names = sorted(v.name for v in variables if v is not None and isinstance(v.value, LoDTensor))
        if names and not is_alone():
            self._exe.run(sharing_program(program, names), scope=self._scope)

    @property
    def device_count(self) -> int:
        return len(self._program._places or ())

    def run(
        self,
        fetch_list: object,
        feed: object = None,
        feed_dict: object = None,
        return_numpy: bool = True,
    ) -> list[Any]:
        """Run the program once on all places."""
        if feed is None and feed_dict is not None:
            feed = feed_dict
        return self._exe.run(
            self._program, feed=feed, fetch_list=fetch_list, scope=self._scope, return_numpy=return_numpy
        )

    def drop_local_exe_scopes(self) -> None:
        """Do nothing: there are no scopes to drop."""
