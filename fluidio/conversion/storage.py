"""Access files by path or fsspec URL through the same few functions; writes are atomic."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from fluidio.errors import ConversionError
from fluidio.recordio.files.part_files import remove_dead_parts, writing_whole
from fluidio.recordio.files.source import RemoteSource, filesystem_of, is_url

__all__ = [
    "copy_file",
    "digest",
    "exists",
    "files_in",
    "folders_in",
    "identity",
    "join",
    "make_folder",
    "move",
    "name_of",
    "naming",
    "on_disk",
    "opened",
    "parent",
    "read",
    "remove",
    "remove_folder",
    "size",
    "tidy",
    "write",
    "writing",
]

_PIECE = 1 << 20
_WITH_FOLDERS = {"file", "local", "memory", "hdfs", "arrow_hdfs", "webhdfs", "sftp", "ssh", "ftp", "smb", "dbfs"}
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def on_disk(path: str) -> str | None:
    """Return the local path of a path or URL (a `pfs://` whose root is a folder); None if it is not local."""
    if not is_url(path):
        return path
    filesystem, inner = filesystem_of(path)
    protocol = filesystem.protocol
    return inner if "file" in ((protocol,) if isinstance(protocol, str) else protocol) else None


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Add a path to errors of a full disk, which do not name one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            raise OSError(error.errno, f"{error.strerror} while writing", path) from error
        raise


def join(folder: str, name: str) -> str:
    """Return the path or URL of a file in a folder.

    Raises:
        ConversionError: the name, which may come from a store, is that of a folder.
    """
    if name in ("", ".", ".."):
        raise ConversionError(f"{folder}: {name!r} is not a file name")
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else os.path.join(folder, name)


def parent(path: str) -> str:
    """Return the folder of a file, "." for a bare name."""
    return path.rpartition("/")[0] if is_url(path) else os.path.dirname(path) or "."


def name_of(path: str) -> str:
    """Return the last part of a path or URL."""
    return path.rpartition("/")[2] if is_url(path) else os.path.basename(path)


def make_folder(path: str) -> None:
    """Create a folder and its parents; not in an object store, which would create a bucket for a mistyped name."""
    if is_url(path):
        filesystem, inner = filesystem_of(path)
        protocol = filesystem.protocol
        if _WITH_FOLDERS.intersection((protocol,) if isinstance(protocol, str) else protocol):
            filesystem.makedirs(inner, exist_ok=True)
    else:
        os.makedirs(path, exist_ok=True)


def tidy(folder: str) -> None:
    """Remove unfinished files of killed processes from a folder; a store shows no unfinished files."""
    if not is_url(folder):
        remove_dead_parts(folder)


def files_in(folder: str) -> list[str]:
    """Return the names of the files in a folder, sorted."""
    return _names(folder, "file")


def folders_in(folder: str) -> list[str]:
    """Return the names of the folders in a folder, sorted."""
    return _names(folder, "directory")


def _names(folder: str, kind: str) -> list[str]:
    if is_url(folder):
        filesystem, inner = filesystem_of(folder)
        found = [
            (entry["name"].rstrip("/").rpartition("/")[2], entry["type"]) for entry in filesystem.ls(inner, detail=True)
        ]
    else:
        with os.scandir(folder) as entries:
            found = [(entry.name, "directory" if entry.is_dir() else "file") for entry in entries]
    return sorted(name for name, what in found if what == kind and name)


def exists(path: str) -> bool:
    """Return whether there is a file."""
    if is_url(path):
        filesystem, inner = filesystem_of(path)
        filesystem.invalidate_cache()  # other machines write here too
        return bool(filesystem.exists(inner))
    return os.path.exists(path)


def size(path: str) -> int:
    """Return the size of a file in bytes."""
    if is_url(path):
        filesystem, inner = filesystem_of(path)
        return int(filesystem.info(inner)["size"])
    return os.path.getsize(path)


def identity(path: str) -> list[str | int]:
    """Return what changes with a file: its name and size, and its date or what a store has in place of it."""
    if is_url(path):
        source = RemoteSource(path)
        return [path, source.size, source.identity]
    found = os.stat(path)
    return [os.path.abspath(path), found.st_size, found.st_mtime_ns]


def opened(path: str, mode: str = "rb") -> Any:
    """Open a file for reading or writing bytes."""
    if is_url(path):
        filesystem, inner = filesystem_of(path)
        return filesystem.open(inner, mode)
    return open(path, mode)


def read(path: str) -> bytes:
    """Return the bytes of a small file."""
    with opened(path) as file:
        return cast(bytes, file.read())


def write(path: str, data: bytes) -> None:
    """Write a small file atomically: readers see either the old or the new content."""
    with writing(path) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: str, staging: str | None = None) -> Iterator[IO[bytes]]:
    """Open a new file that gets its name only when it is complete.

    Args:
        staging: a folder for the unfinished file, so that a killed process leaves nothing beside the finished ones.
    """
    if is_url(path):
        # Object stores show an object when it is complete; a spooled copy keeps a failed one from being completed.
        with naming(path), tempfile.SpooledTemporaryFile(max_size=64 << 20) as spool:
            yield cast(IO[bytes], spool)
            spool.seek(0)
            with opened(path, "wb") as out:
                shutil.copyfileobj(spool, out, _PIECE)
        return
    with naming(path), writing_whole(path, folder=staging) as file:
        yield file


def digest(path: str, report: Callable[[int], object] = lambda count: None) -> tuple[int, str]:
    """Return size and SHA-256 of a file.

    Args:
        report: called with the number of bytes read.
    """
    found, count = hashlib.sha256(), 0
    with opened(path) as file:
        while data := file.read(_PIECE):
            found.update(data)
            count += len(data)
            report(count)
    return count, found.hexdigest()


def copy_file(source: str, out: Any, *hashes: Any) -> int:
    """Append a file to an open one, feed its bytes to some hashes, and return their number."""
    count = 0
    with opened(source) as file:
        while data := file.read(_PIECE):
            out.write(data)
            for found in hashes:
                found.update(data)
            count += len(data)
    return count


def move(path: str, target: str) -> None:
    """Rename a file within a store, which may mean that the store copies it."""
    filesystem, inner = filesystem_of(path)
    filesystem.mv(inner, filesystem_of(target)[1])


def remove(path: str) -> None:
    """Delete a file if it exists."""
    with contextlib.suppress(FileNotFoundError):
        if is_url(path):
            filesystem, inner = filesystem_of(path)
            filesystem.rm(inner)
        else:
            os.unlink(path)


def remove_folder(path: str) -> None:
    """Delete a folder with all its files, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        if is_url(path):
            filesystem, inner = filesystem_of(path)
            filesystem.rm(inner, recursive=True)
        else:
            shutil.rmtree(path)
