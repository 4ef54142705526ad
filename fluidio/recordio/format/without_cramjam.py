"""What stands in for cramjam on a Python for which it has no wheel: errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from fluidio.errors import MissingDependencyError

__all__ = ["DecompressionError", "snappy", "zstd"]


class DecompressionError(Exception):
    """Never raised."""


def _missing(*_: object) -> NoReturn:
    raise MissingDependencyError(
        "snappy and zstd need cramjam, which has no wheel for every Python: `pip install cramjam` builds it where "
        "there is Rust; files written with compressor='none' or 'gzip' do without it",
        name="cramjam",
    )


class _Codec:
    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        return _missing


snappy = zstd = _Codec()
