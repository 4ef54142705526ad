"""Places as a variable of a program (2018), and the loop over them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from fluidio.program import Variable

__all__ = ["ParallelDo", "get_places"]


def get_places(device_count: int | None = None, device_type: str | None = None) -> list[int]:
    """Return the places that ParallelDo uses: one.

    Fluid: a variable that lists all devices of the machine.
    """
    return [0]


class ParallelDo:
    """Run the body once, on the whole batch.

    Fluid (until 0.14): the batch was split over several devices and the results joined. The numbers are the same
    except for batch statistics; a warning says so.
    """

    def __init__(self, places: object, use_nccl: bool = False, name: str | None = None) -> None:
        warnings.warn("ParallelDo runs its body once, on the whole batch", stacklevel=2)
        self.outputs: list[Variable] = []

    @contextlib.contextmanager
    def do(self) -> Iterator[None]:
        yield

    def read_input(self, var: Variable) -> Variable:
        """Return the input itself: the only place gets all of it."""
        return var

    def write_output(self, var: Variable) -> None:
        """Mark a result."""
        self.outputs.append(var)

    def __call__(self) -> Any:
        """Return the result, or the list of them."""
        return self.outputs[0] if len(self.outputs) == 1 else list(self.outputs)
