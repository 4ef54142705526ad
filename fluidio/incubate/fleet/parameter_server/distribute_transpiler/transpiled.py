"""Fleet with parameter servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fluidio import io
from fluidio.era import era
from fluidio.incubate.fleet.base.fleet_base import DistributedOptimizer, Fleet, Mode
from fluidio.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import DistributedStrategy
from fluidio.program import Operator, Program, Variable, default_main_program, default_startup_program
from fluidio.transpiler import DistributeTranspiler, DistributeTranspilerConfig

__all__ = ["DistributedTranspiler", "TranspilerOptimizer", "fleet"]


class DistributedTranspiler(Fleet):
    """Workers and parameter servers, through DistributeTranspiler."""

    mode = Mode.TRANSPILER

    def distributed_optimizer(self, optimizer: object, strategy: object = None) -> TranspilerOptimizer:
        """Wrap an optimizer in fleet's interface; the strategy is synchronous by default."""
        if not hasattr(optimizer, "minimize"):
            raise ValueError(f"fleet.distributed_optimizer takes an optimizer, got {type(optimizer).__name__}")
        if not self._is_initialized:
            raise ValueError(
                "call fleet.init(role_maker) before fleet.distributed_optimizer(): it needs the role of this process"
            )
        self._optimizer = wrapped = TranspilerOptimizer(optimizer, strategy, self)
        return wrapped

    def _distribute(self, main: Program, startup: Program, strategy: Any) -> None:
        role = self._role()
        transpiler = DistributeTranspiler(strategy)
        transpiler.transpile(
            role.worker_index() if role.is_worker() else 0,
            program=main,
            pservers=self.server_endpoints(to_string=True),
            trainers=role.worker_num(),
            sync_mode=strategy.sync_mode,
            startup_program=startup,
        )
        self._origin_program = main
        if role.is_worker():
            self.main_program, self.startup_program = transpiler.get_trainer_program(), startup
        else:
            self.main_program, self.startup_program = transpiler.get_pserver_programs(role.get_local_endpoint())

    def _transpile(self, config: object) -> None:
        """Distribute the current programs."""
        self._distribute(default_main_program(), default_startup_program(), _config(config))

    def init_server(self, model_dir: str | None = None) -> None:
        """Start from a saved model.

        Fluid: the servers loaded the parameters in `model_dir`; here the first worker does that.
        """
        if model_dir:
            io.load_persistables(self._executor, model_dir, self.main_program)

    def run_server(self) -> None:
        """Wait for the workers and end with them."""
        if self._executor is None or not self.is_server():
            raise RuntimeError("fleet.run_server: this process is not a server: ask fleet.is_server() first")
        self._executor.run(self.main_program)

    def stop_worker(self) -> None:
        super().stop_worker()
        if self._executor is not None:
            self._executor.close()


class TranspilerOptimizer(DistributedOptimizer):
    """The optimizer of one of many workers in a job with parameter servers."""

    def __init__(self, optimizer: object, strategy: object = None, owner: object = None) -> None:
        super().__init__(optimizer, _config(strategy), owner or fleet)

    def minimize(
        self,
        loss: object = None,
        scopes: object = None,
        startup_program: object = None,
        parameter_list: Sequence[Variable | str] | None = None,
        no_grad_set: Iterable[object] | None = None,
        *,
        losses: object = None,
        startup_programs: object = None,
    ) -> tuple[list[Operator], list[Any]]:
        """Append backward and updates, with an exchange of gradients in between.

        Fluid: until 1.6 the names were `losses` and `startup_programs`, and each could be a list of one.
        """
        if era().checks_layer_arguments:
            for name, given in (("loss", loss), ("program", startup_program)):
                if isinstance(given, list):
                    raise TypeError(f"minimize: {name} must not be a list here")
        return self._minimize(
            losses if loss is None else loss,
            startup_programs if startup_program is None else startup_program,
            parameter_list,
            no_grad_set,
        )


def _config(strategy: object) -> DistributeTranspilerConfig:
    if strategy is None:
        return DistributeTranspilerConfig()
    if isinstance(strategy, DistributedStrategy):
        return strategy.get_program_config()
    if isinstance(strategy, DistributeTranspilerConfig):
        return strategy
    raise TypeError(
        "strategy must be a DistributeTranspilerConfig or a SyncStrategy, AsyncStrategy, HalfAsyncStrategy "
        f"or GeoStrategy of StrategyFactory, got {type(strategy).__name__}"
    )


fleet = DistributedTranspiler()
