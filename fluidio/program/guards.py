"""The default programs, and guards that change them temporarily; every guard restores on exceptions.

A guard in a thread other than the main one affects only that thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fluidio.current import Current
from fluidio.program.program import Program

__all__ = [
    "default_main_program",
    "default_startup_program",
    "program_guard",
    "switch_main_program",
    "switch_startup_program",
]

_main = Current(Program())
_startup = Current(Program())


def default_main_program() -> Program:
    """Return the program that layers append their ops to."""
    return _main.get()


def default_startup_program() -> Program:
    """Return the program that initialises parameters and opens readers."""
    return _startup.get()


def switch_main_program(program: Program) -> Program:
    """Make `program` the default main program and return the previous one."""
    return _main.switch(program)


def switch_startup_program(program: Program) -> Program:
    """Make `program` the default startup program and return the previous one."""
    return _startup.switch(program)


@contextlib.contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Build into other programs inside the block; without a startup program the current one stays."""
    for program in (main_program, startup_program):
        if program is not None and not isinstance(program, Program):
            raise TypeError(f"program_guard takes a Program, got {type(program).__name__}")
    if not isinstance(main_program, Program):
        raise TypeError("program_guard needs a main program, got None")
    with contextlib.ExitStack() as guards:
        guards.enter_context(_main.guard(main_program))
        if startup_program is not None:
            guards.enter_context(_startup.guard(startup_program))
        yield
