"""Helpers for tests of programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fluidio.era import keep_era
from fluidio.program import Program, program_guard, unique_name
from fluidio.tensor import Scope, scope_guard

__all__ = ["fresh"]


@contextlib.contextmanager
def fresh() -> Iterator[tuple[Program, Program]]:
    """Use empty default programs, a new scope and names that count from 0 inside the block; restore all at its end.

    Example:
        >>> with fresh() as (main, startup):
        ...     main.num_blocks
        1
    """
    main, startup = Program(), Program()
    with keep_era(), program_guard(main, startup), scope_guard(Scope()), unique_name.guard():
        yield main, startup
