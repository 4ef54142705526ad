"""The parts of Fluid's imperative modules that libraries for both modes use besides their static programs.

They ask whether the mode is on, which it never is, and set up objects that only imperative scripts use.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from fluidio.errors import NotHere
from fluidio.program.guards import program_guard
from fluidio.program.program import Program

__all__ = ["StaticModelRunner", "disable_dygraph", "disable_imperative", "enabled", "guard", "no_grad"]


def enabled() -> bool:
    """Return False: programs are static."""
    return False


def disable_dygraph() -> None:
    """Leave the imperative mode: it is never on."""


disable_imperative = disable_dygraph


def no_grad(func: Callable[..., Any] | None = None) -> Any:
    """Decorate a function, or open a context, without effect: static programs have `stop_gradient`."""
    if func is None:
        return contextlib.nullcontext()
    called = func

    @functools.wraps(called)
    def unchanged(*args: Any, **kwargs: Any) -> Any:
        return called(*args, **kwargs)

    return unchanged


@contextlib.contextmanager
def guard(place: object = None) -> Iterator[None]:
    """Open a context that has no effect; anything that computes in imperative mode raises `NotHere`."""
    with program_guard(Program(), Program()):
        yield


class StaticModelRunner:
    """A saved model in imperative mode: it can be created and stored, as PaddleHub 1.8 does, but not used."""

    def __init__(self, model_dir: str, model_filename: str | None = None, params_filename: str | None = None) -> None:
        self.model_dir = model_dir

    def __getattr__(self, name: str) -> NoReturn:
        raise NotHere(
            f"fluid.dygraph.StaticModelRunner.{name}",
            "fluidio runs static programs: fluid.io.load_inference_model loads the saved one",
        )

    def __call__(self, *args: object) -> NoReturn:
        self.__getattr__("__call__")
