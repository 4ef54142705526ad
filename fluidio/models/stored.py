"""A tensor at an offset in a file, or in memory; its data are read in pieces."""

from __future__ import annotations

import codecs
import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidio.errors import ModelError
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.tensor_codec import parse_head
from fluidio.regular import open_regular
from fluidio.tensor.array import Array

__all__ = ["PIECE", "StoredTensor", "in_memory", "tensors_in"]


PIECE = 8 << 20
_WINDOW, _LARGEST_WINDOW = 4096, 64 << 20  # bytes read to find where the data begin


@dataclass(frozen=True)
class StoredTensor:
    """Description of a tensor without its data, and access to the data."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    path: str = ""
    offset: int = 0
    held: Array | None = None
    text_size: int = 0
    """Bytes in the file, if the data are written as UTF-8 of Latin-1, as pickles of protocol 2 have them."""

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize

    def pieces(self, size: int = PIECE) -> Iterator[bytes]:
        """Yield the data, little-endian and in C order, in pieces of whole items."""
        step = max(size // self.dtype.itemsize, 1) * self.dtype.itemsize
        if self.held is not None:
            flat = np.ascontiguousarray(self.held, self.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
            for start in range(0, len(flat), step):
                yield flat[start : start + step].tobytes()
            return
        if self.text_size:
            yield from self._decoded(step)
            return
        with open_regular(self.path) as file:
            file.seek(self.offset)
            left = self.nbytes
            while left:
                piece = file.read(min(step, left))
                if not piece:
                    raise ModelError(f"{self.path}: {self.name}: the file was shortened while it was being read")
                left -= len(piece)
                yield piece

    def _decoded(self, step: int) -> Iterator[bytes]:
        """Yield data stored as text, in pieces of whole items."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        held, given, left = b"", 0, self.text_size
        with open_regular(self.path) as file:
            file.seek(self.offset)
            while left:
                part = file.read(min(step, left))
                left -= len(part)
                try:
                    held += decoder.decode(part, final=not left).encode("latin1")
                except UnicodeError as error:
                    raise ModelError(f"{self.path}: {self.name}: the data is damaged ({error})") from None
                if not part or given + len(held) > self.nbytes:
                    break
                whole = len(held) // self.dtype.itemsize * self.dtype.itemsize
                yield held[:whole]
                held, given = held[whole:], given + whole
        if held or given != self.nbytes or left:
            raise ModelError(
                f"{self.path}: {self.name}: expected {self.nbytes} bytes, but the data is incomplete or damaged"
            )

    def array(self) -> Array:
        """Return the whole tensor, read directly into one array."""
        if self.held is not None:
            return self.held
        found = np.empty(self.count, self.dtype)
        room = found.view(np.uint8)
        start = 0
        for piece in self.pieces():
            room[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
            start += len(piece)
        return found.reshape(self.shape)


def in_memory(name: str, array: Array) -> StoredTensor:
    """Return a tensor of data in memory."""
    return StoredTensor(name, array.dtype, array.shape, held=array)


def tensors_in(path: str) -> list[StoredTensor]:
    """Return the consecutive tensors of a file, named by their number.

    Raises:
        CodecError: the file is truncated, damaged or of another kind.
    """
    size = os.path.getsize(path)
    found: list[StoredTensor] = []
    offset = 0
    with open_regular(path) as file:
        while offset < size or not found:
            tensor, offset = _head_at(file, path, offset, size, str(len(found)))
            found.append(tensor)
    return found


def _head_at(file: Any, path: str, offset: int, size: int, name: str) -> tuple[StoredTensor, int]:
    window = _WINDOW
    while True:
        file.seek(offset)
        data = file.read(min(window, size - offset))
        try:
            head = parse_head(data, 0, size - offset)
        except (struct.error, ValueError) as error:
            # A LoD or a description may be longer than the window; once everything has been read, the file is damaged.
            if window < min(size - offset, _LARGEST_WINDOW):
                window *= 16
                continue
            raise CodecError(f"{error} (tensor {name} at byte {offset})") from error
        return StoredTensor(name, head.dtype, head.dims, path, offset + head.start), offset + head.stop
