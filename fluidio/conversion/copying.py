"""`records cp`: copy shards to and from a store, in parallel, verified, skipping what is there already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import IO, Any

from fluidio.conversion import storage
from fluidio.conversion.progress import Progress
from fluidio.errors import ConversionError
from fluidio.recordio.paths import expand

__all__ = ["copy"]


def copy(sources: Iterable[str], target: str, *, workers: int = 4, progress: IO[str] | None = None) -> list[str]:
    """Copy files into the folder `target` (paths or URLs on either side) and return the new paths.

    Each copy is read back and compared by SHA-256. Files that are there already with the same content are kept, so an
    interrupted copy goes on where it stopped.
    """
    paths = expand(list(sources))
    folder = target.rstrip("/") or "/"
    names = [storage.name_of(path) for path in paths]
    if len(set(names)) != len(names):
        raise ConversionError("two sources have the same name: copy them to different folders")
    storage.make_folder(folder)
    shown = Progress(len(paths), "files", progress)
    targets = [storage.join(folder, name) for name in names]
    with ThreadPoolExecutor(max(1, workers), "fluidio-copy") as pool:
        jobs = [pool.submit(_copy_one, path, to) for path, to in zip(paths, targets)]
        try:
            for job in as_completed(jobs):
                size, kept = job.result()
                shown.step(0, size, kept=kept)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    shown.finish()
    return targets


def _copy_one(source: str, target: str) -> tuple[int, bool]:
    if storage.exists(target) and storage.size(target) == storage.size(source):
        wanted = storage.digest(source)
        if storage.digest(target) == wanted:
            return wanted[0], True
    found: Any = hashlib.sha256()
    with storage.writing(target) as out:
        size = storage.copy_file(source, out, found)
    if storage.digest(target) != (size, found.hexdigest()):
        storage.remove(target)
        raise ConversionError(f"{target}: what was read back is not what was written from {source}; it was removed")
    return size, False
