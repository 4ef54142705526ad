"""Survey a whole file: dialect, chunks, contents of the records, and damage."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fluidio import pickles
from fluidio.errors import ForeignFileError, RecordIOError, UnsafePickleError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.decode.columnar import Decoder, RecordError
from fluidio.recordio.files.index import build_index
from fluidio.recordio.files.peek import Peek, first_values, peek, tensor_heads
from fluidio.recordio.files.source import ByteSource, open_source
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.dialects import FLUID, HEADER_SIZE, Dialect

__all__ = ["Damage", "SlotSurvey", "Survey", "survey"]


@dataclass
class SlotSurvey:
    """One slot of tensor records; a dim is None where records differ."""

    dtype: str
    dims: list[int | None]
    lod_levels: int
    fewest_rows: int
    most_rows: int
    lengths: dict[int, int] = field(default_factory=dict)
    """Rows per record -> number of records, if they vary; long ones are rounded to three digits."""

    def merge(self, other: SlotSurvey) -> bool:
        """Merge another block's slot; return False if the two cannot be one variable."""
        if (self.dtype, self.lod_levels, len(self.dims)) != (other.dtype, other.lod_levels, len(other.dims)):
            return False
        self.dims = [a if a == b else None for a, b in zip(self.dims, other.dims)]
        self.fewest_rows = min(self.fewest_rows, other.fewest_rows)
        self.most_rows = max(self.most_rows, other.most_rows)
        for length, count in other.lengths.items():
            self.lengths[length] = self.lengths.get(length, 0) + count
        return True

    def quantiles(self) -> list[int]:
        """Return the lengths that a quarter, half and three quarters of the records do not exceed."""
        lengths = sorted(self.lengths)
        ends = np.cumsum([self.lengths[length] for length in lengths])
        return [lengths[int(np.searchsorted(ends, part * ends[-1]))] for part in (0.25, 0.5, 0.75)] if lengths else []


@dataclass
class Damage:
    """One problem, as RecordIOError describes it."""

    kind: str
    chunk: int | None
    offset: int | None
    problem: str


@dataclass
class Survey:
    """The findings of `survey` about one file."""

    path: str
    size: int
    verified: bool = False
    dialects: list[str] = field(default_factory=list)
    chunks: int = 0
    records: int = 0
    compressors: dict[str, int] = field(default_factory=dict)
    stored_bytes: int = 0
    payload_bytes: int | None = None
    """The size after decompression; None unless everything was read."""
    content: str = "nothing"
    """"tensors", "pickles", "text", "bytes" or "nothing"."""
    slots: list[SlotSurvey] = field(default_factory=list)
    same_layout: bool = True
    preview: list[str] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    peeked: bool = False
    """Whether the first chunk is huge, so that only its beginning was read."""

    def _repr_html_(self) -> str:
        """Return the records page, for notebooks."""
        from fluidio.pages.notebook import framed
        from fluidio.pages.records import records_page

        return framed(records_page([self.path], verify=self.verified))


def survey(
    what: object, *, verify: bool = False, preview: int = 3, report: Callable[[int], object] | None = None
) -> Survey:
    """Return a Survey of one file.

    Args:
        what: a path, URL or binary file object.
        verify: read every chunk, inner checksums included, and decode every record; else headers and the first chunk.
        preview: number of records to show.
        report: called with the number of bytes of each chunk that was verified.
    """
    source = open_source(what)
    found = Survey(source.name, source.size, verified=verify)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                _look(source, found, verify, preview, report)
            except ForeignFileError as error:
                found.damage.append(_damage(error))
        found.notes += [str(w.message).removeprefix(f"{source.name}: ") for w in caught]
    finally:
        if source is not what:
            source.close()
    return found


def _look(
    source: ByteSource, found: Survey, verify: bool, preview: int, report: Callable[[int], object] | None
) -> None:
    if not verify:
        beginning = peek(source)
        _headers(source, found, beginning.dialect if beginning is not None else None)
        if beginning is not None:
            _huge(found, beginning, preview)
            return
    reader = ChunkReader(source, on_error="skip", verify_inner=verify)
    decoder = Decoder(source.name)
    seen: Counter[str] = Counter()
    for number, chunk in enumerate(reader):
        if number == 0:
            _content(found, chunk, decoder, preview)
        if verify:
            found.chunks += 1
            found.records += chunk.table.count
            found.stored_bytes += chunk.header.size
            found.payload_bytes = (found.payload_bytes or 0) + len(chunk.payload)
            seen[chunk.dialect.compressors[chunk.header.compressor].name] += 1
            if chunk.dialect.name not in found.dialects:
                found.dialects.append(chunk.dialect.name)
            if report is not None:
                report(HEADER_SIZE + chunk.header.size)
        if found.content == "tensors":
            _tensors(found, chunk, decoder)
        if not verify:
            break
    if verify:
        found.compressors = dict(seen)
        found.damage = sorted([*map(_damage, reader.damage), *found.damage], key=lambda d: d.offset or 0)


