"""`paddle.reader.creator`: create readers from arrays, text files and RecordIO files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidio.reader.prefetch import buffered

__all__ = ["RecordIO", "np_array", "recordio", "text_file"]


def np_array(x: Any) -> Callable[[], Iterator[Any]]:
    """Return a reader of the rows of an array; an array without dimensions is its only sample."""

    def reader() -> Iterator[Any]:
        if np.ndim(x) < 1:
            yield x
        else:
            yield from x

    return reader


def text_file(path: str) -> Callable[[], Iterator[str]]:
    """Return a reader of the lines of a UTF-8 text file, without their line breaks."""

    def reader() -> Iterator[str]:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                yield line.rstrip("\n")

    return reader


def recordio(
    paths: str | Sequence[str], buf_size: int = 100, *, allow_pickle: bool = False
) -> Callable[[], Iterator[Any]]:
    """Return a reader of the pickled samples in RecordIO files, read ahead by a thread.

    Args:
        paths: file names, as a list or separated by commas; `*` and `?` are wildcards.
        buf_size: samples read ahead.
        allow_pickle: accept any class in the pickles; only for files you trust.
    """
    from fluidio.recordio import sample_reader

    return buffered(sample_reader(paths, allow_pickle=allow_pickle), buf_size)


RecordIO = recordio
