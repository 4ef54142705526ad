"""Records of pickled samples, as `paddle.dataset.common.convert` wrote and `creator.recordio` reads them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

from fluidio import pickles
from fluidio.errors import RecordIOError
from fluidio.recordio.files.file import File
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.chunks import ChunkReader, OnError

__all__ = ["sample_reader"]


def sample_reader(
    paths: object, *, allow_pickle: bool = False, on_error: OnError = "raise"
) -> Callable[[], Iterator[Any]]:
    """Return a reader creator over the pickled samples in some files.

    Pickles of Python 2 are understood. Only numbers, text, containers and NumPy arrays are unpickled, because a pickle
    can run any code; `allow_pickle=True` trusts the files.

    Args:
        paths: a path, a comma-separated list, globs, URLs, file objects or Tasks, or a list of them.
        on_error: "skip" skips damaged chunks and samples.

    Raises (while reading):
        RecordIOError: damage, or a record that is not a pickle.
        UnsafePickleError: a pickle asks for more than data.
    """

    def reader() -> Iterator[Any]:
        for path in expand(paths, commas=True):
            yield from _samples(path, allow_pickle, on_error)

    return reader


def _samples(path: str | PathLike[str], allow_pickle: bool, on_error: OnError) -> Iterator[Any]:
    if isinstance(path, Task):
        with File(path, on_error=on_error) as file:
            for record in file:
                yield pickles.loads(record, allow_pickle, source=file.name)
        return
    with ChunkReader(path, on_error=on_error) as chunks:
        name = chunks.source.name
        for chunk in chunks:
            for number, record in enumerate(chunk.records()):
                try:
                    sample = pickles.loads(record, allow_pickle, source=name)
                except (pickle.UnpicklingError, EOFError) as error:
                    if on_error == "skip":
                        continue
                    raise RecordIOError(
                        f"record {number} is not a pickled sample",
                        path=name,
                        chunk=chunk.number,
                        offset=chunk.offset,
                        hint="`fluidio inspect` tells what it holds; Fluid's tensor records are read by BlockReader",
                    ) from error
                yield sample
