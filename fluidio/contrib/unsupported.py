"""Unsupported names of `fluid.contrib`: calling them says what to do instead."""

from __future__ import annotations

from fluidio.errors import not_supported

__all__ = ["HDFSClient"]

_HDFS = "copy the files with `hadoop fs -get`, or read them through fsspec"


class HDFSClient:
    """HDFS is not supported."""

    def __init__(self, *args: object, **options: object) -> None:
        not_supported("fluid.contrib.HDFSClient", _HDFS)
