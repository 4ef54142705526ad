"""Tests on CUDA devices: real ones, or the simulator's, or skipped with a reason."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cudasim.device import prepare, watched_cupy

prepare()


@pytest.fixture
def cupy() -> Iterator[Any]:
    """Give CuPy; on the simulator any race, overwrite or access out of bounds fails the test."""
    with watched_cupy() as module:
        yield module


@pytest.fixture
def sim(cupy: Any) -> Any:
    """Give the simulator, for tests that count or delay; they are skipped on real hardware."""
    from tests import cudasim

    if not cudasim.installed():
        pytest.skip("cudasim: counts and delays need the simulator, and this is a real GPU")
    gc.collect()  # what other tests left behind is not counted here
    cudasim.reset()
    return cudasim
