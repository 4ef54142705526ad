"""Byte sources: a local file, a binary file object, or an fsspec URL; all read by (offset, size)."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import threading
from collections.abc import Iterator
from os import PathLike
from typing import Any, BinaryIO, Protocol, cast, runtime_checkable

from fluidio.errors import RecordIOError, missing_dependency
from fluidio.recordio.files.network import ExplainedStore, fetch, limits
from fluidio.recordio.files.pipes import is_pipe, open_pipe

__all__ = ["ByteSource", "LocalSource", "RemoteSource", "StreamSource", "is_url", "open_source"]


@runtime_checkable
class ByteSource(Protocol):
    """Random access to the bytes of one file; safe to use from several threads."""

    name: str
    size: int

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`, fewer at the end of the file."""
        ...

    def readinto(self, offset: int, target: memoryview) -> int:
        """Fill `target` from `offset` and return the number of bytes read."""
        ...

    def close(self) -> None: ...


_READ_ONLY = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class LocalSource:
    """A file on disk, read with `pread`: no shared position, no cache between us and the page cache."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self._fd = os.open(self.name, _READ_ONLY)
        self._open = True
        self._parked = False
        try:
            self.size = os.fstat(self._fd).st_size
            _pread(self._fd, 1, 0)  # raises for a directory
        except IsADirectoryError:
            self.close()
            problem = f"{self.name} is a folder: name its files, for example {self.name.rstrip('/')}/*"
            raise IsADirectoryError(problem) from None
        except OSError:
            self.close()
            raise

    def fileno(self) -> int:
        return self._fd

    def descriptor(self) -> int:
        """Return the open descriptor, even if the file was parked."""
        self._check()
        return self._fd

    def read(self, offset: int, size: int) -> bytes:
        self._check()
        data = _pread(self._fd, size, offset)
        while len(data) < size:
            more = _pread(self._fd, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def readinto(self, offset: int, target: memoryview) -> int:
        self._check()
        done = 0
        while done < len(target):
            count = _pread_into(self._fd, target[done:], offset + done)
            if count == 0:
                break
            done += count
        return done

    def _check(self) -> None:
        if not self._open:
            raise ValueError(f"{self.name} is closed")
        if self._parked:
            self._unpark()

    def park(self) -> None:
        """Close the descriptor until the next read: a process has only so many."""
        if self._open and not self._parked:
            found = os.fstat(self._fd)
            self._identity = (found.st_dev, found.st_ino)
            self._parked = True
            os.close(self._fd)

    def _unpark(self) -> None:
        self._fd = os.open(self.name, _READ_ONLY)
        self._parked = False
        found = os.fstat(self._fd)
        if (found.st_dev, found.st_ino) != self._identity:
            raise RecordIOError("the file was replaced while it was being read", path=self.name)

    def close(self) -> None:
        if self._open:
            self._open = False
            if not self._parked:
                os.close(self._fd)

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self.close()


if hasattr(os, "pread"):
    _pread = os.pread
else:  # Windows: one position for each file, so reads take turns
    _turn = threading.Lock()

    def _pread(fd: int, size: int, offset: int, /) -> bytes:
        with _turn:
            os.lseek(fd, offset, os.SEEK_SET)
            return os.read(fd, size)


def _pread_into(fd: int, target: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(fd, [target], offset)
    data = _pread(fd, len(target), offset)
    target[: len(data)] = data
    return len(data)


class StreamSource:
    """A binary file object; one that cannot seek is copied to a temporary file first."""

    def __init__(self, stream: BinaryIO, name: str | None = None) -> None:
        self.name = str(name or getattr(stream, "name", None) or f"<{type(stream).__name__}>")
        self._spooled = not _can_seek(stream)
        self._stream: Any = _spool(stream) if self._spooled else stream
        self._base = self._stream.tell()
        self.size = max(0, self._stream.seek(0, io.SEEK_END) - self._base)
        self._stream.seek(self._base)
        self._lock = threading.Lock()

    def read(self, offset: int, size: int) -> bytes:
        with self._lock:
            self._stream.seek(self._base + offset)
            parts = []
            while size > 0:
                data = self._stream.read(size)
                if not data:
                    break
                parts.append(data)
                size -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, offset: int, target: memoryview) -> int:
        data = self.read(offset, len(target))
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Leave the caller's stream open, at its original position: its owner closes it."""
        if self._spooled:
            self._stream.close()
        elif not getattr(self._stream, "closed", False):
            self._stream.seek(self._base)


def _can_seek(stream: object) -> bool:
    seekable = getattr(stream, "seekable", None)
    return bool(seekable()) if seekable is not None else hasattr(stream, "seek")


