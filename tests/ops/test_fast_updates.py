"""Momentum, Adam and Adagrad in C have the bits of NumPy's kernels, with every set of instructions and any threads."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.compiled import updates
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.optimize.adaptive import adagrad
from fluidio.ops.optimize.momentum import adam, momentum
from fluidio.program.op_def import find_op
from fluidio.tensor import SelectedRows

pytestmark = pytest.mark.skipif(updates.compiled is None, reason="there was no C compiler when fluidio was installed")


OPTIMIZERS = ["momentum", "nesterov", "adam", "lazy adam", "adagrad"]


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield updates.compiled.instructions(request.param)
    updates.compiled.instructions(512)


def updated(optimizer: str, size: int) -> list[Any]:
    """Return parameter and accumulators after three updates."""
    rng = np.random.default_rng(size)
    param, grad, first = (rng.standard_normal((size, 3), np.float32) for _ in range(3))
    second, rate = rng.random((size, 3), np.float32), np.array([0.03], np.float32)
    pows = [np.array([value], np.float32) for value in (0.9, 0.999)]
    grad[0], second[0] = 0, 0
    for _ in range(3):
        if optimizer == "adam":
            attrs: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "lazy_mode": False}
            k = Call(SimpleNamespace(type="adam"), attrs, NumpyBackend(), frozenset())
            adam(k, param, grad, rate, first, second, *pows, None, None)
        elif optimizer == "lazy adam":
            attrs = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "lazy_mode": True}
            k = Call(SimpleNamespace(type="adam"), attrs, NumpyBackend(), frozenset())
            index = rng.integers(0, size, size // 2 + 1)
            some = SelectedRows(index, size, grad[: len(index)])
            adam(k, param, some, rate, first, second, *pows, None, None)
        elif optimizer == "adagrad":
            k = Call(SimpleNamespace(type="adagrad"), {"epsilon": 1e-6}, NumpyBackend(), frozenset())
            adagrad(k, param, grad, second, rate)
        else:
            attrs = {"mu": 0.9, "use_nesterov": optimizer == "nesterov"}
            k = Call(SimpleNamespace(type="momentum"), attrs, NumpyBackend(), frozenset())
            momentum(k, param, grad, first, rate)
    return [param, grad, first, second]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_updates_have_the_bits_of_numpy(optimizer: str, size: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = updated(optimizer, size)
    monkeypatch.setattr(updates, "compiled", None)
    for one, other in zip(found, updated(optimizer, size)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_three_threads_compute_the_same_bits(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    alone = updated(optimizer, 500)
    monkeypatch.setattr(updates, "_WORTH_A_THREAD", 10)
    monkeypatch.setattr(updates, "_ROWS_WORTH_A_THREAD", 10)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    try:
        for one, other in zip(alone, updated(optimizer, 500)):
            np.testing.assert_array_equal(one, other)
    finally:
        threads.close()


def scaled(name: str, size: int) -> list[Any]:
    """Return parameter and accumulators after three updates of an op; some elements are zeros or odd."""
    rng = np.random.default_rng(size)
    param, grad, mean = (rng.standard_normal((size, 3), np.float32) for _ in range(3))
    first, second, rate = rng.random((size, 3), np.float32), rng.random((size, 3), np.float32), np.array([0.03], "f4")
    grad[0], first[-1], param[0, 0] = 0, 0, 0
    if size > 10:
        grad[3, 0], grad[4, 0], param[5, 0], second[6, 0] = np.inf, np.nan, np.nan, np.nan
    pow1 = np.array([0.9], np.float32)
    definition = find_op(name.removeprefix("centered_"))
    attrs = {**definition.attrs, "centered": name.startswith("centered"), "l1": 0.01, "weight_decay": 0.02}
    k = Call(SimpleNamespace(type=name), attrs, NumpyBackend(), frozenset())
    k.ins, k.outs = {"AvgSquaredUpdate": [1]}, {"AvgSquaredUpdateOut": [1]}
    order: dict[str, list[Any]] = {
        "adadelta": [param, grad, first, second],
        "adamax": [param, grad, rate, mean, second, pow1],
        "decayed_adagrad": [param, grad, first, rate],
        "ftrl": [param, first, mean, grad, rate],
        "lamb": [param, grad, rate, mean, second, pow1, pow1],
        "lars_momentum": [param, grad, mean, rate],
        "rmsprop": [param, first + 1, mean, rate, grad, second],
    }
    assert definition.kernel is not None
    for _ in range(3):
        with np.errstate(all="ignore"):
            definition.kernel(k, *order[name.removeprefix("centered_")])
    return [param, grad, first, second, mean, *order[name.removeprefix("centered_")]]


@pytest.mark.skipif(updates.others is None, reason="there was no C compiler when fluidio was installed")
@pytest.mark.parametrize("name", updates.others.NAMES if updates.others else [])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_more_updates_have_the_bits_of_numpy(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(updates, "others", None)
        wanted = scaled(name, size)
    try:
        for bits in (128, 256, 512):
            updates.others.instructions(bits)
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
            for one, other in zip(scaled(name, size), wanted):
                np.testing.assert_array_equal(one, other)
            monkeypatch.setattr(updates, "_WORTH_A_THREAD", 10)
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
            for one, other in zip(scaled(name, size), wanted):
                np.testing.assert_array_equal(one, other)
    finally:
        updates.others.instructions(512)
        threads.close()


def test_arrays_of_other_sizes_are_refused() -> None:
    x, less = np.ones(5, np.float32), np.ones(4, np.float32)
    numbers = (0.1,) * 6
    for number, name in enumerate(updates.others.NAMES if updates.others else ()):
        arrays: list[Any] = [x.copy(), x, x.copy(), x.copy(), x.copy()]
        updates.others.scaled(number, *arrays, numbers, 1, 1)
        odd: list[tuple[int, Any]] = [(place, less) for place in range(5)]
        odd += [(place, bytes(20)) for place in (0, 2, 3, 4)]
        odd += [(place, None) for place in ((0, 1, 2, 3, 4) if name in ("centered_rmsprop", "lamb") else (0, 1, 2))]
        for place, other in odd:
            with pytest.raises((ValueError, TypeError, BufferError)):
                updates.others.scaled(number, *arrays[:place], other, *arrays[place + 1 :], numbers, 1, 1)
    if updates.others:
        with pytest.raises(ValueError, match="no such update"):
            updates.others.scaled(99, x.copy(), x, x.copy(), x.copy(), x.copy(), numbers, 1, 1)
    for pair in [(less, x.copy()), (x, less.copy())]:
        with pytest.raises(ValueError, match="do not fit"):
            updates.compiled.momentum(x, *pair, (0.9, 0.1), False, 1, 1)
    with pytest.raises(ValueError, match="do not fit"):
        updates.compiled.adam(x, x, x.copy(), less.copy(), (0.9, 0.1, 0.9, 0.1, 0.0, 0.1), 1, 1)
    with pytest.raises(ValueError, match="do not fit"):
        updates.compiled.adagrad(x, less, x.copy(), 0.1, 0.0, 1, 1)


def test_rows_outside_a_table_are_not_updated() -> None:
    tables = [np.ones((4, 3), np.float32) for _ in range(3)]
    numbers = (0.9, 0.1, 0.9, 0.1, 0.0, 0.1)
    for rows, values in [([4], 1), ([-1], 1), ([0, 1], 1), ([0], 2)]:
        index, some = np.array(rows, np.int64), np.ones((values, 3), np.float32)
        param, m1, m2 = tables
        assert not updates.compiled.adam_rows(param, some, m1, m2, index, numbers, 3, 1, 1)
    less = np.ones((3, 3), np.float32)
    index, some = np.array([3], np.int64), np.ones((1, 3), np.float32)
    assert not updates.compiled.adam_rows(tables[0], some, less, tables[2], index, numbers, 3, 1, 1)
    assert not updates.compiled.adam_rows(*tables[:1], some, *tables[1:], index, numbers, 0, 1, 1)
    assert all((table == 1).all() for table in tables)
