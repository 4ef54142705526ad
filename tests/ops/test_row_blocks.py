"""Kernels that go through memory by blocks of rows compute the same bits whatever the blocks and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import row_blocks, threads

L = fluid.layers


def attention(x: Any) -> Any:
    heads = L.transpose(L.reshape(L.fc(x, 24, num_flatten_dims=2), [0, 0, 4, 6]), [0, 2, 1, 3])
    weights = L.softmax(L.matmul(heads, heads, transpose_y=True, alpha=0.4))
    joined = L.reshape(L.transpose(L.matmul(weights, heads), [0, 2, 1, 3]), [0, 0, 24])
    return L.layer_norm(joined + L.fc(joined, 24, num_flatten_dims=2, act="relu"), begin_norm_axis=2)


def classes_in_the_middle(x: Any) -> Any:
    return L.softmax(L.transpose(x, [0, 2, 1]), axis=1)


def no_scale(x: Any) -> Any:
    return L.layer_norm(L.fc(x, 5, num_flatten_dims=2), scale=False, shift=False)


def trained(net: Any, optimizer: Any) -> list[Any]:
    """Return what three steps fetch, and the parameters then."""
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
        x, y = L.data("x", [9, 8]), L.data("y", [1], dtype="int64")
        out = net(x)
        loss = L.mean(L.softmax_with_cross_entropy(L.fc(out, 7), y))
        optimizer().minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        rng, found = np.random.default_rng(1), []
        for _ in range(3):
            feed = {"x": rng.standard_normal((6, 9, 8), np.float32), "y": rng.integers(0, 7, (6, 1))}
            found += exe.run(main, feed=feed, fetch_list=[loss, out])
        return found + [np.array(scope.var(p.name).get_tensor()) for p in main.all_parameters()]


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: fluid.optimizer.SGD(0.1),
        lambda: fluid.optimizer.Momentum(0.1, 0.9, use_nesterov=True),
        lambda: fluid.optimizer.Adam(0.01),
        lambda: fluid.optimizer.Adagrad(0.01),
    ],
)
@pytest.mark.parametrize("net", [attention, classes_in_the_middle, no_scale])
def test_small_blocks_on_three_threads_compute_the_same_bits(
    net: Any, optimizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    whole = trained(net, optimizer)
    monkeypatch.setattr(row_blocks, "_BLOCK", 20)
    monkeypatch.setattr(row_blocks, "_WORTH_A_THREAD", 40)
    monkeypatch.setattr(row_blocks, "_WORTH_A_SHARE", 1)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    try:
        for one, other in zip(whole, trained(net, optimizer)):
            np.testing.assert_array_equal(one, other)
    finally:
        threads.close()
