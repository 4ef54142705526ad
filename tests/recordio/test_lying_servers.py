"""Web servers that ignore ranges, send too much, too little, something else, or nothing."""

from __future__ import annotations

import importlib
import importlib.util
import io
import threading
from pathlib import Path

import numpy as np
import pytest

from fluidio import recordio
from fluidio.errors import RecordIOError
from fluidio.recordio.files import network
from tests.conversion.servers import RangeHandler, need, serving

SIZE = 100_000


@pytest.fixture(scope="module", autouse=True)
def _the_thread_of_fsspec() -> None:
    """Start the thread that fsspec keeps for the whole process, so that no test is found to have left it."""
    if importlib.util.find_spec("fsspec") is not None:
        importlib.import_module("fsspec.asyn").get_loop()


class Lying(RangeHandler):
    """Answers HEAD truly and GET as its `lie` says."""

    lie = ""
    data = b""
    given_up = threading.Event()

    def _answer(self, *, body: bool) -> None:
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        start, stop = int(first), min(int(last or len(self.data)) + 1, len(self.data))
        part, status, told = self.data[start:stop], 206, start
        if not body or not self.headers.get("Range") or self.lie == "whole":
            part, status = self.data, 200
        elif self.lie == "more":
            part = self.data[start:stop] + b"x" * 5_000_000
        elif self.lie == "less":
            part = part[: len(part) // 2]
        elif self.lie == "other":
            part, told = self.data[: stop - start], 0
        self.send_response(status)
        length = len(part)
        if status == 206 and self.lie == "cut":
            part = part[: len(part) // 2]
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(length))
        if status == 206:
            self.send_header("Content-Range", f"bytes {told}-{told + len(part) - 1}/{len(self.data)}")
        self.end_headers()
        if body and self.lie == "silence":
            self.given_up.wait(10)
        elif body:
            self.wfile.write(part)

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the reader hung up, as it should
            self.close_connection = True


def file_bytes() -> bytes:
    stream = io.BytesIO()
    with recordio.Writer(stream, "none", 100) as writer:
        writer.write_block([np.arange(SIZE, dtype="f4").reshape(-1, 100)])
    return stream.getvalue()


@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        ("whole", "does not answer requests for a range"),
        ("more", "sends more than"),
        ("less", "sent .* bytes of"),
        ("other", "does not answer requests for a range"),
        ("cut", "connection broke|sent .* bytes of"),
        ("silence", "no answer"),
    ],
)
def test_a_lie_is_an_error_of_a_line(lie: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(Lying, "lie", lie)
    monkeypatch.setattr(Lying, "data", file_bytes())
    monkeypatch.setattr(Lying, "given_up", threading.Event())
    with serving(Lying) as url:
        with pytest.raises(RecordIOError, match=problem):
            recordio.load(f"{url}/a.recordio")
        Lying.given_up.set()


def test_an_honest_server_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lying, "data", file_bytes())
    with serving(Lying) as url:
        (column,) = recordio.load(f"{url}/a.recordio")
    assert column.data.reshape(-1).tolist() == list(range(SIZE))


def test_a_silent_server_is_given_up_in_the_time_that_is_told() -> None:
    need("fsspec", "aiohttp")
    assert 2 * network.limits("http")["client_kwargs"]["timeout"].sock_read == network.SILENCE_SECONDS
