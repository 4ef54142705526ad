"""BuildStrategy and ExecutionStrategy: the settings of a CompiledProgram.

Two fields change results and are honoured: `gradient_scale_strategy` and `enable_data_balance`. `num_threads` limits
the cores that C kernels use. The others made Fluid's C++ graph faster; plans here need none of them, so they are stored
and have no effect. `sync_batch_norm` and `num_iteration_per_run`, which would change results too, give a warning.
"""

from __future__ import annotations

import difflib
import enum
import operator
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.executor.pass_builder import PassBuilder, passes_of

__all__ = ["BuildStrategy", "ExecutionStrategy"]


class _Strategy:
    """Fields with fixed names and types: a misspelt one is an AttributeError, a wrong value a TypeError."""

    _fields: dict[str, Any] = {}

    def __init__(self) -> None:
        for name, default in self._fields.items():
            object.__setattr__(self, name, list(default) if isinstance(default, list) else default)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._fields:
            if type(self) not in (BuildStrategy, ExecutionStrategy):  # a subclass may have any fields
                object.__setattr__(self, name, value)
                return
            near = difflib.get_close_matches(name, self._fields, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise AttributeError(f"{type(self).__name__} has no setting {name!r}{hint}")
        if "_passes" in self.__dict__:
            raise EnforceNotMet(f"{name} can no longer be changed: this BuildStrategy has already created its passes")
        object.__setattr__(self, name, _converted(name, self._fields[name], value))


_UNSIGNED = ("num_threads", "num_iteration_per_drop_scope", "num_iteration_per_run")


def _converted(name: str, default: Any, value: Any) -> Any:
    """Convert a value to the type of the field's default, where C++ would."""
    if name == "memory_optimize":
        if value is None or isinstance(value, bool):
            return value
        raise EnforceNotMet(f"BuildStrategy.memory_optimize must be True, False or None, got {value!r}")
    if isinstance(default, enum.IntEnum):
        if isinstance(value, type(default)):
            return value
    elif isinstance(default, bool):
        if value is None or isinstance(value, (bool, int, float)):
            return bool(value)
    elif isinstance(default, int):
        if hasattr(value, "__index__") and (name not in _UNSIGNED or value >= 0):
            return operator.index(value)
    elif isinstance(default, list):
        if isinstance(value, (str, list, tuple)):
            return [value] if isinstance(value, str) else list(value)
    elif isinstance(value, type(default)):
        return value
    raise TypeError(f"{name} must be {type(default).__name__}, got {type(value).__name__} {value!r}")


class _Choice(enum.IntEnum):
    """An enum that prints as C++ enums do."""

    def __str__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}.{self.name}"


class _ReduceStrategy(_Choice):
    """Where gradients are summed; the numbers are the same."""

    AllReduce = 0
    Reduce = 1


class _GradientScaleStrategy(_Choice):
    """The initial value of the loss gradient on each place."""

    CoeffNumDevice = 0
    One = 1
    Customized = 2


class BuildStrategy(_Strategy):
    """How a data-parallel program is built."""

    ReduceStrategy = _ReduceStrategy
    GradientScaleStrategy = _GradientScaleStrategy

    reduce_strategy: int
    gradient_scale_strategy: int
    enable_data_balance: bool
    sync_batch_norm: bool
    num_trainers: int
    trainer_id: int
    trainers_endpoints: list[str]

    _fields = {
        "async_mode": False,
        "cache_expected_kernel": False,
        "cache_runtime_context": False,
        "debug_graphviz_path": "",
        "enable_auto_fusion": False,
        "enable_backward_optimizer_op_deps": True,
        "enable_data_balance": False,
        "enable_inplace": True,
        "enable_parallel_graph": False,
        "enable_sequential_execution": False,
        "fuse_all_optimizer_ops": False,
        "fuse_all_reduce_ops": True,
        "fuse_bn_act_ops": False,
        "fuse_broadcast_ops": True,
        "fuse_elewise_add_act_ops": False,
        "fuse_relu_depthwise_conv": False,
        "gradient_scale_strategy": _GradientScaleStrategy.CoeffNumDevice,
        "hierarchical_allreduce_inter_nranks": 0,
        "is_distribution": False,
        "memory_early_delete": False,
        "memory_optimize": None,
        "mkldnn_enabled_op_types": set(),
        "nccl_comm_num": 1,
        "num_trainers": 1,
        "reduce_strategy": _ReduceStrategy.AllReduce,
        "remove_unnecessary_lock": True,
        "sync_batch_norm": False,
        "trainer_id": 0,
        "trainers_endpoints": [],
        "use_hierarchical_allreduce": False,
    }

    def _finalize_strategy_and_create_passes(self) -> PassBuilder:
        """Return the passes that Fluid would run, by name; the same modifiable list each time."""
        found = self.__dict__.get("_passes")
        if found is None:
            found = PassBuilder(passes_of(self))
            object.__setattr__(self, "_passes", found)
        return found


class _ExecutorType(_Choice):
    """Which of Fluid's executors."""

    Default = 0
    Experimental = 1


class ExecutionStrategy(_Strategy):
    """How a data-parallel program is run."""

    ExecutorType = _ExecutorType

    num_threads: int
    num_iteration_per_drop_scope: int
    num_iteration_per_run: int
    use_cuda: bool

    _fields = {
        "_dry_run": False,
        "allow_op_delay": False,
        "num_iteration_per_drop_scope": 100,
        "num_iteration_per_run": 1,
        "num_threads": 0,
        "type": _ExecutorType.Default,
        "use_cuda": True,
        "use_experimental_executor": True,
        "use_thread_barrier": False,
    }
