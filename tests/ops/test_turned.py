"""Arrays with their dims in another order are copied in tiles as NumPy copies them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.compiled import turned

pytestmark = pytest.mark.skipif(turned.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "float64", "uint32"])
@pytest.mark.parametrize("shape", [(33, 50), (17, 1, 70), (5, 31, 19), (3, 16, 32, 2), (2, 3, 18, 4, 5)])
def test_every_order_gives_what_numpy_gives(shape: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turned, "_LARGE", 1)
    monkeypatch.setattr(turned, "_WORTH_A_THREAD", 1)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    whole = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for order in permutations(range(len(shape))):
        for x in (whole.transpose(order), whole[::-1, ..., 1:].transpose(order), whole[..., ::2].transpose(order)):
            found = turned.row_by_row(np, x)
            assert found.flags.c_contiguous and found.dtype == x.dtype
            np.testing.assert_array_equal(found, x)
    threads.close()


def test_many_tiles_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).random((1024, 515), np.float32)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    np.testing.assert_array_equal(turned.row_by_row(np, x.T), x.T.copy())
    np.testing.assert_array_equal(turned.row_by_row(np, np.broadcast_to(x[0], (40, 515)).T), np.tile(x[0], (40, 1)).T)
    threads.close()


def test_what_is_row_by_row_is_not_copied() -> None:
    x = np.zeros((200, 100), np.float32)
    assert turned.row_by_row(np, x) is x
    for other in (x.astype(np.float16).T, x.astype(">f4").T, x.astype(complex).T, x.T[:0], x[:3].T):
        assert turned.row_by_row(np, other).flags.c_contiguous


def test_memory_that_does_not_fit_is_refused() -> None:
    x = np.zeros((4, 5), np.float32)
    for array, out in ((x.T, bytearray(76)), (x.astype(np.int16).T, bytearray(40)), (np.zeros([1] * 20), bytearray(8))):
        with pytest.raises(ValueError):
            turned.compiled.copy(array, out, 1)
    with pytest.raises((TypeError, BufferError)):
        turned.compiled.copy(x, bytes(80), 1)
    assert turned.compiled.copy(x, bytearray(80), 1) is False
