"""Inferencer: the inference half of the 2018 book's high-level API."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from fluidio.contrib.trainer import check_and_get_place
from fluidio.executor import Executor
from fluidio.io import load_params
from fluidio.program import Program, program_guard, unique_name
from fluidio.tensor import Scope, scope_guard

__all__ = ["Inferencer"]


class Inferencer:
    """Build an inference program from a function, load its parameters, and run it.

    Args:
        infer_func: returns the prediction.
        param_path: the folder that `Trainer.save_params` wrote.
        place: where to run.
        parallel: accepted; one place is used.
        network: the name of `infer_func` in Fluid 0.12.
    """

    def __init__(
        self,
        infer_func: Callable[[], Any] | None = None,
        param_path: str = "",
        place: Any = None,
        parallel: bool = False,
        *,
        network: Callable[[], Any] | None = None,
    ) -> None:
        build = infer_func or network
        if build is None:
            raise TypeError("Inferencer needs infer_func, the function that builds the network")
        if parallel:
            warnings.warn("Inferencer(parallel=True) uses one place in fluidio", stacklevel=2)
        self.param_path = param_path
        self.scope = Scope()
        self.parallel = parallel
        self.place = check_and_get_place(place)
        self.inference_program = Program()
        with program_guard(self.inference_program), unique_name.guard():
            self.predict_var = build()
        self.exe = Executor(self.place)
        with scope_guard(self.scope):
            load_params(self.exe, param_path, self.inference_program)
        self.inference_program = self.inference_program.clone(for_test=True)

    def infer(self, inputs: dict[str, Any], return_numpy: bool = True) -> list[Any]:
        """Return the prediction for {name: value} as a list of one array (or LoDTensor)."""
        if not isinstance(inputs, dict):
            raise ValueError(f"Inferencer.infer takes a dict of input names and values, got {type(inputs).__name__}")
        with scope_guard(self.scope):
            results: list[Any] = self.exe.run(
                self.inference_program, feed=inputs, fetch_list=[self.predict_var.name], return_numpy=return_numpy
            )
        return results
