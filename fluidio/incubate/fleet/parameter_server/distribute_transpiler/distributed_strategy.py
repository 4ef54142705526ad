"""Strategies of parameter servers; here, all of them train synchronously."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from fluidio.executor.strategies import BuildStrategy, ExecutionStrategy
from fluidio.transpiler.config import DistributedMode, DistributeTranspilerConfig, ServerRuntimeConfig

__all__ = [
    "AsyncStrategy",
    "DistributedStrategy",
    "GeoStrategy",
    "HalfAsyncStrategy",
    "StrategyFactory",
    "SyncStrategy",
    "TrainerRuntimeConfig",
]


_RUNTIME = {
    "communicator_max_merge_var_num": "",
    "communicator_send_queue_size": "",
    "communicator_independent_recv_thread": "1",
    "communicator_min_send_grad_num_before_recv": "",
    "communicator_thread_pool_size": "5",
    "communicator_send_wait_times": "5",
    "communicator_is_sgd_optimizer": "1",
    "rpc_deadline": "180000",
    "rpc_retry_times": "3",
}
"""Options with their defaults; an empty one is the number of threads."""

_OF_GEO = ("communicator_thread_pool_size", "communicator_send_wait_times")
_AS_THREADS = ("communicator_max_merge_var_num", "communicator_send_queue_size")


class TrainerRuntimeConfig:
    """Options of the threads that sent gradients; stored without effect."""

    def __init__(self) -> None:
        self.mode: int | None = None
        threads = _threads()
        self.runtime_configs: dict[str, Any] = {
            name: os.environ.get(f"FLAGS_{name}", default or threads) for name, default in _RUNTIME.items()
        }

    def get_communicator_flags(self) -> dict[str, str]:
        """Return the options of the mode as text."""
        names: Iterable[str] = self.runtime_configs
        if self.mode in (DistributedMode.SYNC, DistributedMode.HALF_ASYNC):
            names = ("communicator_max_merge_var_num", *reversed(_OF_GEO), "communicator_send_queue_size")
            self._follow_threads()
        elif self.mode == DistributedMode.GEO:
            names = _OF_GEO
        elif self.mode not in (None, DistributedMode.ASYNC):
            raise ValueError("unknown mode of a distributed strategy")
        return {name: str(self.runtime_configs[name]) for name in names}

    def _follow_threads(self) -> None:
        threads = _threads()
        for name in _AS_THREADS:
            if self.runtime_configs[name] != threads:
                print(f"fluidio: {name} follows CPU_NUM, {threads}, in sync and half-async mode")
                self.runtime_configs[name] = threads

    def display(self, configs: Mapping[str, str]) -> str:
        """Return a table of options."""
        rows = [f"{name:<45s}{value:<5s}" for name, value in configs.items()]
        head = f"{'TrainerRuntimeConfig Overview':^45s}{'Value':<5s}"
        return "\n" + "\n".join(["=" * 50, head, "-" * 50, *rows, "=" * 50]) + "\n"

    def __repr__(self) -> str:
        return self.display(self.get_communicator_flags())


def _threads() -> str:
    return os.environ.get("CPU_NUM", "1")


class DistributedStrategy:
    """The settings of a job with parameter servers, in five parts; subclasses check each part against their mode."""

    def __init__(self) -> None:
        self._program_config = DistributeTranspilerConfig()
        self._trainer_runtime_config = TrainerRuntimeConfig()
        self._server_runtime_config = ServerRuntimeConfig()
        self._execute_strategy = ExecutionStrategy()
        self._build_strategy = BuildStrategy()
        threads = int(_threads())
        self._execute_strategy.num_threads = threads
        if threads > 1:
            self._build_strategy.reduce_strategy = BuildStrategy.ReduceStrategy.Reduce
        self.debug_opt: Any = None

    def get_program_config(self) -> DistributeTranspilerConfig:
        return self._program_config

    def set_program_config(self, config: object) -> None:
        _update(self, "_program_config", DistributeTranspilerConfig, config)
        self.check_program_config()

    def get_trainer_runtime_config(self) -> TrainerRuntimeConfig:
        return self._trainer_runtime_config

    def set_trainer_runtime_config(self, config: object) -> None:
        if isinstance(config, dict):
            options = self._trainer_runtime_config.runtime_configs
            unknown = [name for name in config if name not in options]
            if unknown:
                raise ValueError(f"TrainerRuntimeConfig has no setting {unknown[0]!r}")
            options.update(config)
        else:
            _update(self, "_trainer_runtime_config", TrainerRuntimeConfig, config)
        self.check_trainer_runtime_config()

    def get_server_runtime_config(self) -> ServerRuntimeConfig:
        return self._server_runtime_config

    def set_server_runtime_config(self, config: object) -> None:
        _update(self, "_server_runtime_config", ServerRuntimeConfig, config)
        self.check_server_runtime_config()

    def get_execute_strategy(self) -> ExecutionStrategy:
        return self._execute_strategy

    def set_execute_strategy(self, config: object) -> None:
        _update(self, "_execute_strategy", ExecutionStrategy, config)
        self.check_execute_strategy()

    def get_build_strategy(self) -> BuildStrategy:
        return self._build_strategy

    def set_build_strategy(self, config: object) -> None:
        _update(self, "_build_strategy", BuildStrategy, config)
        self.check_build_strategy()

    def get_debug_opt(self) -> dict[str, Any]:
        """Return the settings of debug dumps, with defaults for those not set."""
        told = self.debug_opt
        if not isinstance(told, dict):
            return {}
        return {
            "dump_slot": bool(told.get("dump_slot", 0)),
            "dump_converter": str(told.get("dump_converter", "")),
            "dump_fields": told.get("dump_fields", []),
            "dump_file_num": told.get("dump_file_num", 16),
            "dump_fields_path": told.get("dump_fields_path", ""),
            "dump_param": told.get("dump_param", []),
        }

    def set_debug_opt(self, opt_info: object) -> None:
        self.debug_opt = opt_info

    # -- what a mode requires -------------------------------------------------------------------------------------

    def check_program_config(self) -> None:
        _of_subclasses("check_program_config")

    def check_trainer_runtime_config(self) -> None:
        _of_subclasses("check_trainer_runtime_config")

    def check_server_runtime_config(self) -> None:
        _of_subclasses("check_server_runtime_config")

    def check_execute_strategy(self) -> None:
        _of_subclasses("check_execute_strategy")

    def check_build_strategy(self) -> None:
        _of_subclasses("check_build_strategy")


def _of_subclasses(name: str) -> None:
    raise NotImplementedError(f"{name} belongs to the strategies that StrategyFactory makes")


def _update(strategy: DistributedStrategy, name: str, kind: type[Any], config: object) -> None:
    """Replace a part of a strategy, or set some of its fields from a dict."""
    if isinstance(config, kind):
        setattr(strategy, name, config)
        return
    if not isinstance(config, dict):
        raise TypeError(f"{name.strip('_')} must be a dict or {kind.__name__}, got {type(config).__name__}")
    part = getattr(strategy, name)
    for field, value in config.items():
        if not hasattr(part, field):
            raise ValueError(f"{kind.__name__} has no setting {field!r}")
        setattr(part, field, value)


class _OfMode(DistributedStrategy):
    """A strategy whose parts follow a mode."""

    _mode = DistributedMode.ASYNC
    _flags: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.check_program_config()
        self.check_trainer_runtime_config()
        self.check_server_runtime_config()
        self.check_build_strategy()
        self.check_execute_strategy()

    def check_program_config(self) -> None:
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True
        for name in self._flags:
            setattr(self._program_config, name, True)

    def check_trainer_runtime_config(self) -> None:
        self._trainer_runtime_config.mode = self._mode

    def check_server_runtime_config(self) -> None:
        """Accept any configuration."""

    def check_execute_strategy(self) -> None:
        if "half_async" in self._flags:
            self._execute_strategy.use_thread_barrier = True

    def check_build_strategy(self) -> None:
        self._build_strategy.async_mode = True


class SyncStrategy(_OfMode):
    """Every step uses the mean of all workers' gradients.

    Fluid: `completely_not_async` makes it synchronous; `sync_mode` is False.
    """

    _mode = DistributedMode.SYNC
    _flags = ("half_async", "completely_not_async")


class AsyncStrategy(_OfMode):
    """Fluid: workers did not wait for each other. Here they do, with a warning."""


class HalfAsyncStrategy(_OfMode):
    """Fluid: workers waited for each other now and then. Here they do in every step, with a warning."""

    _mode = DistributedMode.HALF_ASYNC
    _flags = ("half_async",)


class GeoStrategy(_OfMode):
    """Fluid: workers exchanged parameters every `update_frequency` steps. Here they exchange gradients every step."""

    _mode = DistributedMode.GEO
    _flags = ("geo_sgd_mode",)

    def __init__(self, update_frequency: int = 100) -> None:
        super().__init__()
        self._program_config.geo_sgd_need_push_nums = update_frequency


class StrategyFactory:
    """Create strategies."""

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