def _huge(found: Survey, beginning: Peek, preview: int) -> None:
    """Add the findings from the beginning of a huge first chunk."""
    found.peeked = True
    size = beginning.header.size
    found.notes.append(f"the first chunk has {size:,} bytes; only its beginning was read (--verify reads everything)")
    heads, complete = tensor_heads(beginning)
    if heads:
        found.content = "tensors"
        for head in heads:
            rows = head.dims[0] if head.dims else 1
            found.slots.append(SlotSurvey(head.dtype.name, list(head.dims[1:]), len(head.lod), rows, rows))
        shown = [_show(first_values(beginning, head, 7), head.dims, head.lod) for head in heads]
        found.preview = ["; ".join(shown)][:preview]
        if not complete:
            found.notes.append("its first record has more slots than these")
            found.same_layout = False
        return
    start = beginning.record[:100]
    found.content = "pickles" if start[:1] == b"\x80" else "text" if _is_text(start) else "bytes"
    found.preview = [f"{beginning.size:,} bytes that begin with {_short(repr(start))}"][:preview]


def _headers(source: ByteSource, found: Survey, dialect: Dialect | None) -> None:
    index = build_index(source, on_error="skip", dialect=dialect)
    found.chunks, found.records = index.num_chunks, index.num_records
    found.stored_bytes = int((index.ends - index.offsets).sum()) - HEADER_SIZE * index.num_chunks
    if index.dialect is not None:
        found.dialects = [index.dialect.name]
        heads = (source.read(int(offset), HEADER_SIZE) for offset in index.offsets)
        numbers = Counter(index.dialect.parse(head).compressor for head in heads)
        names = index.dialect.compressors
        found.compressors = {names[n].name if n in names else str(n): count for n, count in numbers.items()}
    if index.problem is not None:
        found.damage.append(_damage(index.problem))


def _damage(error: RecordIOError) -> Damage:
    return Damage(type(error).__name__, error.chunk, error.offset, error.problem)


def _content(found: Survey, chunk: Chunk, decoder: Decoder, preview: int) -> None:
    """Determine what the first records hold, and preview them."""
    records = chunk.records(0, max(1, preview))
    problem = "they are empty"
    try:
        block = next(decoder.decode(chunk.payload, chunk.table))
    except RecordError as error:
        block, problem = None, str(error)
    if block is not None and block.columns:
        found.content = "tensors"
        shown = [block.slice(i, i + 1) for i in range(min(preview, len(block)))]
        found.preview = [_show_tensors(record) for record in shown]
        return
    texts = [_show_pickle(record) for record in records]
    if all(text is not None for text in texts):
        found.content = "pickles"
        found.preview = [str(text) for text in texts][:preview]
        return
    found.content = "text" if all(_is_text(record) for record in records) else "bytes"
    if chunk.dialect is FLUID and found.content == "bytes":
        found.notes.append(f"the records are not tensors: {problem}")
    found.preview = [
        _short(repr(record.decode() if found.content == "text" else record)) for record in records[:preview]
    ]


def _tensors(found: Survey, chunk: Chunk, decoder: Decoder) -> None:
    start = 0
    while start < chunk.table.count:
        try:
            for block in decoder.decode(chunk.payload, chunk.table, start):
                _merge(found, block)
            return
        except RecordError as error:
            found.damage.append(Damage("RecordIOError", chunk.number, chunk.offset, f"record {error.record}: {error}"))
            start = error.record + 1


def _merge(found: Survey, block: RecordBlock) -> None:
    slots = []
    for column in block.columns:
        heights = np.diff(column.offsets())
        dims: list[int | None] = list(column.data.shape[1:])
        levels = len(column.lod)
        fewest, most = int(heights.min()), int(heights.max())
        varies = levels or fewest < most
        slots.append(
            SlotSurvey(column.data.dtype.name, dims, levels, fewest, most, _counted(heights) if varies else {})
        )
    if not found.slots:
        found.slots = slots
    elif len(slots) != len(found.slots) or not all(a.merge(b) for a, b in zip(found.slots, slots)):
        found.same_layout = False


def _counted(heights: Any) -> dict[int, int]:
    """Return how often each length occurs; lengths from 1000 on are rounded to three digits to keep them few."""
    digits = np.floor(np.log10(np.maximum(heights, 1))).astype(np.int64)
    steps = 10 ** np.maximum(digits - 2, 0)
    lengths, counts = np.unique(heights // steps * steps, return_counts=True)
    return dict(zip(lengths.tolist(), counts.tolist()))


def _show_tensors(record: RecordBlock) -> str:
    return "; ".join(_show(array.reshape(-1)[:7], array.shape, lod) for array, lod in record.tensors())


def _show(values: Any, shape: Any, lod: Any) -> str:
    """Return a short description of a tensor; `values` are its first ones, one more than are shown."""
    shown = np.array2string(values[:6], separator=" ", precision=4, threshold=6)[1:-1]
    more = " ..." if len(values) > 6 else ""
    levels = f" lod {[level.tolist()[:8] for level in lod]}" if lod else ""
    return f"{values.dtype.name} {tuple(shape)}{levels} [{shown}{more}]"


def _show_pickle(record: bytes) -> str | None:
    try:
        return pickles.preview(pickles.loads(record))
    except UnsafePickleError:
        return "a pickle that asks for more than data (allow_pickle=True reads it)"
    except (pickle.UnpicklingError, EOFError):
        return None


def _is_text(record: bytes) -> bool:
    try:
        return record.decode().isprintable() or not record
    except UnicodeDecodeError:
        return False


def _short(text: str, limit: int = 100) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 4] + " ..."
