"""Copy a file to disk so that an interrupted copy resumes where it stopped.

    .NAME.part       the beginning of the file
    .NAME.part.json  of which source, how much of it is certain, and the SHA-256 of that much

The certain part is read and compared before the copy continues. A source that cannot be distinguished from another one
of the same size (no date, no ETag) is copied from the beginning.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

from fluidio.conversion import storage
from fluidio.errors import ConversionError
from fluidio.recordio.files.part_files import hidden_name
from fluidio.recordio.files.source import filesystem_of, is_url

if sys.platform != "win32":
    import fcntl

__all__ = ["CHECKPOINT", "copy_to_disk"]

CHECKPOINT = 32 << 20
"""Bytes between notes of what is certain; smaller files are not worth one."""
_PIECE = 1 << 20
# What file systems of fsspec call the facts that change with the content of a file.
_FACTS = [
    "size",
    "mtime",
    "ino",
    "created",
    "ETag",
    "etag",
    "LastModified",
    "last_modified",
    "Last-Modified",
    "Content-MD5",
    "Digest",
    "md5Hash",
    "generation",
]


def copy_to_disk(source: str, target: str, report: Callable[[int], object]) -> tuple[int, str]:
    """Copy a file (a path or URL) to a local path and return its size and SHA-256.

    Args:
        report: called with the number of bytes copied.

    Raises:
        ConversionError: another process is copying to the same path, or the source changed meanwhile.
    """
    folder, name = storage.parent(target), storage.name_of(target)
    part, note = (os.path.join(folder, hidden_name(name, end)) for end in (".part", ".part.json"))
    identity = _identity(source)
    with storage.naming(target), _locked(part) as out:
        found, start = _certain(out, note, identity)
        with storage.opened(source) as file:
            if start and not _went_to(file, start):
                found, start = hashlib.sha256(), 0
            out.seek(start)
            out.truncate()
            size = _copy(file, out, found, start, report, note, identity)
        if identity != _identity(source):
            storage.remove(note)
            raise ConversionError(f"{source} changed while it was being copied: run the command again")
        out.flush()
        os.fsync(out.fileno())
        os.replace(part, target)
        storage.remove(note)
    return size, found.hexdigest()


def _identity(source: str) -> dict[str, str]:
    """Return values that distinguish a file from a later one of the same name."""
    if is_url(source):
        filesystem, inner = filesystem_of(source)
        filesystem.invalidate_cache()
        facts = filesystem.info(inner)
    else:
        status = os.stat(source)
        facts = {"size": status.st_size, "mtime": status.st_mtime_ns, "ino": status.st_ino}
    return {"source": source} | {name: str(facts[name]) for name in _FACTS if facts.get(name) is not None}


@contextlib.contextmanager
def _locked(part: str) -> Iterator[IO[bytes]]:
    """Open the unfinished file exclusively for this process, keeping its contents."""
    with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b") as file:
        if sys.platform != "win32":
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConversionError(f"{part}: another process is copying this file") from None
            except OSError:
                pass  # a file system without locks
        yield file


def _certain(out: IO[bytes], note: str, identity: dict[str, str]) -> tuple[Any, int]:
    """Return the hash and the length of the beginning that can be kept."""
    try:
        said = json.loads(storage.read(note))
        length, digest, of = int(said["bytes"]), said["sha256"], said["of"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return hashlib.sha256(), 0
    if of != identity or len(identity) < 3:  # the path and the size alone are not enough
        return hashlib.sha256(), 0
    found, left = hashlib.sha256(), length
    out.seek(0)
    while left and (data := out.read(min(_PIECE, left))):
        found.update(data)
        left -= len(data)
    return (found, length) if not left and found.hexdigest() == digest else (hashlib.sha256(), 0)


def _went_to(file: Any, offset: int) -> bool:
    """Seek to an offset of the source, if it supports that."""
    try:
        file.seek(offset)
    except (OSError, ValueError, NotImplementedError):  # an HTTP server without ranges
        return False
    return True


def _copy(
    file: Any,
    out: IO[bytes],
    found: Any,
    count: int,
    report: Callable[[int], object],
    note: str,
    identity: dict[str, str],
) -> int:
    noted = count
    while data := file.read(_PIECE):
        out.write(data)
        found.update(data)
        count += len(data)
        report(count)
        if count - noted >= CHECKPOINT:
            out.flush()
            storage.write(note, json.dumps({"of": identity, "bytes": count, "sha256": found.hexdigest()}).encode())
            noted = count
    return count
