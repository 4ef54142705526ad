"""Turn the payload of a chunk of tensor records into RecordBlocks, in whole-array operations.

There are three paths with the same result. All records identical byte for byte outside the data: compare every framing
byte with the first record's, then each column is one strided copy (`_dense`). Same tensors, different heights or LoD:
read the headers of all records in lock step (`ragged.locate`). Anything else: record by record (`_each`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fluidio.recordio.decode import ragged
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.expected import RaggedPlan, ragged_plan
from fluidio.recordio.decode.loops import alike
from fluidio.recordio.decode.spans import Part, Span, Strided, gather
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.records import RecordTable
from fluidio.recordio.format.tensor_codec import TensorHead, decode_record, parse_head
from fluidio.tensor import lod as lod_math
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["Decoder", "Plan", "RecordError"]

_MOST_MISSES = 4


class RecordError(CodecError):
    """A record of a good chunk is not a list of tensors; `record` is its number in the chunk."""

    def __init__(self, record: int, problem: str) -> None:
        super().__init__(problem)
        self.record = record


class Plan(NamedTuple):
    """The layout of a record whose neighbours look the same."""

    stride: int
    heads: tuple[TensorHead, ...]
    framing: tuple[tuple[int, bytes], ...]
    """(offset, bytes) of everything that is not data."""

    @property
    def same(self) -> tuple[tuple[int, bytes], ...]:
        """Return (offset, bytes) of everything that is not data, the record's length included."""
        (_, first), *others = self.framing
        return ((0, (self.stride - 4).to_bytes(4, "little") + first), *others)


class Decoder:
    """Decode chunks of one file; the layout found in one chunk is tried first on the next."""

    def __init__(self, name: str = "<recordio>") -> None:
        self.name = name
        self._plan: Plan | None = None
        self._ragged: RaggedPlan | None = None
        self._misses = 0  # of the last guesses
        self._innermost_first = False
        self._warned = False

    def decode(self, payload: memoryview, table: RecordTable, start: int = 0) -> Iterator[RecordBlock]:
        """Yield the records from number `start` as blocks; one block unless their layouts differ.

        Raises:
            RecordError: a record does not decode; all records before it have been yielded.
        """
        pool = Pool()
        for span, first in self.spans(payload, table, start):
            yield gather([Part(span, first, span.count)], pool)

    def spans(self, payload: memoryview, table: RecordTable, start: int = 0) -> Iterator[tuple[Span, int]]:
        """Yield spans of record positions, each with the number of the first requested record in it.

        Nothing is copied yet, so that a small batch, and its memory when reused, is still in the cache. The spans keep
        `payload` alive.
        """
        if start >= table.count:
            return
        span = self.whole(payload, table)
        if span is not None:
            yield span, start
        else:
            for block in self._each(payload, table, start):
                yield Span(len(block), block.columns), 0

    def whole(self, payload: memoryview, table: RecordTable) -> Span | None:
        """Return all records as one span, in any thread; None if they must be decoded one by one."""
        span = self._dense(payload, table)
        if span is None and not self._innermost_first:
            span = ragged.locate(payload, table)
            if span is not None and self._misses < _MOST_MISSES:
                self._ragged = ragged_plan(payload, table, span)
        return span

    def expected(self, count: int, size: int) -> Plan | None:
        """Return the layout that `count` records of `size` bytes in total probably have; None if there is no guess."""
        plan = self._plan
        return None if plan is None or self._innermost_first or plan.stride * count != size else plan

    def expected_ragged(self) -> RaggedPlan | None:
        """Return what records of different heights probably look like; None if there is no guess."""
        return None if self._innermost_first or self._misses >= _MOST_MISSES else self._ragged

    def saw_ragged(self, as_expected: bool) -> None:
        """Note whether records looked like this: guesses that are often wrong are not worth it."""
        self._misses = 0 if as_expected else self._misses + 1

    def still_good(self, span: Span | None) -> Span | None:
        """Return an earlier result of `whole`; None if earlier records have since shown it to be wrong."""
        return None if self._innermost_first else span

    # -- all records alike ----------------------------------------------------------------------------------------

    def _dense(self, payload: memoryview, table: RecordTable) -> Span | None:
        """Return the records of a chunk if all have the same layout."""
        if table.stride is None or self._innermost_first:
            return None
        plan = self._plan
        if plan is None or not _fits(plan, payload, table):
            plan = self._plan = _make_plan(payload, table)
            if plan is None:
                return None
        count, stride = table.count, plan.stride
        for offset, framing in plan.framing:
            if not alike(payload, offset, stride, count, framing):
                return None
        return Span(count, [Strided(payload, stride, head) for head in plan.heads])

    # -- one by one -----------------------------------------------------------------------------------------------

    def _each(self, payload: memoryview, table: RecordTable, start: int) -> Iterator[RecordBlock]:
        run: list[list[tuple[Array, LoD]]] = []
        layout: object = None
        self._look_for_reversed_lod(payload, table, start)
        for index in range(start, table.count):
            try:
                tensors = self._record(payload, table, index)
            except CodecError as error:
                if run:
                    yield _stack(run)
                raise RecordError(index, str(error)) from error
            found = [(array.dtype, array.shape[1:], len(lod)) for array, lod in tensors]
            if run and found != layout:
                yield _stack(run)
                run = []
            layout = found
            run.append(tensors)
        if run:
            yield _stack(run)

    def _record(self, payload: memoryview, table: RecordTable, index: int) -> list[tuple[Array, LoD]]:
        begin, end = table.bounds(index)
        tensors, position = decode_record(payload, begin, end)
        for slot, (array, lod) in enumerate(tensors):
            if array.ndim == 0:
                raise CodecError(f"tensor {slot} has no dims, so it cannot be part of a batch")
            if self._innermost_first and not lod_problem(lod[::-1], array.shape[0]):
                tensors[slot] = (array, lod[::-1])
            elif problem := lod_problem(lod, array.shape[0]):
                raise CodecError(f"the LoD of tensor {slot} does not match its {array.shape[0]} rows: {problem}")
        if position != end:
            self._warn(f"{end - position} bytes after the last tensor of a record are ignored")
        return tensors

    def _look_for_reversed_lod(self, payload: memoryview, table: RecordTable, start: int) -> None:
        """Detect a record that is valid only with its LoD levels in reverse order.

        Fluid 0.12 stored two or more levels innermost first. One such record decides for the whole file, because others
        may be valid either way.
        """
        if self._innermost_first:
            return
        for index in range(start, table.count):
            try:
                tensors, _ = decode_record(payload, *table.bounds(index))
            except CodecError:
                continue
            if index == start and all(len(lod) < 2 for _, lod in tensors):
                return
            for array, lod in tensors:
                rows = array.shape[0] if array.ndim else 0
                if len(lod) > 1 and lod_problem(lod, rows) and not lod_problem(lod[::-1], rows):
                    self._innermost_first = True
                    self._warn("LoD levels are stored innermost first (a bug of Fluid 0.12); fluidio reverses them")
                    return

    def _warn(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"{self.name}: {text}", stacklevel=5)


