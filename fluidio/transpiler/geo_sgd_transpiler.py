"""`fluid.transpiler.geo_sgd_transpiler`: the transpiler of geo mode, which runs in sync here."""

from __future__ import annotations

import copy
import math
from itertools import cycle

from fluidio.program import Program
from fluidio.transpiler.config import DistributeTranspilerConfig
from fluidio.transpiler.distribute import DistributeTranspiler

__all__ = ["GeoSgdTranspiler"]


class GeoSgdTranspiler(DistributeTranspiler):
    """A DistributeTranspiler in geo mode.

    Fluid: trainers trained alone and sent what had changed once in a while. Here every step exchanges gradients.
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        super().__init__(copy.copy(config))
        self.config.geo_sgd_mode = True

    def transpile(
        self,
        trainer_id: int,
        program: Program | None = None,
        pservers: object = "127.0.0.1:6174",
        trainers: object = 1,
        sync_mode: bool = False,
        startup_program: Program | None = None,
        current_endpoint: str = "127.0.0.1:6174",
        **legacy: object,
    ) -> None:
        """Rewrite the programs in place; the arguments are those of DistributeTranspiler."""
        super().transpile(
            trainer_id, program, pservers, trainers, sync_mode, startup_program, current_endpoint, **legacy
        )

    @property
    def vars_info(self) -> dict[str, dict[str, list[str]]]:
        """What scripts hand to a Communicator: the size of each parameter, its server, and whether it is sparse."""
        block = self._transpiled().global_block()
        sparse = {name for op in block.ops if op.attrs.get("is_sparse") for name in op.input("W")}
        parameters = sorted(self._transpiled().all_parameters(), key=lambda parameter: parameter.name)
        return {
            parameter.name: {
                "var_names": [parameter.name],
                "sections": [str(math.prod(parameter.shape))],
                "epmap": [server],
                "is_sparse": [str(parameter.name in sparse)],
            }
            for parameter, server in zip(parameters, cycle(self._servers))
        }
