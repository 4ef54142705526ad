"""Sparse gradients of embeddings give what dense ones give, or touch their rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import clip as C
from fluidio import optimizer as O
from fluidio.testing import fresh
from tests.optimizer.helpers import weight

TABLE = "embedding_0.w_0"
IDS = [[[1], [3], [3]], [[0], [1], [1]], [[3], [3], [3]]]


def train(make: Callable[[], Any], is_sparse: bool) -> tuple[Any, Any]:
    """Return the table before and after three steps."""
    with fresh() as (main, startup):
        main.random_seed = startup.random_seed = 3
        ids = fluid.layers.data("ids", [1], dtype="int64")
        rows = fluid.layers.embedding(ids, [6, 2], is_sparse=is_sparse)
        loss = fluid.layers.mean(fluid.layers.square(fluid.layers.fc(rows, 1, bias_attr=False)))
        make().minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        start = weight(TABLE)
        for batch in IDS:
            exe.run(main, feed={"ids": np.array(batch, "int64")}, fetch_list=[])
        return start, weight(TABLE)


SAME = {
    "sgd": lambda: O.SGD(0.5),
    "momentum": lambda: O.Momentum(0.5, 0.9),
    "nesterov": lambda: O.Momentum(0.5, 0.9, use_nesterov=True),
    "lars": lambda: O.LarsMomentum(0.5, 0.9),
    "adagrad": lambda: O.Adagrad(0.5),
    "decayed_adagrad": lambda: O.DecayedAdagrad(0.5),
    "adam": lambda: O.Adam(0.1),
    "adamax": lambda: O.Adamax(0.1),
    "adadelta": lambda: O.Adadelta(0.5),
    "rmsprop": lambda: O.RMSProp(0.1, momentum=0.5),
    "lamb": lambda: O.Lamb(0.1),
    "decay": lambda: O.SGD(0.5, regularization=fluid.regularizer.L2Decay(0.1)),
    "decay_l1": lambda: O.SGD(0.5, regularization=fluid.regularizer.L1Decay(0.1)),
    "global_norm": lambda: O.SGD(0.5, grad_clip=C.GradientClipByGlobalNorm(0.05)),
    "by_norm": lambda: O.SGD(0.5, grad_clip=C.GradientClipByNorm(0.05)),
    "by_value": lambda: O.SGD(0.5, grad_clip=C.GradientClipByValue(0.01)),
}


@pytest.mark.parametrize("kind", SAME)
def test_sparse_and_dense_gradients_give_the_same_table(kind: str) -> None:
    _, sparse = train(SAME[kind], is_sparse=True)
    _, full = train(SAME[kind], is_sparse=False)
    np.testing.assert_allclose(sparse, full, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make", [lambda: O.SGD(0.5), lambda: O.Adagrad(0.5), lambda: O.Ftrl(0.5), lambda: O.Adam(0.1, lazy_mode=True)]
)
def test_rows_that_no_id_names_stay(make: Callable[[], Any]) -> None:
    start, end = train(make, is_sparse=True)
    np.testing.assert_array_equal(end[[2, 4, 5]], start[[2, 4, 5]])
    assert (end[[0, 1, 3]] != start[[0, 1, 3]]).any()
