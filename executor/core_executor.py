"""`core.Executor`: runs a `ProgramDesc` on a scope, as Fluid's Python did for programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidio.dtypes import to_numpy
from fluidio.executor.executor import Executor as ProgramExecutor
from fluidio.places import PlaceLike
from fluidio.program import Variable
from fluidio.program.desc import ProgramDesc
from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, SelectedRows

__all__ = ["Executor"]


class Executor:
    """Run the ops of a program's description."""

    def __init__(self, place: PlaceLike) -> None:
        self.place = place
        self._executor = ProgramExecutor(place)

    def run(
        self,
        program: ProgramDesc,
        scope: Scope,
        block_id: int = 0,
        create_local_scope: bool = True,
        create_vars: bool = True,
        fetch_vars: Sequence[str] = (),
    ) -> None:
        """Run the global block once.

        Args:
            program: `program.desc`.
            scope: holds the persistable variables.
            block_id: 0; sub-blocks run as part of the ops that own them.
            create_local_scope: keep only persistable variables; otherwise `fetch_vars` stay in the scope too.
            create_vars: accepted; variables are always created.
            fetch_vars: names of variables to keep.
        """
        if block_id != 0:
            raise NotImplementedError(
                f"core.Executor.run: block {block_id} runs as part of the op that owns it; pass 0, the main block"
            )
        names = [] if create_local_scope else list(fetch_vars)
        values = self._executor.run(program._program, scope=scope, fetch_list=names, return_numpy=False)
        for name, value in zip(names, values):
            _keep(scope, name, value)

    def close(self) -> None:
        self._executor.close()


def _keep(scope: Scope, name: str, value: LoDTensor | LoDTensorArray | SelectedRows) -> None:
    scope.var(name).value = value


def _create_loaded_parameter(variables: Sequence[Variable], scope: Scope, executor: Executor) -> None:
    """Make the variables that a scope does not have, with a tensor of the declared shape for values to be loaded."""
    for variable in variables:
        if scope.find_var(variable.name) is None:
            zeros = np.zeros(variable.shape, to_numpy(variable.dtype))
            scope.var(variable.name).get_tensor().set(zeros, executor.place)
