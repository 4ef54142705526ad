"""Standard input (`-`) and named pipes: they can be read only once, so copy them to a temporary file first."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from typing import IO, Any

__all__ = ["is_pipe", "open_pipe", "spooled"]

_spools: dict[str, IO[bytes]] = {}
"""Kept open for the life of the process; the files are deleted with it."""


def is_pipe(path: str) -> bool:
    """Return whether a path is `-` or a pipe, e.g. what `<(command)` of a shell gives."""
    if path == "-":
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False  # opening it will report the problem


def open_pipe(path: str) -> Any:
    """Open a pipe for reading.

    Raises:
        OSError: `-`, and nothing is piped into this process.
    """
    if path != "-":
        return open(path, "rb")
    if sys.stdin is None or sys.stdin.isatty():
        raise OSError("- is standard input, and nothing is piped into it: `zcat x.gz | fluidio inspect -`")
    return sys.stdin.buffer


def spooled(path: str) -> str:
    """Return the path of a file with everything that comes through a pipe; standard input is read once."""
    if path == "-" and path in _spools:
        return _spools[path].name
    source = open_pipe(path)
    name = "stdin" if path == "-" else os.path.basename(path)
    spool = tempfile.NamedTemporaryFile(prefix=f"{name}-")
    shutil.copyfileobj(source, spool, 1 << 20)
    spool.flush()
    if path != "-":
        source.close()
    _spools[path if path == "-" else spool.name] = spool
    return spool.name
