"""Standard input (`-`) and named pipes: they can be read only once, so copy them to a temporary file first."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from typing import Any

__all__ = ["is_pipe", "open_pipe", "piped", "spooled"]

_spools: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""By what was copied; the folders are deleted with the process."""
_names: dict[str, str] = {}
"""What users call the pipes that were copied, by the paths of the copies."""


def is_pipe(path: str) -> bool:
    """Return whether a path is `-` or a pipe, such as a shell's `<(command)`."""
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
        raise OSError(
            "`-` is standard input, but nothing is piped into it; write, for example, `zcat x.gz | fluidio inspect -`"
        )
    return sys.stdin.buffer


def piped(path: str) -> str | None:
    """Return what users call the pipe that a file is a copy of; None for other files."""
    return _names.get(path)


def spooled(path: str) -> str:
    """Return the path of a file with everything that comes through a pipe; standard input is read once."""
    name = "stdin" if path == "-" else os.path.basename(path)
    if path == "-" and path in _spools:
        return os.path.join(_spools[path].name, name)
    source = open_pipe(path)
    folder = tempfile.TemporaryDirectory(prefix="fluidio-")
    copy = os.path.join(folder.name, name)
    try:
        with open(copy, "wb") as spool:
            shutil.copyfileobj(source, spool, 1 << 20)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        problem = f"{error.strerror} while copying {path} there; set TMPDIR to use another folder"
        raise OSError(error.errno, problem, folder.name) from error
    if path != "-":
        source.close()
    _spools[path if path == "-" else copy] = folder
    _names[copy] = "standard input" if path == "-" else path
    return copy
