"""Every reader test must leave no thread and no process behind."""

from __future__ import annotations

import gc
import multiprocessing
import threading
from collections.abc import Iterator

import pytest

from fluidio.era import keep_era


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    with keep_era():
        yield
    gc.collect()
    left = [t.name for t in threading.enumerate() if t.name.startswith("fluidio-")]
    left += [p.name for p in multiprocessing.active_children()]
    assert left == []
