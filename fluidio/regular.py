"""Open what should be a plain file in a folder from somebody else."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

__all__ = ["open_regular"]

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading; refuse a pipe or a device, which may never end.

    Raises:
        OSError: there is no file of that name, or something other than a file.
    """
    name = os.fspath(path)
    descriptor = os.open(name, _FLAGS)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    raise OSError(errno.EINVAL, "this is a pipe or a device, not a file", name)
