"""Messages through pipes: whole, or an error, never a wait without end."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from fluidio.flow import messages

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes are files only on POSIX")
Ends = tuple[Connection, Connection]


class Gone(Exception):
    pass


def nobody_comes() -> None:
    raise Gone


@pytest.fixture(params=[False, True])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    near, far = multiprocessing.Pipe(duplex=request.param)
    with near, far:
        yield near, far


def test_messages_of_every_size_come_whole_and_in_order(ends: Ends) -> None:
    near, far = ends
    sent = [b"", b"a", b"b" * 100_000, b"c" * 3_000_000]

    def write() -> None:
        for data in sent:
            messages.send(far, data[:1], data[1:])

    writer = threading.Thread(target=write)
    writer.start()
    got = [bytes(messages.receive(near, lambda: None, 0.05)) for _ in sent]
    writer.join()
    assert got == sent


@pytest.mark.parametrize("written", [b"", b"\5\0\0", b"\5\0\0\0\0\0\0\0", b"\5\0\0\0\0\0\0\0ab"])
def test_half_a_message_in_a_pipe_that_stays_open_is_given_up(ends: Ends, written: bytes) -> None:
    near, far = ends
    os.write(far.fileno(), written)
    with pytest.raises(Gone):
        messages.receive(near, nobody_comes, 0.01)


def test_a_closed_pipe_is_the_end(ends: Ends) -> None:
    near, far = ends
    messages.send(far, b"last")
    far.close()
    assert messages.receive(near, nobody_comes, 1.0) == b"last"
    with pytest.raises(EOFError):
        messages.receive(near, nobody_comes, 1.0)
