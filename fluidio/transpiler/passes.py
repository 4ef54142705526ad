"""Passes over programs that are not needed here: memory is freed early and inference is the same numbers."""

from __future__ import annotations

import warnings

from fluidio.program import Program

__all__ = ["InferenceTranspiler", "memory_optimize", "release_memory"]

_warned = False


def memory_optimize(
    input_program: Program,
    skip_opt_set: object = None,
    print_log: bool = False,
    level: int = 0,
    skip_grads: bool = True,
) -> None:
    """Do nothing: a plan frees each value after its last use without it."""
    _note("memory_optimize")


def release_memory(input_program: Program, skip_opt_set: object = None) -> None:
    """Do nothing: a plan frees each value after its last use without it."""
    _note("release_memory")


def _note(name: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{name} has nothing to do in fluidio: values are freed after their last use anyway", stacklevel=3
        )


class InferenceTranspiler:
    """Leave an inference program as it is.

    Fluid: batch norms were folded into the convolutions before them, which made inference faster; the outputs are
    the same without it.
    """

    def transpile(self, program: Program, place: object, scope: object = None) -> None:
        """Check the arguments as Fluid did."""
        if not isinstance(program, Program):
            raise TypeError("program must be a fluid.Program")
        if not hasattr(place, "_type") and "Place" not in type(place).__name__:
            raise TypeError("place must be a CPUPlace or a CUDAPlace")
