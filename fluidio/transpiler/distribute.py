"""DistributeTranspiler for one machine: the trainer's program is the program; servers are not there."""

from __future__ import annotations

import warnings
from typing import Any

from fluidio.errors import not_supported
from fluidio.program import Program, default_main_program, default_startup_program
from fluidio.transpiler.dispatcher import RoundRobin

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig"]


class DistributeTranspilerConfig:
    """Options of the transpiler; kept, and without effect on one machine."""

    def __init__(self) -> None:
        self.slice_var_up = True
        self.split_method: Any = RoundRobin
        self.min_block_size = 8192
        self.enable_dc_asgd = False
        self.mode = "pserver"
        self.print_log = False
        self.wait_port = True
        self.sync_mode = True
        self.runtime_split_send_recv = False
        self.geo_sgd_mode = False
        self.geo_sgd_need_push_nums = 100
        self.nccl_comm_num = 1
        self.use_hierarchical_allreduce = False
        self.hierarchical_allreduce_inter_nranks = 0
        self.collective_mode: Any = None


class DistributeTranspiler:
    """Hand the program on as it is.

    Fluid: the program was split between trainers and parameter servers of a cluster. Here one process trains alone:
    `get_trainer_program` gives the program back, and what only a server does raises an error that says so.
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        self.config = config or DistributeTranspilerConfig()
        self._program: Program | None = None
        self._startup: Program | None = None

    def transpile(
        self, trainer_id: int, program: Program | None = None, pservers: Any = "127.0.0.1:6174", trainers: Any = 1,
        sync_mode: bool = True, startup_program: Program | None = None, current_endpoint: str = "127.0.0.1:6174",
        **legacy: Any,
    ) -> None:  # fmt: skip
        """Note the programs; with several trainers, say that each trains alone."""
        unknown = [name for name in legacy if name not in vars(self.config)]
        if unknown:
            raise TypeError(f"DistributeTranspiler.transpile has no argument {', '.join(unknown)}")
        count = len(trainers.split(",")) if isinstance(trainers, str) else int(trainers)
        if count > 1:
            warnings.warn(
                f"DistributeTranspiler: {count} trainers were asked for; fluidio trains in one process, without "
                "exchanging gradients with the others",
                stacklevel=2,
            )
        self._program = program or default_main_program()
        self._startup = startup_program or default_startup_program()

    def _transpiled(self) -> Program:
        if self._program is None:
            raise RuntimeError("DistributeTranspiler: call transpile() first")
        return self._program

    def get_trainer_program(self, wait_port: bool = True) -> Program:
        """Return the program given to `transpile`."""
        return self._transpiled()

    def get_pserver_program(self, endpoint: str) -> Program:
        self._transpiled()
        not_supported(
            f"DistributeTranspiler.get_pserver_program({endpoint!r})",
            "there are no parameter servers; run the trainer's role alone (TRAINING_ROLE=TRAINER)",
        )

    def get_pserver_programs(self, endpoint: str) -> tuple[Program, Program]:
        program = self.get_pserver_program(endpoint)
        return program, self.get_startup_program(endpoint, program)

    def get_startup_program(
        self, endpoint: str, pserver_program: Program | None = None, startup_program: Program | None = None
    ) -> Program:
        """Return the startup program given to `transpile`."""
        self._transpiled()
        chosen = startup_program or self._startup
        assert chosen is not None
        return chosen
