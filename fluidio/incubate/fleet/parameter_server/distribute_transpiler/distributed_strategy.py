"""Strategies of parameter servers; all of them train in sync here."""

from __future__ import annotations

from typing import Any

from fluidio.executor.strategies import BuildStrategy, ExecutionStrategy
from fluidio.transpiler import DistributeTranspilerConfig

__all__ = [
    "AsyncStrategy",
    "DistributedStrategy",
    "GeoStrategy",
    "HalfAsyncStrategy",
    "StrategyFactory",
    "SyncStrategy",
    "TrainerRuntimeConfig",
]


class TrainerRuntimeConfig:
    """Options of the threads that sent gradients; kept, and without effect."""

    def __init__(self) -> None:
        self.max_merge_var_num = 1
        self.send_queue_size = 1
        self.independent_recv_thread = True
        self.thread_pool_size = 5
        self.send_wait_times = 5

    def get_communicator_flags(self) -> dict[str, Any]:
        return {f"communicator_{name}": value for name, value in vars(self).items()}


class DistributedStrategy:
    """What a job with parameter servers is told, in five parts."""

    def __init__(self) -> None:
        self._program_config = DistributeTranspilerConfig()
        self._trainer_runtime_config = TrainerRuntimeConfig()
        self._server_runtime_config: Any = None
        self._execute_strategy = ExecutionStrategy()
        self._build_strategy = BuildStrategy()
        self.debug_opt: Any = None

    def get_program_config(self) -> DistributeTranspilerConfig:
        return self._program_config

    def set_program_config(self, config: object) -> None:
        _update(self, "_program_config", DistributeTranspilerConfig, config)

    def get_trainer_runtime_config(self) -> TrainerRuntimeConfig:
        return self._trainer_runtime_config

    def set_trainer_runtime_config(self, config: object) -> None:
        _update(self, "_trainer_runtime_config", TrainerRuntimeConfig, config)

    def get_server_runtime_config(self) -> Any:
        return self._server_runtime_config

    def set_server_runtime_config(self, config: object) -> None:
        self._server_runtime_config = config

    def get_execute_strategy(self) -> ExecutionStrategy:
        return self._execute_strategy

    def set_execute_strategy(self, config: object) -> None:
        _update(self, "_execute_strategy", ExecutionStrategy, config)

    def get_build_strategy(self) -> BuildStrategy:
        return self._build_strategy

    def set_build_strategy(self, config: object) -> None:
        _update(self, "_build_strategy", BuildStrategy, config)

    def get_debug_opt(self) -> Any:
        return self.debug_opt

    def set_debug_opt(self, opt_info: object) -> None:
        self.debug_opt = opt_info


def _update(strategy: DistributedStrategy, name: str, kind: type[Any], config: object) -> None:
    """Set a part of a strategy from such a part, or some of its fields from a dict."""
    if isinstance(config, kind):
        setattr(strategy, name, config)
        return
    if not isinstance(config, dict):
        raise TypeError(f"{name.strip('_')} only accept input type: dict or {kind.__name__}")
    part = getattr(strategy, name)
    for field, value in config.items():
        if not hasattr(part, field):
            raise ValueError(f"{kind.__name__} doesn't have key: {field}")
        setattr(part, field, value)


class SyncStrategy(DistributedStrategy):
    """Every step takes the mean of all workers' gradients."""


class AsyncStrategy(DistributedStrategy):
    """Fluid: workers did not wait for each other. Here they do, and a warning says so."""

    def __init__(self) -> None:
        super().__init__()
        self._program_config.sync_mode = False


class HalfAsyncStrategy(AsyncStrategy):
    """Fluid: workers waited for each other now and then. Here they do in every step, and a warning says so."""


class GeoStrategy(AsyncStrategy):
    """Fluid: workers exchanged parameters every `update_frequency` steps. Here gradients in every step."""

    def __init__(self, update_frequency: int = 100) -> None:
        super().__init__()
        self._program_config.geo_sgd_mode = True
        self._program_config.geo_sgd_need_push_nums = update_frequency


class StrategyFactory:
    """Make strategies."""

    @staticmethod
    def create_sync_strategy() -> SyncStrategy:
        return SyncStrategy()

    @staticmethod
    def create_half_async_strategy() -> HalfAsyncStrategy:
        return HalfAsyncStrategy()

    @staticmethod
    def create_async_strategy() -> AsyncStrategy:
        return AsyncStrategy()

    @staticmethod
    def create_geo_strategy(update_frequency: int = 100) -> GeoStrategy:
        return GeoStrategy(update_frequency)
