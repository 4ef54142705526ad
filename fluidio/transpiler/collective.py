"""`fluid.transpiler.collective`: make programs exchange gradients between trainers."""

from __future__ import annotations

from typing import Any

from fluidio.distributed.rewrite import share_first_parameters, train_together
from fluidio.program import Program, default_main_program, default_startup_program

__all__ = ["GradAllReduce", "LocalSGD"]


class Collective:
    """Base class: `transpile` rewrites a startup and a main program for one of many trainers."""

    _local = False

    def __init__(self, nrings: int) -> None:
        self.nrings = nrings

    def transpile(
        self,
        startup_program: Program | None,
        main_program: Program | None,
        rank: int,
        endpoints: Any,
        current_endpoint: str,
        wait_port: bool = True,
    ) -> None:
        """Let the trainers at `endpoints`, of which this is number `rank`, train together."""
        names = endpoints.split(",") if isinstance(endpoints, str) else list(endpoints)
        if current_endpoint not in names:
            raise ValueError(f"current_endpoint {current_endpoint} is not one of the endpoints {names}")
        if len(names) > 1:
            main = main_program or default_main_program()
            train_together(main, rank, len(names), names, local=self._local)
            share_first_parameters(startup_program or default_startup_program())


class GradAllReduce(Collective):
    """Every step uses the mean of all trainers' gradients."""

    def __init__(self, nrings: int = 2) -> None:
        super().__init__(nrings)
        self.mode = "grad_allreduce"


class LocalSGD(Collective):
    """Every trainer applies its own gradients; then all use the mean of their parameters."""

    _local = True

    def __init__(self, nrings: int = 2) -> None:
        super().__init__(nrings)
        self.mode = "local_sgd"


class SingleProcessMultiThread(GradAllReduce):
    """One process needs no exchange; use CompiledProgram for several places."""

    def transpile(self, startup_program: Any = None, main_program: Any = None, *args: Any, **options: Any) -> None:
        """Leave the programs unchanged."""
