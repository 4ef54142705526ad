"""top_k finds a few of many as sorting whole rows does; edit distances of a batch are those of its pairs."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.math import search
from fluidio.ops.metric import edit_distance


@pytest.mark.parametrize("seed", range(20))
def test_few_of_many_are_those_of_whole_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-20 * seed - 1, 20 * seed + 2, (7, 60)).astype("float32")
    if seed % 4 == 0:
        x[2, 5] = x[3, :58] = np.nan
    if seed % 5 == 0:
        x[1, 7], x[1, 9] = np.inf, -np.inf
    k = Call(None, {"k": 1 + seed % 12}, NumpyBackend(), frozenset())
    found = search.top_k(k, x, None)
    monkeypatch.setattr(search, "_descending", lambda k, x, count: np.argsort(-x, axis=-1, kind="stable")[:, :count])
    for one, other in zip(found, search.top_k(k, x, None)):
        np.testing.assert_array_equal(one, other)


def edits(guess: list[int], truth: list[int]) -> int:
    """Return the Levenshtein distance by its definition."""
    line = list(range(len(truth) + 1))
    for number, token in enumerate(guess, 1):
        before, line = line, [number]
        for j, other in enumerate(truth):
            line.append(min(before[j] + (token != other), before[j + 1] + 1, line[j] + 1))
    return line[-1]


@pytest.mark.parametrize("seed", range(20))
def test_distances_of_a_batch_are_those_of_its_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = [[rng.integers(0, 4, rng.integers(0, 12)) for _ in range(seed)] for _ in range(2)]
    expected = [edits(guess.tolist(), truth.tolist()) for guess, truth in zip(*sides)]
    assert edit_distance._by_lines(*sides).tolist() == expected
    flat = [
        part
        for side in sides
        for part in (np.concatenate([np.zeros(0, np.int64), *side]), np.cumsum([0, *map(len, side)]))
    ]
    assert edit_distance.distances(*flat).tolist() == expected
