"""A pytest plugin that lets every executor of the other tests run on a GPU: `pytest -p tests.gpu.mirror tests/ops ...`.

So each op of the table, each optimizer and each reader is tried there with the tests it has anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cudasim.device import prepare, watched_cupy

_REASON = prepare()
if _REASON is not None:
    raise pytest.UsageError(_REASON)

import fluidio.executor.executor as executor  # noqa: E402
from fluidio.executor.devices import backend_for  # noqa: E402
from fluidio.places import CPUPlace, CUDAPlace, unwrap  # noqa: E402


def _on_gpu(place: Any) -> Any:
    return backend_for(CUDAPlace(0) if isinstance(unwrap(place), CPUPlace) else place)


executor.__dict__["backend_for"] = _on_gpu


@pytest.fixture(autouse=True)
def _watched() -> Iterator[None]:
    with watched_cupy():
        yield
