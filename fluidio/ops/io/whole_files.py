"""Write files atomically, one or several together.

A single file is written under a hidden name, synced and renamed. Several files of one model must also be of one
generation. They are written under hidden names and synced; then a list of them appears atomically, which commits the
new generation; then they are renamed, and the list is removed. If the process dies in between, the next load or save
there finishes the renaming; until the list exists, the old generation is untouched.

    .NAME.fluidio-new-GENERATION   a file that is not yet NAME
    .KEY.fluidio-commit            the list: JSON of the generation and the names
    .KEY.fluidio-lock              locked by whoever saves or finishes
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Iterator
from types import ModuleType
from typing import BinaryIO

from fluidio.program.consent import inside
from fluidio.regular import open_regular

__all__ = ["finish_saving", "is_hidden", "saving_together", "write_whole"]

_SYNCS_AT_ONCE = 8  # file systems combine simultaneous requests
_SLOW_SYNC = 0.0001
_POLL = 0.02
_HIDDEN = re.compile(r"^\..*\.fluidio-(new-\w+|commit|lock)$")
_LEFT = re.compile("(?<=fluidio-new-)[0-9a-f]{32}$")
_batches = threading.local()


def _parts() -> ModuleType:
    """Return the module for unfinished files; it imports all of RecordIO, so only on the first save."""
    from fluidio.recordio.files import part_files

    return part_files


class _Batch:
    """The files that become visible together."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.generation = uuid.uuid4().hex
        self.names: list[str] = []
        self._hidden: dict[str, str] = {}

    def hidden(self, name: str) -> str:
        found = self._hidden.get(name)
        if found is None:
            found = self._hidden[name] = _hidden(os.path.join(self.folder, name), self.generation)
        return found

    @contextlib.contextmanager
    def file(self, path: str) -> Iterator[BinaryIO]:
        """Yield a file to write that will become `path`."""
        name = os.path.relpath(path, self.folder or ".")
        self.names.append(name)
        with _opened(self.hidden(name)) as file:
            yield file
            file.flush()
            _start_writing(file.fileno())


def _opened(path: str) -> BinaryIO:
    """Open a file to write; its folder is created if it is missing."""
    try:
        return open(path, "wb")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "wb")


def is_hidden(name: str) -> bool:
    """Return whether a file is a temporary one of saving, possibly left by a crash."""
    return _HIDDEN.match(os.path.basename(name)) is not None


@contextlib.contextmanager
def write_whole(path: str) -> Iterator[BinaryIO]:
    """Write a file under a temporary name and rename it when complete; folders are created.

    Inside `saving_together` all files are renamed at its end.
    """
    batch: _Batch | None = getattr(_batches, "current", None)
    if batch is not None:
        with batch.file(path) as file:
            yield file
        return
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with _alone(path) as file:
        yield file


@contextlib.contextmanager
def _alone(path: str) -> Iterator[BinaryIO]:
    with _parts().writing_whole(path, sync=_sync) as file:
        yield file
    _sync_folder(os.path.dirname(path))


@contextlib.contextmanager
def saving_together(folder: str, key: str) -> Iterator[None]:
    """Make all files written with `write_whole` inside the block appear together, or none of them.

    Args:
        folder: the folder of all these files.
        key: a name for what is saved there; saves and loads with the same key take turns.
    """
    if getattr(_batches, "current", None) is not None:
        yield  # inside another one
        return
    os.makedirs(folder or ".", exist_ok=True)
    with _turn(folder, key):
        _finish(folder, key)
        batch = _batches.current = _Batch(folder)
        try:
            yield
            _commit(batch, key)
        except BaseException:
            if not os.path.exists(_list_path(folder, key)):
                _remove([batch.hidden(name) for name in batch.names])
            raise
        finally:
            _batches.current = None


def finish_saving(folder: str, key: str) -> None:
    """Finish the renaming that a dead process began, before anything is loaded from a folder.

    Raises:
        OSError: the folder is not writable, so the files remain of two generations.
    """
    if os.path.exists(_list_path(folder, key)):
        with _turn(folder, key):
            _finish(folder, key)


