"""`fluid.recordio_writer`: write the items of a Python reader to RecordIO files.

One record is one item of the reader: one *batch* when the reader came from `paddle.batch`. Write with batch_size=1 to
choose the batch size when reading.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.program.data_feeder import DataFeeder
from fluidio.recordio.format.tensor_codec import raw_data, tensor_prefix
from fluidio.recordio.write.item_buffer import ItemBuffer
from fluidio.recordio.write.writer import Writer

__all__ = [
    "RecordIOWriter",
    "convert_reader_to_recordio_file",
    "convert_reader_to_recordio_files",
    "create_recordio_writer",
]


class Compressor(enum.IntEnum):
    """`core.RecordIOWriter.Compressor`."""

    NoCompress = 0
    Snappy = 1


class RecordIOWriter:
    """`core.RecordIOWriter`: append tensors, then complete the record they belong to.

    Args:
        filename: the file, which is overwritten.
        compressor: Compressor.Snappy or Compressor.NoCompress.
        max_num_records: records in a chunk.
    """

    Compressor = Compressor

    def __init__(
        self, filename: str | os.PathLike[str], compressor: int = Compressor.Snappy, max_num_records: int = 1000
    ) -> None:
        self._writer = Writer(filename, int(compressor), max_num_records)
        self._max_num_records = max(1, max_num_records)
        self._parts: list[bytes] = []
        self._count = 0

    def append_tensor(self, tensor: Any) -> None:
        """Add a LoDTensor (or an array) to the open record; its data is copied at once."""
        array = getattr(tensor, "array", tensor)
        if array is None:
            raise EnforceNotMet("append_tensor() got an empty tensor: call its set() first")
        if not isinstance(array, np.ndarray):
            array = array.get() if hasattr(array, "get") else np.asarray(array)
        self._parts += (tensor_prefix(array.dtype, array.shape, getattr(tensor, "levels", ())), raw_data(array))
        self._count += 1

    def complete_append_tensor(self) -> None:
        """End the record."""
        parts, self._parts = self._parts, []
        count, self._count = self._count, 0
        self._writer.write_parts([count.to_bytes(4, "little"), *parts])

    def close(self) -> None:
        """Write the last chunk and close the file.

        Raises:
            EnforceNotMet: the last tensors were appended without completing a record; they are not written.
        """
        self._writer.close()
        if self._count:
            pending, self._count = self._count, 0
            self._parts.clear()
            raise EnforceNotMet(
                f"{self._writer.name}: {pending} tensors were appended without complete_append_tensor(), so "
                "they are not in the file"
            )

    def __enter__(self) -> RecordIOWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._count = 0  # the current exception says more
        self.close()


@contextlib.contextmanager
def create_recordio_writer(
    filename: str | os.PathLike[str], compressor: int = Compressor.Snappy, max_num_records: int = 1000
) -> Iterator[RecordIOWriter]:
    """Open a RecordIOWriter for a `with` block.

    Fluid: an exception in the block left the file without its last records; here it is closed properly.
    """
    with RecordIOWriter(filename, compressor, max_num_records) as writer:
        yield writer


def convert_reader_to_recordio_file(
    filename: str | os.PathLike[str],
    reader_creator: Callable[[], Iterable[Any]],
    feeder: Any,
    compressor: int = Compressor.Snappy,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
) -> int:
    """Write every item of a reader into one file and return how many there were.

    Args:
        filename: the file to write.
        reader_creator: a callable that returns the items; `paddle.batch(reader, 1)` is the usual one.
        feeder: a DataFeeder, or anything with `feed(item) -> {name: LoDTensor}` and `feed_names`.
        feed_order: the names in the order of the record's slots; `feeder.feed_names` by default.
    """
    with create_recordio_writer(filename, compressor, max_num_records) as writer:
        return _write(writer, reader_creator(), feeder, feed_order or feeder.feed_names)


def _write(writer: RecordIOWriter, items: Iterable[Any], feeder: Any, order: Sequence[str]) -> int:
    count = 0
    items = iter(items)
    if getattr(type(feeder), "feed", None) is DataFeeder.feed:
        count, items = _write_alike(writer, items, feeder, order)
    feed, append, complete = feeder.feed, writer.append_tensor, writer.complete_append_tensor
    for item in items:
        tensors = feed(item)
        for name in order:
            append(tensors[name])
        complete()
        count += 1
    return count


def _write_alike(
    writer: RecordIOWriter, items: Iterator[Any], feeder: DataFeeder, order: Sequence[str]
) -> tuple[int, Iterator[Any]]:
    """Write the items with the layout of the first one, as the feeder would feed them but without its tensors.

    Returns their number, and the remaining items.
    """
    first = list(itertools.islice(items, 1))
    whole = sorted(order) == sorted(feeder.feed_names) and not any(feeder.feed_lod_level)
    if not first or not whole or not ItemBuffer.fits(first[0]):
        return 0, itertools.chain(first, items)
    arrays = [tensor.array for tensor in feeder.feed(first[0]).values()]
    if not all(array.ndim for array in arrays):
        return 0, itertools.chain(first, items)
    buffer = ItemBuffer(first[0], [a.dtype for a in arrays], [a.shape for a in arrays], writer._max_num_records)
    slots = [feeder.feed_names.index(name) for name in order]
    count = 0
    add, limit = buffer.add, buffer.limit
    try:
        for item in itertools.chain(first, items):
            try:
                taken = add(item)
            except (OverflowError, TypeError, ValueError):
                taken = False  # the feeder will say what is wrong
            if not taken:
                return count, itertools.chain([item], items)
            count += 1
            if not count % limit:
                writer._writer.write_block(buffer.take(slots))
        return count, items
    finally:  # items before an exception in the reader are good
        if len(buffer):
            writer._writer.write_block(buffer.take(slots))


def convert_reader_to_recordio_files(
    filename: str | os.PathLike[str] | None = None,
    batch_per_file: int = 0,
    reader_creator: Callable[[], Iterable[Any]] | None = None,
    feeder: Any = None,
    compressor: int = Compressor.Snappy,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
    *,
    filename_suffix: str | os.PathLike[str] | None = None,
) -> int:
    """Write a reader into `NAME-00000.recordio`, `NAME-00001.recordio`, ..., `batch_per_file` items in each.

    Returns the number of items written.

    Fluid: the original put one item too many into the first file and never wrote the tail; `use_era(...,
    strict=True)` restores that. Its guide called the first argument `filename_suffix`, so that name works too.
    """
    name = os.fspath(filename if filename is not None else filename_suffix or "")
    stem, extension = os.path.splitext(name)
    if extension != ".recordio":
        raise AssertionError(f"the name of the file must end with .recordio, got {name!r}")
    if reader_creator is None or feeder is None:
        raise TypeError("convert_reader_to_recordio_files() needs reader_creator and feeder")
    if batch_per_file < 1:
        raise ValueError(f"batch_per_file must be at least 1, got {batch_per_file}")
    order = feed_order or feeder.feed_names
    cut = _original_files if era().strict else _files
    count = 0
    for number, items in enumerate(cut(reader_creator(), batch_per_file)):
        with create_recordio_writer(f"{stem}-{number:05d}.recordio", compressor, max_num_records) as writer:
            count += _write(writer, items, feeder, order)
    return count


def _files(items: Iterable[object], size: int) -> Iterator[Iterator[Any]]:
    """Yield iterators of `size` items each, the last one shorter; exhaust each before requesting the next."""
    source = iter(items)
    for first in source:
        yield itertools.chain([first], itertools.islice(source, size - 1))


def _original_files(items: Iterable[object], size: int) -> Iterator[Iterator[Any]]:
    held: list[Any] = []
    for number, item in enumerate(items):
        held.append(item)
        if number >= size and number % size == 0:
            yield iter(held)
            held = []
