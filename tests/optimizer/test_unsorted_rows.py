"""Momentum and RMSProp search the rows of a sparse gradient as Fluid 1.8.5 does, sorted or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import optimizer as O
from fluidio.ops.optimize import rows as searched_rows
from fluidio.testing import fresh
from tests.optimizer.helpers import weight


def changed_rows(make: Callable[[], Any], ids: list[int]) -> list[int]:
    """Return the rows of an embedding that one step changes."""
    with fresh() as (main, startup):
        words = fluid.layers.data("ids", [1], dtype="int64")
        loss = fluid.layers.mean(fluid.layers.embedding(words, [6, 2], is_sparse=True))
        make().minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        before = weight("embedding_0.w_0")
        exe.run(main, feed={"ids": np.array(ids, "int64").reshape(-1, 1)}, fetch_list=[])
        return np.flatnonzero((weight("embedding_0.w_0") != before).any(axis=1)).tolist()


@pytest.fixture(autouse=True)
def _untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched_rows, "_warned", False)


OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "momentum": lambda **kw: O.Momentum(0.5, 0.9, **kw),
    "rmsprop": lambda **kw: O.RMSProp(0.1, **kw),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_row_that_a_binary_search_misses_has_no_effect(kind: str) -> None:
    with pytest.warns(UserWarning, match="2 of 3 rows of a sparse gradient have no effect"):
        assert changed_rows(OPTIMIZERS[kind], [5, 3, 1]) == [3]


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("ids", [[1, 3, 5], [5, 3, 1, 1], [4]])
def test_sorted_and_repeated_rows_are_all_found(kind: str, ids: list[int]) -> None:
    assert changed_rows(OPTIMIZERS[kind], ids) == sorted(set(ids))


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_all_rows_uses_them_all(kind: str) -> None:
    assert changed_rows(lambda: OPTIMIZERS[kind](all_rows=True), [5, 3, 1]) == [1, 3, 5]
