"""Edit distances, best paths, beams and CTC in C are those of NumPy."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.loss import crf, ctc
from fluidio.ops.metric import chunk_eval, edit_distance
from fluidio.ops.rnn import beam_search

pytestmark = pytest.mark.skipif(
    ctc.compiled is None or crf.compiled is None, reason="there was no C compiler when fluidio was installed"
)


def offsets_of(rng: np.random.Generator, count: int, most: int) -> Any:
    return np.concatenate([[0], np.cumsum(rng.integers(0, most, count))]).astype(np.int64)


@pytest.mark.parametrize("seed", range(5))
def test_edit_distances_are_those_of_numpy(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    ats = [offsets_of(rng, 12, 9) for _ in range(2)]
    tokens = [rng.integers(0, 3, at[-1]).astype(np.int32) for at in ats]
    found = edit_distance.distances(tokens[0], ats[0], tokens[1], ats[1])
    monkeypatch.setattr(edit_distance, "compiled", None)
    np.testing.assert_array_equal(found, edit_distance.distances(tokens[0], ats[0], tokens[1], ats[1]))


@pytest.mark.parametrize("odd", [None, math.nan, math.inf, -math.inf])
def test_the_best_tags_are_those_of_numpy(odd: float | None) -> None:
    rng = np.random.default_rng(3)
    at = offsets_of(rng, 20, 8)
    x = rng.integers(-3, 4, (at[-1], 5)).astype(np.float32)  # with many equal paths
    moves = rng.integers(-2, 3, (7, 5)).astype(np.float32)
    if odd is not None:
        x[rng.random(x.shape) < 0.05] = odd
    found = np.empty(len(x), np.int64)
    crf.compiled.tags(x, moves, at, found)
    call: Any = SimpleNamespace(xp=np, dev=SimpleNamespace(upload=lambda a: a))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, crf._best_path(call, x, moves, at))


@pytest.mark.parametrize("beam", [1, 3, 7])
def test_the_leaders_of_a_beam_are_those_of_numpy(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(beam)
    for _ in range(20):
        sources = offsets_of(rng, 6, 4)
        total = rng.integers(0, 4, (sources[-1], 3)).astype(np.float32)  # with many equal scores
        ended = rng.random(sources[-1]) < 0.3
        found = beam_search._all_leaders(total, sources, beam, ended)
        with monkeypatch.context() as patch:
            patch.setattr(beam_search, "compiled", None)
            wanted = beam_search._all_leaders(total, sources, beam, ended)
        for one, two in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("scheme", ["IOB", "IOE", "IOBES", "plain"])
def test_chunks_are_counted_as_in_numpy(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for excluded in ([], [1], [0, 2]):
        attrs = {"chunk_scheme": scheme, "num_chunk_types": 3, "excluded_chunk_types": excluded}
        for _ in range(20):
            at = offsets_of(rng, 10, 7)
            one = rng.integers(0, 3 * chunk_eval._SCHEMES[scheme][0] + 2, at[-1])
            other = np.where(rng.random(one.size) < 0.8, one, rng.permutation(one))
            found = chunk_eval._counts(attrs, one, other, at)
            with monkeypatch.context() as patch:
                patch.setattr(chunk_eval, "compiled", None)
                assert chunk_eval._counts(attrs, one, other, at) == found


def drawn(rng: np.random.Generator, sequences: int, classes: int, scale: float, padded: bool) -> Any:
    """Return the scores and labels of a call, some of them too long for their sequences."""
    times, sizes = rng.integers(0, 12, sequences), rng.integers(0, 5, sequences)
    label_at = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = 12 * sequences if padded else int(times.sum())
    return SimpleNamespace(
        padded=padded,
        times=times,
        sizes=sizes,
        first=np.arange(sequences) if padded else np.concatenate([[0], np.cumsum(times)[:-1]]),
        stride=sequences if padded else 1,
        rows=(rng.standard_normal((rows, classes)) * scale).astype(np.float32),
        used=rng.integers(0, classes, label_at[-1]),
        label_offsets=label_at,
        places=lambda: ctc._Ctc.places(found),
    )


found: Any = None


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("scale", [1.0, 30.0, 3000.0])
def test_ctc_gives_what_numpy_gives(scale: float, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    global found
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    for seed in range(6):
        found = drawn(np.random.default_rng(seed), 9, 4, scale, padded)
        loss, gradient = ctc._loss_and_grad(found, 1)
        wanted, slopes = ctc._in_numpy(found, 1)
        np.testing.assert_allclose(loss, wanted, rtol=2e-6, atol=1e-5)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=3e-6)
    threads.close()


def test_ctc_takes_classes_without_a_chance_and_leaves_nan_to_numpy() -> None:
    global found
    found = drawn(np.random.default_rng(0), 5, 4, 1.0, False)
    found.rows[:, 2] = -np.inf
    with np.errstate(all="ignore"):
        loss, gradient = ctc._loss_and_grad(found, 0)
        wanted, slopes = ctc._in_numpy(found, 0)
        np.testing.assert_allclose(loss, wanted, rtol=2e-6, atol=1e-5)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=3e-6)
        found.rows[0, 0] = np.nan
        assert np.isnan(ctc._loss_and_grad(found, 0)[1]).any()


def test_c_refuses_what_does_not_fit() -> None:
    one, two = np.zeros(1, np.int64), np.array([0, 1], np.int64)
    with pytest.raises(ValueError):
        crf.compiled.distances(one, np.array([0, 2], np.int64), one, two, np.zeros(1, np.int64))
    with pytest.raises(ValueError):
        crf.compiled.distances(one, np.array([1, 0], np.int64), one, two, np.zeros(1, np.int64))
    with pytest.raises(ValueError):
        crf.compiled.distances(one, two, one, two, np.zeros(2, np.int64))
    x = np.zeros((1, 3), np.float32)
    with pytest.raises(ValueError):
        crf.compiled.tags(x, np.zeros((4, 3), np.float32), two, one.copy())
    with pytest.raises(ValueError):
        crf.compiled.tags(x, np.zeros((5, 3), np.float32), np.array([0, 2], np.int64), one.copy())
    places = np.zeros((2, 3), np.int64)
    for ended, width, beam in ((b"\0\0", 2, 2), (b"\0", 3, 2), (b"\0", 2, 0)):
        with pytest.raises(ValueError):
            part = places[:, :width]
            crf.compiled.leaders(np.zeros(1), ended, two, beam, part[0].copy(), part[1].copy(), one.copy())
    good: list[Any] = [x, 3, one, 1, one + 1, one, two, 0, x.copy(), np.zeros(1, np.float32), 1]
    ctc.compiled.paths(*good)
    for place, other in (
        (1, 0),
        (1, 2),
        (2, one + 1),
        (3, 0),
        (4, one + 2),
        (4, one - 1),
        (5, one + 3),
        (5, one - 1),
        (6, np.array([0, 2], np.int64)),
        (6, one),
        (7, 3),
        (8, np.zeros(2, np.float32)),
        (9, np.zeros(2, np.float32)),
    ):
        with pytest.raises(ValueError):
            ctc.compiled.paths(*good[:place], other, *good[place + 1 :])
    ids, counts = np.array([1, 2], np.int64), np.zeros(3, np.int64)
    whole: list[Any] = [ids, ids, np.array([0, 2], np.int64), b"\0\0", (2, 0, -1, -1), counts]
    crf.compiled.chunks(*whole)
    for place, value in ((0, -ids), (1, ids[:1].copy()), (2, 2 * ids), (4, (0, 0, 0, 0)), (5, counts[:2].copy())):
        with pytest.raises(ValueError):
            crf.compiled.chunks(*whole[:place], value, *whole[place + 1 :])
