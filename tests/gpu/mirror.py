"""A pytest plugin that lets every executor of the other tests run on a GPU: `pytest -p tests.gpu.mirror tests/ops ...`.

So each op of the table, each optimizer and each reader is tried there with the tests it has anyway. FLUIDIO_MIRROR_OPS
names a file for the types of the ops that ran on the GPU.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cudasim.device import prepare, watched_cupy

_REASON = prepare()
if _REASON is not None:
    raise pytest.UsageError(_REASON)

import fluidio.executor.executor as executor  # noqa: E402
import fluidio.executor.parallel as parallel  # noqa: E402
import fluidio.executor.plan as plan  # noqa: E402
from fluidio.errors import EnforceNotMet  # noqa: E402
from fluidio.executor.bind import bind  # noqa: E402
from fluidio.executor.devices import backend_for  # noqa: E402
from fluidio.places import CPUPlace, CUDAPlace, unwrap  # noqa: E402

_ran: set[str] = set()


def _on_gpu(place: Any) -> Any:
    return backend_for(CUDAPlace(0) if isinstance(unwrap(place), CPUPlace) else place)


def _noting(op: Any, slot_of: Any, persists: Any, dev: Any) -> Any:
    step = bind(op, slot_of, persists, dev)
    run = step.run

    def noted(f: Any) -> None:
        run(f)
        _ran.add(op.type)

    if dev.is_gpu:
        step.run = noted
    return step


executor.__dict__["backend_for"] = _on_gpu
parallel.__dict__["backend_for"] = _on_gpu
plan.__dict__["bind"] = _noting


@pytest.fixture(autouse=True)
def _watched() -> Iterator[None]:
    with watched_cupy():
        yield
        with contextlib.suppress(EnforceNotMet):  # what a test leaves unfetched is not the next one's
            backend_for(CUDAPlace(0)).fetch([])


def pytest_sessionfinish() -> None:
    if path := os.environ.get("FLUIDIO_MIRROR_OPS"):
        with Path(path).open("a") as listed:  # several processes may share the tests
            listed.write("".join(f"{name}\n" for name in sorted(_ran)))
