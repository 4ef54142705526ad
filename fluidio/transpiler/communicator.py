"""`fluid.communicator`: Fluid's sender of gradients in the background."""

from __future__ import annotations

from collections.abc import Mapping

from fluidio.program import Program

__all__ = ["Communicator"]


class Communicator:
    """Scripts start it before training and stop it afterwards; it records whether it is running.

    Fluid: its threads sent gradients and received parameters while an asynchronous or geo trainer went on. Here every
    step exchanges gradients itself.
    """

    def __init__(
        self,
        program: Program,
        mode: int | None = None,
        kwargs: Mapping[str, object] | None = None,
        envs: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(program, Program):
            raise AssertionError(f"Communicator takes the Program of a trainer, got {type(program).__name__}")
        self._program = program
        self._is_running = False

    def start(self) -> None:
        self._is_running = True

    def stop(self) -> None:
        self._is_running = False

    def is_running(self) -> bool:
        return self._is_running
