"""map_readers, shuffle, chain, compose, firstn, cache, Fake and batch."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio import reader as R
from fluidio.era import use_era


def test_map_readers_stops_at_the_shortest_and_can_be_called_again() -> None:
    added = R.map_readers(lambda a, b: a + b, lambda: [1, 2, 3], lambda: [10, 20])
    assert list(added()) == [11, 22]
    assert list(added()) == [11, 22]


def test_chain_reads_one_after_the_other() -> None:
    assert list(R.chain(lambda: [1, 2], lambda: [3])()) == [1, 2, 3]


def test_compose_splices_tuples_and_keeps_everything_else() -> None:
    row = np.arange(2)
    (sample,) = R.compose(lambda: [(1, [2, 3])], lambda: [row], lambda: ["x"])()
    assert sample[:2] == (1, [2, 3]) and sample[2] is row and sample[3] == "x"


def test_compose_raises_after_the_aligned_samples() -> None:
    samples = R.compose(lambda: [1, 2, 3], lambda: [4, 5])()
    assert [next(samples), next(samples)] == [(1, 4), (2, 5)]
    with pytest.raises(R.ComposeNotAligned, match="reader 1 of 2 ended after 2 samples"):
        next(samples)
    assert issubclass(R.ComposeNotAligned, ValueError)


def test_compose_without_the_check_stops_at_the_shortest() -> None:
    assert list(R.compose(lambda: [1, 2], lambda: [4], check_alignment=False)()) == [(1, 4)]


def test_compose_takes_none_for_a_sample_except_in_a_strict_era() -> None:
    pairs = R.compose(lambda: [1, None], lambda: [3, 4])
    assert list(pairs()) == [(1, 3), (None, 4)]
    with use_era("1.5", strict=True), pytest.raises(R.ComposeNotAligned):
        list(pairs())


def test_firstn_asks_for_no_sample_more_than_it_gives() -> None:
    asked: list[int] = []

    def source() -> Iterator[int]:
        for i in range(9):
            asked.append(i)
            yield i

    assert list(R.firstn(source, 3)()) == [0, 1, 2]
    assert asked == [0, 1, 2]
    assert list(R.firstn(source, 0)()) == []


def test_cache_reads_the_source_once_at_decoration() -> None:
    passes: list[int] = []

    def source() -> Iterator[int]:
        passes.append(1)
        yield from range(3)

    cached = R.cache(source)
    assert passes == [1]
    assert list(cached()) == list(cached()) == [0, 1, 2]
    assert passes == [1]


def test_fake_repeats_the_first_sample_also_after_a_broken_pass() -> None:
    fake = R.Fake()(lambda: iter("abc"), 3)
    assert next(fake()) == "a"
    assert list(fake()) == ["a"] * 3
    with pytest.raises(ValueError, match="no sample"):
        list(R.Fake()(lambda: iter(()), 3)())


@given(st.lists(st.integers()), st.integers(0, 7))
def test_shuffle_keeps_all_samples_and_moves_none_out_of_its_block(samples: list[int], size: int) -> None:
    got = list(R.shuffle(lambda: samples, size)())
    block = max(1, size)
    for i in range(0, len(samples), block):
        assert sorted(got[i : i + block]) == sorted(samples[i : i + block])


def test_shuffle_follows_pythons_random() -> None:
    random.seed(7)
    first = list(R.shuffle(lambda: range(10), 5)())
    random.seed(7)
    expected = [*range(5)], [*range(5, 10)]
    for block in expected:
        random.shuffle(block)
    assert first == expected[0] + expected[1]


def test_shuffle_follows_the_random_of_python_2_in_its_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDIO_PROGRAM_PYTHON", "2")
    random.seed(7)
    assert list(R.shuffle(lambda: range(10), 5)()) == [2, 3, 4, 0, 1, 9, 8, 5, 6, 7]


@given(st.lists(st.integers()), st.integers(1, 5))
def test_batches_flattened_are_the_samples(samples: list[int], size: int) -> None:
    batches = list(R.batch(lambda: samples, size)())
    assert [x for one in batches for x in one] == samples
    assert all(len(one) == size for one in batches[:-1])
    assert list(R.batch(lambda: samples, size, drop_last=True)()) == [b for b in batches if len(b) == size]


def test_batch_drops_the_short_last_one_in_the_era_of_0_14_and_says_so_once() -> None:
    with use_era("0.14"):
        dropping = R.batch(lambda: range(5), 2)
        keeping = R.batch(lambda: range(5), 2, False)
    with pytest.warns(UserWarning, match="dropped the last 1 samples"):
        assert list(dropping()) == [[0, 1], [2, 3]]
    assert list(dropping()) == [[0, 1], [2, 3]]
    assert list(keeping())[-1] == [4]


@pytest.mark.parametrize("size", [0, -1, 0.5])
def test_batch_refuses_a_size_that_is_not_positive(size: int) -> None:
    with pytest.raises(ValueError, match="above 0"):
        R.batch(lambda: range(5), size)
