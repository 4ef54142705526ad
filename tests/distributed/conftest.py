"""Tests of one process forget the job that they have declared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fluidio.distributed import process


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(process, "_membership", None)
    monkeypatch.setattr(process, "_group", None)
    yield
