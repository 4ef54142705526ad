"""Unfinished files and folders: hidden, locked while they are written, removed once their process is dead.

    .NAME.part-PID-N     what will be NAME when it is whole
    .fluidio-PID-N       a folder of temporary files
    .NAME.fluidio-lock   whoever has locked it makes the shard set NAME

Globs do not match names that begin with a dot. A lock ends with its process, however that ends, so a file that can be
locked has no owner. Names of other forms are a user's (`train.part-00007`, `.fluidio-notes`) and never touched.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

__all__ = [
    "claimed",
    "create_part",
    "hidden_name",
    "is_part",
    "lock",
    "remove_dead_parts",
    "sync_folder",
    "temporary_folder",
    "unlock",
    "writing_whole",
]

_numbers = itertools.count()
_PART = re.compile(r"\..*\.part-\d+-\d+|\..*\.fluidio-lock", re.DOTALL)
_EARLIER = re.compile(r".*-\d{5,}-of-\d{5,}\.part-\d+", re.DOTALL)
_FOLDER = re.compile(r"\.fluidio-\d+-\d+")
_LONGEST = 255  # bytes in a name
_TRIES, _MOMENT = 10, 0.01  # seconds
_swept: set[str] = set()


def is_part(name: str) -> bool:
    """Return whether a file's name is that of an unfinished file, also of a shard by earlier versions (`.part-PID`)."""
    return (_PART.fullmatch(name) or _EARLIER.fullmatch(name)) is not None


def hidden_name(name: str, end: str) -> str:
    """Return the name of a hidden file that belongs to `name`: `.NAME` and an end, a digest where that is too long."""
    found = f".{name}{end}"
    if len(os.fsencode(found)) <= _LONGEST:
        return found
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}{end}"


def create_part(target: str, *, folder: str | None = None) -> tuple[str, int]:
    """Create the unfinished file of a target, locked, and return its path and descriptor (open for writing).

    Args:
        folder: where it should be; beside its target by default. Dead parts there are removed once in a process.
    """
    beside, name = os.path.split(target)
    folder = beside or "." if folder is None else folder
    if folder not in _swept:
        _swept.add(folder)
        remove_dead_parts(folder)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    while True:
        path = os.path.join(folder, hidden_name(name, f".part-{os.getpid()}-{next(_numbers)}"))
        try:
            descriptor = os.open(path, flags, 0o666)
        except FileExistsError:
            continue  # left by a dead process with our number
        except OSError as error:
            raise _about(error, target) from None
        if lock(descriptor) is not False and _is_still(path, descriptor):
            return path, descriptor
        os.close(descriptor)  # taken for dead and removed before it was locked


@contextlib.contextmanager
def writing_whole(
    target: str, *, folder: str | None = None, sync: Callable[[int], None] = os.fsync
) -> Iterator[BinaryIO]:
    """Open a file that becomes `target` at the end of the block, whole, or not at all.

    Args:
        folder: where it is until then, as for `create_part`.
    """
    part, descriptor = create_part(target, folder=folder)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            sync(descriptor)
            if os.name != "nt":  # while it is locked, nobody takes it for abandoned
                os.replace(part, target)
        if os.name == "nt":
            os.replace(part, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


@contextlib.contextmanager
def temporary_folder(parent: str) -> Iterator[str]:
    """Yield a hidden folder that is removed at the end of the block; those of dead processes are removed first."""
    remove_dead_parts(parent)
    path, descriptor = _create_folder(parent)
    try:
        yield path
    finally:
        try:
            shutil.rmtree(path)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _create_folder(parent: str) -> tuple[str, int | None]:
    """Create a temporary folder, locked, and return its path and descriptor (None on Windows)."""
    while True:
        path = os.path.join(parent, f".fluidio-{os.getpid()}-{next(_numbers)}")
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue  # left by a dead process with our number
        except OSError as error:
            raise _about(error, parent) from None
        if sys.platform == "win32":
            return path, None
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            if lock(descriptor) is not False and _is_still(path, descriptor):
                return path, descriptor
            os.close(descriptor)  # taken for dead and removed before it was locked


def _about(error: OSError, path: str) -> OSError:
    """Return an error of a hidden file or folder with the name that its user gave."""
    return OSError(error.errno, error.strerror, path)


@contextlib.contextmanager
def claimed(target: str) -> Iterator[bool]:
    """Claim the right to write a target for the duration of a block; yield False if another process has it."""
    folder, name = os.path.split(target)
    path = os.path.join(folder, hidden_name(name, ".fluidio-lock"))
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise _about(error, target) from None
        try:
            if not _is_ours_soon(descriptor):
                yield False
                return
            if not _is_still(path, descriptor):
                continue  # its owner removed it just now
            try:
                yield True
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                unlock(descriptor)
            return
        finally:
            os.close(descriptor)


def remove_dead_parts(folder: str) -> None:
    """Remove the unfinished files and folders in a folder whose process is dead."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if _PART.fullmatch(entry.name) or _FOLDER.fullmatch(entry.name)]
    except OSError:
        return  # writing there will report the problem
    for path in found:
        with contextlib.suppress(OSError):  # gone already, or not ours
            _remove_if_dead(path)


def _remove_if_dead(path: str) -> None:
    folder = os.path.isdir(path)
    descriptor = os.open(path, (os.O_RDONLY if folder else os.O_RDWR) | getattr(os, "O_CLOEXEC", 0))
    try:
        if lock(descriptor):
            (shutil.rmtree if folder else os.unlink)(path)
    finally:
        os.close(descriptor)


def sync_folder(folder: str) -> None:
    """Sync the names in a folder to disk, so that a rename survives a power failure."""
    if os.name == "nt":
        return  # no folder can be opened
    descriptor = os.open(folder or ".", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        with contextlib.suppress(OSError):  # a file system without support for it
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool | None:
    """Lock an open file exclusively; return False if another holds the lock, None where locks are unsupported."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_ours_soon(descriptor: int) -> bool:
    """Lock an open file, which somebody who looks for dead ones may hold for a moment."""
    for _ in range(_TRIES):
        if lock(descriptor) is not False:
            return True
        time.sleep(_MOMENT)
    return False


def unlock(descriptor: int) -> None:
    """Release a lock, even if a forked process still has the file open."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _is_still(path: str, descriptor: int) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)
