"""Items that look alike are written without a tensor for each: the file must be the one that tensors would make."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import fluidio as fluid
from fluidio.recordio import File, load
from fluidio.recordio_writer import convert_reader_to_recordio_file
from fluidio.tensor import LoDTensor


class PlainFeeder(fluid.DataFeeder):
    """Feeds as its base does; because it has a `feed` of its own, every item goes through it."""

    def feed(self, iterable: Any) -> dict[str, LoDTensor]:
        return super().feed(iterable)


def feeders(*slots: tuple[list[int], str], lod_level: int = 0) -> list[fluid.DataFeeder]:
    with fluid.program_guard(fluid.Program()):
        variables = [
            fluid.layers.data(f"v{i}", shape, dtype=dtype, lod_level=lod_level)
            for i, (shape, dtype) in enumerate(slots)
        ]
        return [fluid.DataFeeder(variables, fluid.CPUPlace()), PlainFeeder(variables, fluid.CPUPlace())]


def outcome(folder: Path, items: list[Any], feeder: fluid.DataFeeder, **options: Any) -> tuple[Any, bytes]:
    """Return what writing returned or raised, and the bytes of the file."""
    path = folder / "out.recordio"
    result: Any
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # casts that overflow, in both ways
            result = convert_reader_to_recordio_file(path, lambda: iter(items), feeder, **options)
    except (AssertionError, OverflowError, TypeError, ValueError) as error:
        result = type(error), str(error)
    return result, path.read_bytes()


numbers = st.one_of(
    st.integers(-300, 300),
    st.integers(2**62, 2**66),
    st.floats(width=32),
    st.booleans(),
    st.sampled_from([np.float32(1.5), np.int64(7), np.uint8(200), np.int64(2**40), np.bool_(True)]),
)


def array(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    return (np.random.default_rng(seed).random(shape) * 100).astype(dtype)


@st.composite
def kinds(draw: st.DrawFn) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of one slot."""
    if draw(st.booleans()):
        return numbers
    shape = draw(st.sampled_from([(), (1,), (4,), (2, 2), (0,)]))
    dtype = draw(st.sampled_from(["float32", "float64", "int64", "uint8", "bool", ">f4"]))
    return st.builds(array, st.just(shape), st.just(dtype), st.integers(0, 99))


odd = st.sampled_from([[1.0, 2.0], [[3]], "text", None, array((3,), "float32", 0), array((4,), "float16", 0), 5])


@st.composite
def readers(draw: st.DrawFn) -> list[Any]:
    slots = draw(st.lists(kinds(), min_size=2, max_size=2))
    height = draw(st.integers(1, 3))
    items: list[Any] = []
    for _ in range(draw(st.integers(0, 12))):
        rows = height if draw(st.integers(0, 15)) else draw(st.integers(0, 4))
        item: Any = [
            tuple(
                draw(slot if draw(st.integers(0, 30)) else odd)
                for slot in slots[: draw(st.sampled_from([2] * 9 + [1]))]
            )
            for _ in range(rows)
        ]
        items.append(item if draw(st.integers(0, 9)) else tuple(item))
    return items


@pytest.mark.filterwarnings("ignore:NumPy will stop allowing:DeprecationWarning")  # NumPy 1 wraps -1 in a uint8
@given(
    readers(),
    st.lists(st.sampled_from([[1], [4], [2, 2], [2, -1]]), min_size=2, max_size=2),
    st.lists(st.sampled_from(["float32", "int64", "uint8", "float16"]), min_size=2, max_size=2),
    st.integers(0, 5),
    st.sampled_from([None, ["v1", "v0"], ["v1"]]),
)
def test_the_file_is_that_of_tensors_made_one_by_one(
    items: list[Any], shapes: list[list[int]], dtypes: list[str], limit: int, order: list[str] | None
) -> None:
    fast, plain = feeders(*zip(shapes, dtypes))
    with tempfile.TemporaryDirectory() as folder:
        options = {"max_num_records": limit, "feed_order": order}
        assert outcome(Path(folder), items, fast, **options) == outcome(Path(folder), items, plain, **options)


def test_a_reader_may_use_one_array_for_all_items(tmp_path: Path) -> None:
    def items() -> Iterator[list[Any]]:
        row = np.zeros(3, np.float32)
        for number in range(5):
            row[:] = number
            yield [(row, number)]

    fast, _ = feeders(([3], "float32"), ([1], "int64"))
    assert convert_reader_to_recordio_file(tmp_path / "a", items, fast, max_num_records=2) == 5
    rows, labels = load(tmp_path / "a")
    assert rows.data[:, 2].tolist() == labels.data[:, 0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "other", [np.ones(1, np.float32), np.ones((), np.float32), np.ones((1, 4), np.float32), np.ones(4), 1.0, [1.0] * 4]
)
def test_a_value_of_another_kind_is_not_stretched_to_the_first(tmp_path: Path, other: Any) -> None:
    fast, plain = feeders(([4], "float32"), ([1], "int64"))
    items = [[(np.zeros(4, np.float32), 1)], [(other, 2)], [(np.zeros(4, np.float32), 3)]]
    assert outcome(tmp_path, items, fast) == outcome(tmp_path, items, plain)


def test_large_items_are_written_before_a_chunk_is_full(tmp_path: Path) -> None:
    fast, plain = feeders(([1 << 20], "float32"), ([1], "int64"))
    items = [[(np.full(1 << 20, i, np.float32), i)] for i in range(7)]
    assert outcome(tmp_path, items, fast) == outcome(tmp_path, items, plain)


def test_items_before_an_exception_in_the_reader_are_kept(tmp_path: Path) -> None:
    def broken() -> Iterator[list[Any]]:
        for number in range(7):
            yield [(np.zeros(3, np.float32), number)]
        raise KeyError("broken")

    fast, _ = feeders(([3], "float32"), ([1], "int64"))
    with pytest.raises(KeyError, match="broken"):
        convert_reader_to_recordio_file(tmp_path / "a", broken, fast, max_num_records=5)
    assert File(tmp_path / "a").count() == 7
