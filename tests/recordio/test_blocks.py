"""Records are cut, shuffled and joined as parts of chunks; what comes out is what copying them at once would give."""

from __future__ import annotations

import itertools
import struct
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio.recordio import Column, RecordBlock
from fluidio.recordio.blocks.cut import PartBuffer, cut
from fluidio.recordio.blocks.shuffle import permuted
from fluidio.recordio.decode import loops
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.columnar import Decoder
from fluidio.recordio.decode.spans import Part, gather, part_of
from fluidio.recordio.format.records import split
from fluidio.recordio.format.tensor_codec import encode_record
from tests.recordio.strategies import Tensor, alike, same


def parts_of(records: list[list[Tensor]]) -> list[Part]:
    """Return records as they are found in a chunk."""
    bodies = [encode_record(record) for record in records]
    payload = memoryview(b"".join(struct.pack("<I", len(body)) + body for body in bodies))
    return [Part(span, first, span.count) for span, first in Decoder().spans(payload, split(payload, len(records)))]


def expected(records: list[list[Tensor]], order: list[int]) -> Any:
    return RecordBlock.concat([gather(parts_of([records[i]]), Pool()) for i in order]).tensors()


def arrays(wanted: Any) -> list[Any]:
    return [np.zeros(shape, dtype) for shape, dtype in wanted]


@pytest.fixture(params=["compiled", "python"], autouse=True, scope="module")
def _with_and_without_c(request: pytest.FixtureRequest) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "python":
            patch.setattr(loops, "compiled", None)
        yield


@given(alike(), st.integers(1, 5), st.randoms(use_true_random=False), st.booleans())
def test_a_permutation_of_several_chunks_gives_each_record_in_its_place(
    records: list[list[Tensor]], chunks: int, random: Any, given_memory: bool
) -> None:
    bounds = sorted([0, len(records), *[random.randint(0, len(records)) for _ in range(chunks - 1)]])
    parts = [part for a, b in itertools.pairwise(bounds) if a < b for part in parts_of(records[a:b])]
    order = list(range(len(records)))
    random.shuffle(order)
    span = permuted(parts, np.array(order, np.int64))
    middle = random.randint(0, len(order))
    twice = permuted([Part(span, 0, len(order))], np.arange(len(order))[::-1].copy())
    allocate = arrays if given_memory else None
    whole = [Part(span, a, b) for a, b in ((0, middle), (middle, len(order))) if a < b]
    assert same(gather(whole, Pool(), allocate).tensors(), expected(records, order))
    assert same(gather([Part(twice, 0, len(order))], Pool()).tensors(), expected(records, order[::-1]))


@given(alike(), st.integers(0, 30), st.booleans())
def test_parts_of_chunks_and_blocks_are_joined(records: list[list[Tensor]], middle: int, given_memory: bool) -> None:
    middle = min(middle, len(records))
    parts = parts_of(records[:middle]) if middle else []
    if middle < len(records):
        parts.append(part_of(gather(parts_of(records[middle:]), Pool())))
    joined = gather(parts, Pool(), arrays if given_memory else None)
    assert same(joined.tensors(), expected(records, list(range(len(records)))))
    assert sum(part.nbytes for part in parts) == joined.nbytes


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 12), st.data())
def test_cutting_keeps_every_record(sizes: list[int], most: int, data: st.DataObject) -> None:
    numbers = iter(range(sum(sizes)))
    parts = [part_of(RecordBlock([Column(np.array([[next(numbers)] for _ in range(n)]))])) for n in sizes]

    def values(found: list[Part]) -> list[int]:
        return [int(v) for part in found for v in gather([part], Pool()).columns[0].data[:, 0]]

    buffer, waiting, taken = PartBuffer(), iter(parts), []
    while (part := buffer.take(most, lambda: next(waiting, None))) is not None:
        assert 1 <= len(part) <= most
        taken.append(part)
    assert values(taken) == list(range(sum(sizes)))
    start = data.draw(st.integers(0, sum(sizes)))
    stop = data.draw(st.integers(start, sum(sizes)))
    assert values(cut(parts, start, stop)) == list(range(start, stop))


def test_records_of_two_layouts_are_not_joined() -> None:
    one = part_of(RecordBlock([Column(np.zeros((2, 3), "float32"))]))
    other = part_of(RecordBlock([Column(np.zeros((2, 4), "float32"))]))
    with pytest.raises(ValueError, match=r"slot 0 is float32 \(rows, 3\) in some, float32 \(rows, 4\) in others"):
        gather([one, other], Pool())
    with pytest.raises(ValueError, match="cannot be stacked"):
        permuted([one, other], np.arange(4))