@contextlib.contextmanager
def _turn(folder: str, key: str) -> Iterator[None]:
    while True:
        with _parts().claimed(os.path.join(folder, key)) as mine:
            if mine:
                yield
                return
        time.sleep(_POLL)


def _commit(batch: _Batch, key: str) -> None:
    _sync_all([batch.hidden(name) for name in batch.names])
    folders = {os.path.dirname(os.path.join(batch.folder, name)) for name in batch.names}
    if len(batch.names) > 1:
        _write_list(batch, key)
    for name in dict.fromkeys(batch.names):
        os.replace(batch.hidden(name), os.path.join(batch.folder, name))
    for folder in folders:
        _sync_folder(folder)
    _sweep(batch)
    _remove([_list_path(batch.folder, key)])


def _write_list(batch: _Batch, key: str) -> None:
    path = _list_path(batch.folder, key)
    with _alone(path) as file:
        file.write(json.dumps({"generation": batch.generation, "files": batch.names}).encode())


def _finish(folder: str, key: str) -> None:
    path = _list_path(folder, key)
    try:
        with open_regular(path) as file:
            found = file.read()
    except FileNotFoundError:
        return
    generation, names = _parsed(found, path)
    _rename(folder, names, generation)
    _sync_folder(folder)
    _remove([path])


def _parsed(data: bytes, path: str) -> tuple[str, list[str]]:
    try:
        found = json.loads(data)
        generation, names = found["generation"], list(found["files"])
        if not re.fullmatch("[0-9a-f]{32}", generation) or not all(isinstance(name, str) for name in names):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"{path}: damaged notes of an interrupted save; remove this file") from None
    for name in names:
        inside(os.path.dirname(path), name)
    return generation, names


def _rename(folder: str, names: list[str], generation: str) -> None:
    for name in names:
        target = os.path.join(folder, name)
        with contextlib.suppress(FileNotFoundError):  # renamed before the process died
            os.replace(_hidden(target, generation), target)


def _sweep(batch: _Batch) -> None:
    """Remove files left by saves that died before they were committed."""
    folders: dict[str, set[str]] = {}
    for name in batch.names:
        folder, base = os.path.split(batch.hidden(name))
        folders.setdefault(folder, set()).add(base.removesuffix(batch.generation))
    for folder, beginnings in folders.items():
        with os.scandir(folder or ".") as entries:
            left = [entry.path for entry in entries if _LEFT.sub("", entry.name) in beginnings]
        _remove(left)


def _hidden(path: str, generation: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, _parts().hidden_name(name, f".fluidio-new-{generation}"))


def _list_path(folder: str, key: str) -> str:
    return os.path.join(folder, _parts().hidden_name(key, ".fluidio-commit"))


def _remove(paths: list[str]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _sync_all(paths: list[str]) -> None:
    """Sync files one after another while that takes no time, as in memory, and the others together."""
    done = 0
    for done, path in enumerate(paths, 1):  # noqa: B007  (read after the loop)
        began = time.perf_counter()
        _sync_path(path)
        if time.perf_counter() - began > _SLOW_SYNC:
            break
    else:
        return
    left = paths[done:]
    if not left:
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(_SYNCS_AT_ONCE, len(left)), "fluidio-sync") as pool:
        list(pool.map(_sync_path, left))


def _sync_path(path: str) -> None:
    if _syncs():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _start_writing(descriptor: int) -> None:
    """Let the system begin to write a file to disk, so that syncing it later need not wait for all of it."""
    if _syncs() and hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError):  # a file system that takes no advice
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _sync_folder(folder: str) -> None:
    if _syncs():
        _parts().sync_folder(folder)


def _sync(descriptor: int) -> None:
    if _syncs():
        os.fsync(descriptor)


def _syncs() -> bool:
    return os.environ.get("FLUIDIO_SYNC", "1") != "0"
