"""DistributeTranspiler: make a program one of many trainers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

from fluidio.distributed import Membership, declare, is_alone, parse_endpoints
from fluidio.distributed.environment import is_switched_off
from fluidio.distributed.rewrite import (
    average_parameters,
    clipped_gradients,
    divide_large_tables,
    exchange_gradients,
    gradients_of,
    share_first_parameters,
)
from fluidio.program import Program, Variable, default_main_program, default_startup_program
from fluidio.transpiler.config import DistributedMode, DistributeTranspilerConfig, ServerRuntimeConfig
from fluidio.transpiler.dispatcher import RoundRobin

__all__ = [
    "DistributeTranspiler",
    "DistributeTranspilerConfig",
    "DistributedMode",
    "ServerRuntimeConfig",
    "slice_variable",
]

_MODES = ("pserver", "nccl2", "collective")


class DistributeTranspiler:
    """Rewrite a program for one of many trainers.

    Every trainer computes the mean of all trainers' gradients and applies it itself, to the parameters of trainer 0
    after its startup program: the numbers of Fluid's synchronous parameter servers and of its collective mode.

    Fluid: parameter servers held the parameters. Here their processes are the point where trainers meet; they wait
    for them and end with them. Asynchronous and geo mode run in sync.
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        self.config = config or DistributeTranspilerConfig()
        self.config.split_method = self.config.split_method or RoundRobin
        self._program: Program | None = None
        self._startup: Program | None = None
        self._servers: tuple[str, ...] = ()
        self._trainers = 1

    def transpile(
        self,
        trainer_id: int,
        program: Program | None = None,
        pservers: object = "127.0.0.1:6174",
        trainers: object = 1,
        sync_mode: bool = True,
        startup_program: Program | None = None,
        current_endpoint: str = "127.0.0.1:6174",
        **legacy: object,
    ) -> None:
        """Rewrite the programs in place.

        Args:
            trainer_id: this trainer, from 0.
            pservers: endpoints of the parameter servers; the first is where trainers meet.
            trainers: how many trainers there are; in nccl2 and collective mode their endpoints, the first of which is
                where they meet.
            sync_mode: False runs in sync as well, and says so.
            current_endpoint: this process's own endpoint.
        """
        unknown = [name for name in legacy if not hasattr(self.config, name)]
        if unknown:
            raise TypeError(f"DistributeTranspiler.transpile has no argument {', '.join(unknown)}")
        if self.config.mode not in _MODES:
            raise ValueError(
                f"DistributeTranspilerConfig.mode must be one of {', '.join(_MODES)}, got {self.config.mode!r}"
            )
        self._program = program or default_main_program()
        self._startup = startup_program or default_startup_program()
        self._declare(trainer_id, pservers, trainers, current_endpoint)
        if self._trainers < 2:
            return
        if is_switched_off():
            self._warn_alone()
            return
        if not self.config.waits() or not (sync_mode or self.config.completely_not_async):
            mode = "geo" if self.config.geo_sgd_mode else "asynchronous"
            warnings.warn(f"DistributeTranspiler: fluidio runs {mode} mode as sync", stacklevel=2)
        if is_alone():
            return
        if self.config.mode == "collective" and self.config.collective_mode == "local_sgd":
            average_parameters(self._program)
        else:
            divide_large_tables(self._program, self._startup)
            exchange_gradients(self._program, half=self.config.half_gradients, clipped=self._clips_first())
        share_first_parameters(self._startup)

    def _clips_first(self) -> bool:
        """Return whether trainers clip their own gradients; warn where they do."""
        block = self._transpiled().global_block()
        gradients = gradients_of(block)
        first = self.config.mode == "pserver" and not self.config.clip_mean
        if first and clipped_gradients(block, gradients) != gradients:
            warnings.warn(
                "DistributeTranspiler: like Fluid's parameter servers, fluidio applies set_gradient_clip to "
                "the gradients of each trainer, before their mean; to clip the mean, set "
                "DistributeTranspilerConfig.clip_mean = True or pass grad_clip= to the optimizer",
                stacklevel=3,
            )
        return first

    def _declare(self, trainer_id: int, pservers: Any, trainers: Any, current_endpoint: str) -> None:
        if self.config.mode == "pserver":
            self._servers = parse_endpoints(pservers)
            self._trainers, endpoints, own = int(trainers), self._servers, ""
        else:
            endpoints = () if isinstance(trainers, int) else parse_endpoints(trainers)
            self._trainers, own = len(endpoints) or int(trainers), current_endpoint
            if endpoints and current_endpoint not in endpoints:
                own = endpoints[trainer_id] if 0 <= trainer_id < len(endpoints) else ""
        if self._trainers > 1:
            self._membership = Membership(int(trainer_id), self._trainers, endpoints, own)
            declare(self._membership)

    def _warn_alone(self) -> None:
        warnings.warn(
            "DistributeTranspiler: this process trains alone and exchanges no gradients, although the script "
            f"asks for {self._trainers} trainers (FLUIDIO_DISTRIBUTED=off)",
            stacklevel=3,
        )

    def _transpiled(self) -> Program:
        if self._program is None:
            raise RuntimeError("DistributeTranspiler: call transpile() first")
        return self._program

    def get_trainer_program(self, wait_port: bool = True) -> Program:
        """Return the program given to `transpile`, which exchanges gradients now."""
        return self._transpiled()

    def get_pserver_program(self, endpoint: str) -> Program:
        """Return a program that waits for the trainers and ends with them."""
        self._transpiled()
        server = Program()
        attrs = {"endpoint": endpoint, "endpoints": list(self._servers), "trainers": self._trainers}
        server.global_block().append_op("listen_and_serv", {}, {}, attrs)
        return server

    def get_pserver_programs(self, endpoint: str) -> tuple[Program, Program]:
        program = self.get_pserver_program(endpoint)
        return program, self.get_startup_program(endpoint, program)

    def get_startup_program(
        self, endpoint: str, pserver_program: Program | None = None, startup_program: Program | None = None
    ) -> Program:
        """Return the startup program of a parameter server: an empty one, as servers hold nothing."""
        self._transpiled()
        return Program()


def slice_variable(var_list: Iterable[Variable], slice_count: int, min_block_size: int) -> list[str]:
    """Divide variables between servers as Fluid does: parts of whole rows, each but the last `min_block_size` or more.

    Returns:
        "name:number:elements" for each part.
    """
    parts = []
    for variable in var_list:
        elements, row = math.prod(variable.shape), math.prod(variable.shape[1:])
        count = min(slice_count, max(elements // min_block_size, 1))
        size = math.ceil(math.ceil(elements / count) / row) * row
        sizes = [min(size, elements - start) for start in range(0, elements, size)]
        parts += [f"{variable.name}:{number}:{elements}" for number, elements in enumerate(sizes)]
    return parts
