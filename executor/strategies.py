"""BuildStrategy and ExecutionStrategy: what a CompiledProgram may be told.

Two fields change results and are followed: `gradient_scale_strategy` and `enable_data_balance`. The others made
Fluid's C++ graph faster; plans here need none of them, so they are kept and have no effect. `sync_batch_norm` and
`num_iteration_per_run`, which would change results too, are answered with a warning.
"""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["BuildStrategy", "ExecutionStrategy"]


class BuildStrategy:
    """How a data-parallel program is put together."""

    class ReduceStrategy(enum.IntEnum):
        """Where gradients are summed; the numbers are the same."""

        AllReduce = 0
        Reduce = 1

    class GradientScaleStrategy(enum.IntEnum):
        """What the gradient of the loss begins with on each place."""

        CoeffNumDevice = 0
        One = 1
        Customized = 2

    def __init__(self) -> None:
        self.reduce_strategy: int = self.ReduceStrategy.AllReduce
        self.gradient_scale_strategy: int = self.GradientScaleStrategy.CoeffNumDevice
        self.enable_data_balance = False
        self.debug_graphviz_path = ""
        self.enable_sequential_execution = False
        self.enable_inplace: Any = None
        self.memory_optimize: Any = None
        self.memory_early_delete = False
        self.remove_unnecessary_lock = True
        self.fuse_all_optimizer_ops = False
        self.fuse_all_reduce_ops: Any = None
        self.fuse_bn_act_ops = False
        self.fuse_broadcast_ops: Any = None
        self.fuse_elewise_add_act_ops = False
        self.fuse_relu_depthwise_conv = False
        self.sync_batch_norm = False
        self.num_trainers = 1
        self.trainer_id = 0
        self.trainers_endpoints: list[str] = []

    def _finalize_strategy_and_create_passes(self) -> None:
        """Do nothing: there are no passes."""


class ExecutionStrategy:
    """How a data-parallel program is run."""

    class ExecutorType(enum.IntEnum):
        """Which of Fluid's executors."""

        Default = 0
        Experimental = 1

    def __init__(self) -> None:
        self.num_threads = 0
        self.use_cuda = False
        self.allow_op_delay = False
        self.num_iteration_per_drop_scope = 1
        self.num_iteration_per_run = 1
        self.use_thread_barrier = False
        self._dry_run = False