def lod_problem(lod: LoD, rows: int) -> str:
    """Describe what is wrong with a LoD over exactly `rows` rows; "" if it is valid. Zero sequences are valid."""
    for index, level in enumerate(lod):
        if level.size == 0 or level[0] != 0:
            return f"level {index} must start with 0"
        if (level[1:] < level[:-1]).any():
            return f"level {index} descends: {level.tolist()[:20]}"
        below = lod[index + 1].size - 1 if index + 1 < len(lod) else rows
        if level[-1] != below:
            return f"level {index} ends at {level[-1]}, expected {below}"
    return ""


def _make_plan(payload: memoryview, table: RecordTable) -> Plan | None:
    """Parse the first record; None if it is unusual or broken (the slow path then finds out what is wrong)."""
    begin, end = table.bounds(0)
    heads = []
    gaps = []
    position, gap = begin + 4, begin
    try:
        for _ in range(int.from_bytes(payload[begin : begin + 4], "little")):
            head = parse_head(payload, position, end)
            if not head.dims or lod_problem(head.lod, head.dims[0]):
                return None
            np.empty((0, *head.dims[1:]), head.dtype)  # dims that NumPy refuses
            heads.append(head)
            gaps.append((gap, head.start))
            position = gap = head.stop
    except (CodecError, ValueError):
        return None
    if position != end:
        return None
    if not heads:
        gaps.append((begin, end))
    framing = tuple((first, bytes(payload[first:last])) for first, last in gaps)
    return Plan(table.stride or 0, tuple(heads), framing)


def _fits(plan: Plan, payload: memoryview, table: RecordTable) -> bool:
    return plan.stride == table.stride and all(
        payload[offset : offset + len(framing)] == framing for offset, framing in plan.framing
    )


def _stack(records: list[list[tuple[Array, LoD]]]) -> RecordBlock:
    """Return records of one layout as a block."""
    count = len(records)
    columns = []
    for slot in range(len(records[0])):
        arrays = [record[slot][0] for record in records]
        lods = [record[slot][1] for record in records]
        lod = lod_math.merge(lods) if lods[0] else ()
        sequences = ragged.uniform(np.array([len(each[0]) - 1 for each in lods], np.int64)) if lod else None
        columns.append(
            Column(
                np.concatenate(arrays),
                ragged.uniform(np.array([len(array) for array in arrays], np.int64)),
                lod,
                sequence_offsets=sequences,
                num_records=count,
            )
        )
    return RecordBlock(columns, count)
