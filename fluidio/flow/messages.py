"""Send messages through a pipe so that the receiver never waits for a dead sender.

The end of a pipe is not always visible: a child of the killed child may still hold it open, with half a message inside.
So the receiver never blocks in a read; while nothing arrives it calls a function that decides whether to continue.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from multiprocessing.connection import Connection, wait

from fluidio.flow.watchdog import waiting

__all__ = ["receive", "send", "wait_for"]

_length = struct.Struct("<Q")
_PIPES_ARE_FILES = os.name == "posix"


def send(connection: Connection, *parts: bytes) -> None:
    """Send some bytes as one message."""
    if not _PIPES_ARE_FILES:  # Windows: no other process holds a pipe unless it was passed on
        connection.send_bytes(b"".join(parts))
        return
    for part in (_length.pack(sum(map(len, parts))), *parts):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(connection.fileno(), rest) :]


def receive(connection: Connection, check: Callable[[], None], every: float) -> bytes | bytearray:
    """Return the next message.

    Args:
        check: called every `every` seconds without data; raises if nothing more will come.

    Raises:
        EOFError: the sender closed its end.
    """
    if not _PIPES_ARE_FILES:
        wait_for(connection, check, every)
        return connection.recv_bytes()
    (size,) = _length.unpack(_exactly(connection, _length.size, check, every))
    return _exactly(connection, size, check, every)


def wait_for(connection: Connection, check: Callable[[], None], every: float) -> None:
    """Wait until there is something to read."""
    if wait([connection], every):
        return
    with waiting("a message of a worker process") as look_out:
        check()
        while not wait([connection], min(every, look_out.poll)):
            check()
            look_out.look()


def _exactly(connection: Connection, size: int, check: Callable[[], None], every: float) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        wait_for(connection, check, every)
        count = os.readv(connection.fileno(), [rest])
        if not count:
            raise EOFError
        rest = rest[count:]
    return data
