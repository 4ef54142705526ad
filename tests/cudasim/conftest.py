"""The simulator's own tests: with CuPy on the simulator, or skipped with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cudasim.device import prepare, watched_cupy

prepare()


@pytest.fixture
def cupy() -> Iterator[Any]:
    with watched_cupy(simulator_only=True) as module:
        yield module
