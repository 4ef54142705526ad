"""`fluid.incubate.fleet.collective`: workers without servers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fluidio.executor.compiled import CompiledProgram
from fluidio.executor.strategies import BuildStrategy, ExecutionStrategy
from fluidio.incubate.fleet.base.fleet_base import DistributedOptimizer, Fleet, Mode
from fluidio.incubate.fleet.base.role_maker import RoleMakerBase
from fluidio.incubate.fleet.file_system import FS, LocalFS
from fluidio.incubate.fleet.train_status import TrainStatus, clean_checkpoints, load_checkpoint, save_checkpoint
from fluidio.optimizer import RecomputeOptimizer
from fluidio.program import Operator, Program
from fluidio.transpiler import DistributeTranspiler, DistributeTranspilerConfig

if TYPE_CHECKING:
    from fluidio.executor import Executor


__all__ = [
    "Collective",
    "CollectiveOpBasedOptimizer",
    "CollectiveOptimizer",
    "DistFCConfig",
    "DistributedStrategy",
    "LambConfig",
    "TrainStatus",
    "fleet",
]


class LambConfig:
    """Kept, and without effect, as in Fluid."""


class DistFCConfig:
    """Kept, and without effect, as in Fluid."""


class DistributedStrategy(BuildStrategy):
    """How workers train together.

    `half_gradients` is fluidio's own: send float32 gradients as float16.
    """

    def __init__(self) -> None:
        super().__init__()
        self.use_local_sgd = False
        self.use_dist_fc = False
        self.dist_fc_config: Any = None
        self.mode = "nccl2"
        self.collective_mode: Any = None
        self.nccl_comm_num = 1
        self.forward_recompute = False
        self.recompute_checkpoints: list[Any] = []
        self.use_amp = False
        self.amp_loss_scaling = 2**15
        self.exec_strategy: Any = ExecutionStrategy()
        self.half_gradients = False


class Collective(Fleet):
    """Workers that exchange gradients with each other."""

    mode = Mode.COLLECTIVE
    _refusal = AssertionError

    def distributed_optimizer(self, optimizer: object, strategy: object = None) -> CollectiveOptimizer:
        """Wrap an optimizer in fleet's interface."""
        self._optimizer = wrapped = CollectiveOptimizer(optimizer, strategy or DistributedStrategy(), self)
        return wrapped

    def _distribute(self, main: Program, startup: Program, strategy: Any) -> None:
        role = self._role()
        _transpile(role, main, startup, strategy)
        strategy.num_trainers, strategy.trainer_id = role.worker_num(), role.worker_index()
        strategy.trainers_endpoints = role.get_trainer_endpoints()
        self._origin_program, self.startup_program = main, startup
        self.main_program = CompiledProgram(main).with_data_parallel(
            self._loss_name, build_strategy=strategy, exec_strategy=strategy.exec_strategy
        )

    def init_worker(self) -> None:
        _not_collective("init_worker")

    def init_server(self, model_dir: str | None = None) -> None:
        _not_collective("init_server")

    def run_server(self) -> None:
        _not_collective("run_server")

    def run_worker(self, main_programs: object = None, scopes: object = None) -> None:
        _not_collective("run_worker")

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def save_check_point(
        self,
        executor: Executor,
        path: str,
        train_status: TrainStatus,
        main_program: Program | None = None,
        fs: FS | None = None,
        local_cache_path: str = ".cache",
        remain_all_checkpoint: bool = True,
    ) -> None:
        """Save parameters and the epoch in a new folder of `path`, completely or not at all, on the first worker."""
        if self.is_first_worker():
            program, system = self._trained(main_program), fs or LocalFS()
            save_checkpoint(executor, path, train_status, program, system, local_cache_path)
            if not remain_all_checkpoint:
                clean_checkpoints(path, 1, system)

    def load_check_point(
        self,
        executor: Executor,
        path: str,
        trainer_id: int,
        main_program: Program | None = None,
        fs: FS | None = None,
        local_cache_path: str = ".cache",
        ignore_empty: bool = True,
    ) -> TrainStatus | None:
        """Load the last checkpoint of `path` and return its epoch; None without a checkpoint."""
        program = self._trained(main_program)
        found = load_checkpoint(executor, path, program, fs or LocalFS(), local_cache_path, trainer_id)
        if found is None and not ignore_empty:
            raise FileNotFoundError(f"fleet.load_check_point: the folder {path} holds no checkpoint")
        return found

    def clean_redundant_check_points(self, root_path: str, fs: FS | None = None, checkpoint_num: int = 1) -> None:
        """Remove all but the last checkpoints."""
        clean_checkpoints(root_path, checkpoint_num, fs or LocalFS())


def _transpile(role: RoleMakerBase, main: Program, startup: Program, strategy: Any) -> None:
    config = DistributeTranspilerConfig()
    config.mode = "collective" if strategy.mode == "collective" or strategy.use_local_sgd else "nccl2"
    config.collective_mode = "local_sgd" if strategy.use_local_sgd else strategy.collective_mode
    config.half_gradients = bool(getattr(strategy, "half_gradients", False))
    trainers: Any = ",".join(role.get_trainer_endpoints()) or role.worker_num()
    own = role.get_local_endpoint()
    DistributeTranspiler(config).transpile(
        role.worker_index(), program=main, trainers=trainers, startup_program=startup, current_endpoint=own
    )


def _not_collective(name: str) -> None:
    logging.warning("fleet.%s() has no effect: collective mode has no parameter servers", name)


class CollectiveOptimizer(DistributedOptimizer):
    """The optimizer of one of many workers, with the options of a strategy."""

    def __init__(self, optimizer: object, strategy: Any = None, owner: object = None) -> None:
        super().__init__(optimizer, strategy or DistributedStrategy(), owner or fleet)
        if not isinstance(self._strategy.recompute_checkpoints, list):
            raise ValueError("DistributedStrategy.recompute_checkpoints must be a list of Variables or names")

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Iterable[Any] | None = None,
    ) -> tuple[list[Operator], list[Any]]:
        """Append backward and updates, with an exchange of gradients in between."""
        strategy = self._strategy
        if strategy.forward_recompute:
            if not strategy.recompute_checkpoints:
                raise ValueError(
                    "DistributedStrategy.forward_recompute needs checkpoints: set recompute_checkpoints as well"
                )
            self._refuse("forward_recompute", "RecomputeOptimizer", "OptimizerWithMixedPrecision")
            self._optimizer = RecomputeOptimizer(self._optimizer)
            self._optimizer._set_checkpoints(list(strategy.recompute_checkpoints))
        if strategy.use_amp:
            from fluidio.contrib import mixed_precision

            self._refuse("mixed_precision", "OptimizerWithMixedPrecision", "DGCMomentumOptimizer")
            scaling = float(strategy.amp_loss_scaling)
            self._optimizer = mixed_precision.decorate(self._optimizer, init_loss_scaling=scaling)
        return self._minimize(loss, startup_program, parameter_list, no_grad_set)

    def _refuse(self, strategy_name: str, *classes: str) -> None:
        """Raise if the optimizer already does what the strategy asks for."""
        name = type(self._optimizer).__name__
        if name in classes:
            raise ValueError(
                f"the optimizer is a {name} already: do not set DistributedStrategy.{strategy_name} as well"
            )


CollectiveOpBasedOptimizer = CollectiveOptimizer

fleet = Collective()