def _spool(stream: Any) -> BinaryIO:
    spool = tempfile.SpooledTemporaryFile(max_size=1 << 26)
    while data := stream.read(1 << 20):
        spool.write(data)
    spool.seek(0)
    return cast(BinaryIO, spool)


_IDENTITIES = ("ETag", "etag", "md5Hash", "generation", "Content-MD5", "Digest", "LastModified", "created")


class RemoteSource:
    """A file behind an fsspec URL, read by ranges through one small window.

    Walking over headers fetches one window per chunk, not the chunks; reading a chunk requests exactly its range.
    """

    WINDOW = 1 << 15

    def __init__(self, url: str, filesystem: Any = None, path: str | None = None) -> None:
        self.name = url
        if filesystem is None:
            filesystem, path = filesystem_of(url)
        self._fs = filesystem
        self._path = path
        info = self._fs.info(self._path)
        if info.get("type") == "directory":
            raise IsADirectoryError(f"{url} is a folder: name its files, for example {url.rstrip('/')}/*")
        if info.get("size") is None:
            raise RecordIOError(
                "the server does not tell the size of the file, so ranges of it cannot be read",
                path=url,
                hint="download the file or pass an open file object",
            )
        self.size = int(info["size"])
        self.identity = next((f"{name} {info[name]}" for name in _IDENTITIES if info.get(name)), "")
        """A value that changes with the content; "" if the store provides none."""
        self._window = (0, b"")
        self.bytes_fetched = 0

    def read(self, offset: int, size: int) -> bytes:
        size = min(size, self.size - offset)
        if size <= 0:
            return b""
        start, data = self._window
        if not (start <= offset and offset + size <= start + len(data)):
            if size > self.WINDOW:
                return self._fetch(offset, size)
            start, data = offset, self._fetch(offset, min(self.WINDOW, self.size - offset))
            self._window = (start, data)
        return data[offset - start : offset - start + size]

    def prefetch(self, offset: int, size: int) -> None:
        """Fetch a range that is about to be read in pieces, in one request."""
        self._window = (offset, self._fetch(offset, min(size, self.size - offset)))

    def _fetch(self, offset: int, size: int) -> bytes:
        self.bytes_fetched += size
        return fetch(self._fs, cast(str, self._path), offset, size, self.name)

    def readinto(self, offset: int, target: memoryview) -> int:
        data = self.read(offset, len(target))
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._window = (0, b"")


def is_url(path: str | PathLike[str]) -> bool:
    """Return whether a path is for fsspec (`s3://`, `http://`, `memory://`, ...)."""
    return isinstance(path, str) and "://" in path


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL and the path inside it.

    `pfs://home/...`, the store of PaddlePaddle Cloud, means `FLUIDIO_PFS_ROOT`/home/..., a folder or another URL.

    Raises:
        RecordIOError: the scheme is unknown, or it is not configured where `pfs://` leads.
    """
    if url.startswith("pfs://"):
        root = os.environ.get("FLUIDIO_PFS_ROOT")
        if not root:
            raise RecordIOError("set FLUIDIO_PFS_ROOT to the folder or URL that pfs:// stands for", path=url)
        url = f"{root.rstrip('/')}/{url.removeprefix('pfs://')}"
    try:
        import fsspec
    except ImportError as error:
        raise missing_dependency("fsspec", "remote", f"reading {url}") from error
    try:
        filesystem, path = fsspec.core.url_to_fs(url, **limits(url.partition("://")[0]))
    except (ValueError, ImportError) as error:
        raise RecordIOError(str(error), path=url) from error
    return ExplainedStore(filesystem, url), cast(str, path)


def open_source(what: Any) -> ByteSource:
    """Return the ByteSource of a path, a URL, a binary file object, or a ByteSource itself."""
    if isinstance(what, (str, os.PathLike)):
        path = os.fspath(what)
        if is_url(path):
            return RemoteSource(path)
        return _from_pipe(path) if is_pipe(path) else LocalSource(path)
    if isinstance(what, ByteSource):
        return what
    if hasattr(what, "read"):
        return StreamSource(what)
    raise TypeError(
        f"expected a path, a URL, a binary file object or a range from recordio.tasks(), got {type(what).__name__}"
    )


def _from_pipe(path: str) -> StreamSource:
    stream = open_pipe(path)
    try:
        return StreamSource(stream, path)
    finally:
        if path != "-":
            stream.close()  # it was copied


@contextlib.contextmanager
def opened(what: object) -> Iterator[Any]:
    """Open a source for a block and close it if it was opened here."""
    source = open_source(what)
    try:
        yield source
    finally:
        if source is not what:
            source.close()
