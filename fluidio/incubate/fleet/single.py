"""Fleet with one worker: scripts written for a cluster train in one process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from fluidio import io
from fluidio.errors import not_supported
from fluidio.program import Operator, Program, Variable, default_main_program, default_startup_program

__all__ = ["DistributedOptimizer", "DistributedStrategy", "Fleet", "fleet"]


class DistributedStrategy:
    """Options of distributed training; kept, and without effect."""

    def __init__(self) -> None:
        self.mode = "nccl2"
        self.use_local_sgd = False
        self.use_dist_fc = False
        self.local_sgd_config: Any = None
        self.dist_fc_config: Any = None
        self.nccl_comm_num = 1
        self.forward_recompute = False
        self.recompute_checkpoints: list[Any] = []
        self.use_amp = False
        self.amp_loss_scaling = 2**15
        self.exec_strategy: Any = None


class DistributedOptimizer:
    """The optimizer given: gradients need not travel."""

    def __init__(self, optimizer: Any, owner: Fleet) -> None:
        self._optimizer = optimizer
        self._fleet = owner

    def backward(self, *args: Any, **options: Any) -> Any:
        return self._optimizer.backward(*args, **options)

    def apply_gradients(self, params_grads: Any) -> Any:
        return self._optimizer.apply_gradients(params_grads)

    def minimize(
        self, loss: Any, scopes: Any = None, startup_programs: Any = None, parameter_list: Any = None,
        no_grad_set: Iterable[Any] | None = None,
    ) -> tuple[list[Operator], list[Any]]:  # fmt: skip
        one = loss[0] if isinstance(loss, (list, tuple)) else loss
        startup = startup_programs[0] if isinstance(startup_programs, (list, tuple)) else startup_programs
        ops, pairs = self._optimizer.minimize(one, startup, parameter_list, no_grad_set)
        self._fleet._note_programs(one.block.program, startup or default_startup_program())
        return ops, list(pairs)


class Fleet:
    """One worker, which is the first, and no servers.

    Fluid: fleet spread training over the machines of a cluster. Here `init` warns that one process trains alone.
    """

    def __init__(self) -> None:
        self._main: Program | None = None
        self._startup: Program | None = None

    def _note_programs(self, main: Program, startup: Program) -> None:
        self._main, self._startup = main, startup

    def init(self, role_maker: Any = None) -> None:
        warnings.warn("fleet: one process trains alone here, whatever the role maker says", stacklevel=2)

    @property
    def main_program(self) -> Program:
        return self._main or default_main_program()

    @property
    def startup_program(self) -> Program:
        return self._startup or default_startup_program()

    def is_worker(self) -> bool:
        return True

    def is_first_worker(self) -> bool:
        return True

    def is_server(self) -> bool:
        return False

    def worker_index(self) -> int:
        return 0

    def worker_num(self) -> int:
        return 1

    def server_num(self) -> int:
        return 0

    def server_index(self) -> int:
        return 0

    def worker_endpoints(self, to_string: bool = False) -> Any:
        return "127.0.0.1:0" if to_string else ["127.0.0.1:0"]

    def server_endpoints(self, to_string: bool = False) -> Any:
        return "" if to_string else []

    def split_files(self, files: Sequence[str]) -> list[str]:
        """Return the files of this worker: all."""
        return list(files)

    def init_worker(self) -> None:
        """Do nothing: there is nobody to meet."""

    def stop_worker(self) -> None:
        """Do nothing: there is nobody to leave."""

    def barrier_worker(self) -> None:
        """Do nothing: there is nobody to wait for."""

    def init_server(self, *args: Any, **options: Any) -> None:
        not_supported("fleet.init_server", "there are no parameter servers; run the worker's role alone")

    def run_server(self) -> None:
        not_supported("fleet.run_server", "there are no parameter servers; run the worker's role alone")

    def distributed_optimizer(self, optimizer: Any, strategy: Any = None) -> DistributedOptimizer:
        """Return the optimizer under fleet's interface."""
        return DistributedOptimizer(optimizer, self)

    def save_persistables(self, executor: Any, dirname: str, main_program: Program | None = None) -> None:
        io.save_persistables(executor, dirname, main_program or self.main_program)

    def save_inference_model(
        self, executor: Any, dirname: str, feeded_var_names: Any, target_vars: list[Variable],
        main_program: Program | None = None, export_for_deployment: bool = True,
    ) -> None:  # fmt: skip
        io.save_inference_model(
            dirname, feeded_var_names, target_vars, executor, main_program or self.main_program,
            export_for_deployment=export_for_deployment,
        )  # fmt: skip


fleet = Fleet()
