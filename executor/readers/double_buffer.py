"""`double_buffer`: choose the read-ahead decorator by the reader below and the destination of the items."""

from __future__ import annotations

from fluidio.executor.readers.base import Decorator, Reader, Spec
from fluidio.executor.readers.device_prefetch import DevicePrefetch
from fluidio.executor.readers.open_files import pooled_source
from fluidio.executor.readers.pass_through import PassThrough, Relay
from fluidio.executor.readers.prefetch import Prefetch
from fluidio.executor.readers.queue import QueueReader
from fluidio.executor.readers.queue_buffer import QueueBuffer
from fluidio.executor.readers.stage import CopyStage

__all__ = ["double_buffer"]


def double_buffer(name: str, below: Reader, spec: Spec = (), stage: CopyStage | None = None) -> Decorator:
    """Return a reader that keeps the next items of `below` ready, on the devices of `stage` if given."""
    if stage is None:
        if below.prefetches:
            return PassThrough(name, below, spec)
        return Prefetch(name, below, spec) if pooled_source(below) is None else Relay(name, below, spec)
    if isinstance(below, QueueReader):
        return QueueBuffer(name, below, stage, spec)
    return DevicePrefetch(name, below, stage, spec)
