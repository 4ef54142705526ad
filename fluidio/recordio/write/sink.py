"""The target of a writer: takes whole chunks, in order, to a local file, a file object or a URL."""

from __future__ import annotations

import contextlib
import os
import stat
import warnings
from typing import Any, Protocol

from fluidio.errors import RecordIOError
from fluidio.recordio.files.index import find_tail
from fluidio.recordio.files.part_files import create_part, lock, sync_folder, unlock
from fluidio.recordio.files.source import LocalSource, filesystem_of, is_url
from fluidio.recordio.format.dialects import Dialect

__all__ = ["LocalSink", "Sink", "StreamSink", "open_sink"]


_STEP = 1 << 17


def _room(end: int) -> int:
    """Return how much to write at once at this offset: up to the next multiple of 128 KiB.

    Linux allocates page cache in units of the write size. A virtual machine gives free blocks of 2 MiB back to its
    host, and getting one again takes milliseconds. Units of a megabyte are soon cut from those, and the first 200 MB
    then take three times as long. Smaller units are found elsewhere, but much smaller ones are slower to read.
    """
    return _STEP - end % _STEP


class Sink(Protocol):
    """Takes chunks one after another."""

    name: str
    dialect: Dialect | None
    """The dialect of the existing content, None for a new file."""

    @property
    def chunks(self) -> int:
        """Number of chunks written completely."""
        ...

    @property
    def broken(self) -> bool:
        """Return whether nothing more can be written."""
        ...

    def write(self, header: bytes, stored: Any) -> None: ...

    def sync(self) -> None: ...

    def close(self, *, keep: bool) -> None: ...


class LocalSink:
    """A file on disk.

    A chunk is written completely before anything else happens, so a killed process leaves at most one incomplete chunk;
    appending removes such a tail first. A write that fails (a full disk) or is interrupted (Ctrl-C) is undone.
    """

    def __init__(self, path: str, mode: str, atomic: bool) -> None:
        self.name = path
        self.dialect: Dialect | None = None
        self._target = self._path = path
        self._whole = (0, 0)  # end of the last whole chunk, and number of chunks: one value, so updates are atomic
        self._unfinished = False
        self._is_file = True
        if atomic:
            self._path, self._fd = create_part(path)
            return
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        self._fd = os.open(path, flags, 0o666)
        try:
            if lock(self._fd) is False:
                hint = "close it first, or write with atomic=True, which replaces the file at the end"
                raise RecordIOError("another writer has this file open", path=path, hint=hint)
            found = os.fstat(self._fd)
            self._is_file = stat.S_ISREG(found.st_mode)
            if mode == "a":
                self._continue()
            elif self._is_file and found.st_size:  # ext4 passes a truncated file to the disk when it is closed
                os.ftruncate(self._fd, 0)
        except BaseException:
            os.close(self._fd)
            raise

    def _continue(self) -> None:
        source = LocalSource(self._path)
        try:
            self.dialect, end, tail = find_tail(source)
            if tail is not None:
                lost = source.size - end
                warnings.warn(f"{tail}; cut off {lost} bytes of an unfinished chunk in order to append", stacklevel=6)
                os.ftruncate(self._fd, end)
        finally:
            source.close()
        os.lseek(self._fd, end, os.SEEK_SET)
        self._whole = (end, 0)

    @property
    def chunks(self) -> int:
        return self._whole[1]

    @property
    def broken(self) -> bool:
        return False

    def write(self, header: bytes, stored: Any) -> None:
        if self._unfinished:
            self._take_back()
        payload = memoryview(stored)
        start, chunks = self._whole
        end = start
        self._unfinished = True
        try:
            end += self._write_both(header, payload[: max(0, _room(end) - len(header))])
            done = end - start - len(header)
            while done < len(payload):
                done += os.write(self._fd, payload[done : done + _room(end)])
                end = start + len(header) + done
        except BaseException:
            self._take_back()
            raise
        self._whole = (end, chunks + 1)
        self._unfinished = False

    def _take_back(self) -> None:
        """Truncate the file after the last whole chunk."""
        end, _ = self._whole
        if self._is_file:
            os.ftruncate(self._fd, end)
            os.lseek(self._fd, end, os.SEEK_SET)
        self._unfinished = False

    def _write_both(self, header: bytes, payload: memoryview) -> int:
        """Write a header and the beginning of its payload, at least all of the header; return how many bytes."""
        done = os.writev(self._fd, [header, payload]) if hasattr(os, "writev") else os.write(self._fd, header)
        while done < len(header):
            done += os.write(self._fd, header[done:])
        return done

    def sync(self) -> None:
        os.fsync(self._fd)

    def close(self, *, keep: bool) -> None:
        atomic = self._path != self._target
        try:
            if self._unfinished:
                self._take_back()
            if atomic and keep:
                os.fsync(self._fd)
                if os.name != "nt":  # Windows renames no open file; elsewhere it must not look abandoned
                    os.replace(self._path, self._target)
        except BaseException:
            keep = False
            raise
        finally:
            unlock(self._fd)  # a process forked meanwhile may still have the file open
            os.close(self._fd)
            if atomic and not keep:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)
        if atomic and keep:
            if os.name == "nt":
                os.replace(self._path, self._target)
            sync_folder(os.path.dirname(self._target))


class StreamSink:
    """A binary file object (left open) or an fsspec URL (closed at the end)."""

    def __init__(self, stream: Any, name: str, owned: bool) -> None:
        self.name = name
        self.dialect: Dialect | None = None
        self._chunks = 0
        self._stream = stream
        self._owned = owned
        self._unfinished = False

    def write(self, header: bytes, stored: Any) -> None:
        if self.broken:  # it may not support truncation
            hint = "start it again, or write to a path, where an interrupted chunk is removed"
            raise RecordIOError("a write was interrupted in the middle of a chunk", path=self.name, hint=hint)
        self._unfinished = True
        self._stream.write(header)
        self._stream.write(stored)
        self._chunks += 1
        self._unfinished = False

    @property
    def chunks(self) -> int:
        return self._chunks

    @property
    def broken(self) -> bool:
        return self._unfinished

    def sync(self) -> None:
        self._stream.flush()

    def close(self, *, keep: bool) -> None:
        if self._owned:
            self._stream.close()
        elif not getattr(self._stream, "closed", False):
            self._stream.flush()


def open_sink(what: object, mode: str, atomic: bool) -> Sink:
    """Return the sink for a path, a URL or a binary file object."""
    if isinstance(what, (str, os.PathLike)):
        path = os.fspath(what)
        if not is_url(path):
            return LocalSink(path, mode, atomic)
        if mode == "a":
            raise ValueError(f"{path}: appending works only on local files")
        filesystem, inner = filesystem_of(path)
        return StreamSink(filesystem.open(inner, "wb"), path, owned=True)
    if hasattr(what, "write"):
        if mode == "a":
            raise ValueError("appending needs a path, got a file object")
        return StreamSink(what, str(getattr(what, "name", f"<{type(what).__name__}>")), owned=False)
    raise TypeError(f"expected a path, a URL or a binary file object, got {type(what).__name__}")
