"""`multiprocess_reader`: read from several sources, each in its own process."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from fluidio.era import era
from fluidio.errors import ReaderError
from fluidio.flow import messages, processes
from fluidio.flow.threads import Channel, Reader, producing

__all__ = ["multiprocess_reader"]

_MESSAGE = 1 << 18  # bytes: small samples are sent together
_ITEMS, _END, _ERROR = b"i", b"e", b"x"
_LIVENESS_POLL = 0.25  # seconds between checks of a silent child


def multiprocess_reader(
    readers: list[Reader[Any]], use_pipe: bool = True, queue_size: int = 1000
) -> Callable[[], Iterator[Any]]:
    """Return a reader that yields the samples of all `readers`, each running in its own process.

    Args:
        readers: a list of readers; closures are fine.
        use_pipe: take one sample of each reader in turn, which is a fixed order; otherwise as they arrive.
        queue_size: samples read ahead by all processes together.

    Raises:
        ReaderError: a reader raised (its exception is the `__cause__`) or its process was killed.

    Fluid: with a pipe, samples went through JSON: tuples became lists and arrays failed. Here both ways pass any sample
    unchanged; a strict era converts tuples to lists again.
    """
    assert type(readers) is list and len(readers) > 0, (
        "multiprocess_reader: readers must be a list of at least one reader"
    )
    for number, reader in enumerate(readers):
        if not callable(reader):
            raise ValueError(f"multiprocess_reader: readers[{number}] is {reader!r}, not a reader (a callable)")
    ahead = max(1, -(-(int(queue_size) or 1000) // len(readers)))
    through_json = bool(use_pipe) and era().strict

    def merged() -> Iterator[Any]:
        children: list[_Child] = []
        home = os.getpid()
        try:
            with processes.uninterrupted():
                for number, reader in enumerate(readers):
                    children.append(_Child(number, reader, ahead, through_json, children))
            yield from _in_turn(children) if use_pipe else _as_they_come(children)
        finally:
            for child in children:
                child.connection.close()
            if os.getpid() == home:  # a fork may inherit this reader and release it
                processes.stop([child.process for child in children])

    return merged


class _Child:
    """One reader's process, seen from the parent."""

    def __init__(
        self, number: int, reader: Reader[Any], ahead: int, through_json: bool, elder: Sequence[_Child]
    ) -> None:
        self.number = number
        self.ended = False
        self.samples: deque[Any] = deque()
        self.connection, far = processes.context().Pipe(duplex=False)
        self.process = processes.start(
            _work,
            (reader, far, ahead, through_json),
            name="multiprocess_reader",
            foreign=[self.connection, *(child.connection for child in elder)],
        )
        far.close()

    def receive(self) -> None:
        """Wait for the next message and unpack it."""
        try:
            message = messages.receive(self.connection, self._check, _LIVENESS_POLL)
        except (EOFError, OSError):
            raise ReaderError(
                f"multiprocess_reader: {processes.death_note(self.process)} while it ran readers[{self.number}]"
            ) from None
        kind, data = message[:1], memoryview(message)[1:]
        if kind == _END:
            self.ended = True
        elif kind == _ERROR:
            error = processes.unpack_error(bytes(data))
            raise ReaderError(
                f"multiprocess_reader: readers[{self.number}] raised {type(error).__name__}: {error}"
            ) from error
        else:
            self._unpack(io.BytesIO(data), len(data))

    def _check(self) -> None:
        if not self.process.is_alive() and not self.connection.poll():
            raise EOFError

    def _unpack(self, data: io.BytesIO, size: int) -> None:
        while data.tell() < size:
            self.samples.append(pickle.load(data))


def _in_turn(children: list[_Child]) -> Iterator[Any]:
    living = list(children)
    while living:
        for child in list(living):
            while not child.samples and not child.ended:
                child.receive()
            if child.samples:
                yield child.samples.popleft()
            else:
                living.remove(child)


def _as_they_come(children: list[_Child]) -> Iterator[Any]:
    living = {child.connection: child for child in children}
    while living:
        ready = wait(list(living), _LIVENESS_POLL) or [c for c, child in living.items() if not child.process.is_alive()]
        for connection in ready:
            assert isinstance(connection, Connection)
            child = living[connection]
            child.receive()
            yield from child.samples
            child.samples.clear()
            if child.ended:
                del living[connection]


def _work(reader: Reader[Any], connection: Connection, ahead: int, through_json: bool) -> None:
    """Run a reader in a child: a thread reads and pickles, this one writes to the pipe."""
    channel: Channel[bytes] = Channel("multiprocess_reader", ahead)
    with producing("multiprocess_reader", [channel], (partial(_pickle_all, reader, channel, through_json), channel)):
        try:
            for message in _joined(channel):
                messages.send(connection, _ITEMS, message)
            messages.send(connection, _END)
        except BrokenPipeError:
            return  # the consumer has stopped
        except BaseException as error:
            messages.send(connection, _ERROR, processes.pack_error(error.__cause__ or error))
    connection.close()


def _pickle_all(reader: Reader[Any], channel: Channel[bytes], through_json: bool) -> None:
    for sample in reader():
        if sample is None:
            raise ValueError("a sample is None, which multiprocess_reader cannot pass on")
        if through_json:
            sample = json.loads(json.dumps(sample))
        if not channel.put(pickle.dumps(sample, pickle.HIGHEST_PROTOCOL)):
            return


def _joined(channel: Channel[bytes]) -> Iterator[bytes]:
    """Yield the waiting samples, several joined, without delaying any of them."""
    while pickles := channel.take(most=512):
        while pickles:
            message = bytearray(pickles.pop(0))
            while pickles and len(message) + len(pickles[0]) <= _MESSAGE:
                message += pickles.pop(0)
            yield bytes(message)
