"""Web servers that ignore ranges, send too much, too little, something else, or nothing."""

from __future__ import annotations

import importlib
import importlib.util
import io
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from fluidio import recordio
from fluidio.errors import RecordIOError
from fluidio.recordio.files import network
from fluidio.recordio.files.notes import slots_beside
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
        ("more", "sent more than"),
        ("less", "sent only .* of .* bytes"),
        ("other", "does not answer requests for a range"),
        ("cut", "connection broke|sent only .* of .* bytes"),
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


class Refusing(RangeHandler):
    """Answers every request with one status, or hangs up."""

    status = 0

    def _answer(self, *, body: bool) -> None:
        if not self.status:
            self.close_connection = True
            return
        self.send_error(self.status)


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_manifest_that_a_server_refuses_is_not_there(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "status", status)
    with serving(Refusing) as url, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert slots_beside(f"{url}/x-00000-of-00001") is None


def test_names_are_not_lost_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "status", 500)
    with serving(Refusing) as url, pytest.warns(UserWarning, match="answers 500.*names and text .* are left out"):
        assert slots_beside(f"{url}/x-00000-of-00001") is None
    monkeypatch.setattr(Refusing, "status", 0)
    with serving(Refusing) as url, pytest.raises(RecordIOError, match="connection broke"):
        slots_beside(f"{url}/x-00000-of-00001")
    with pytest.raises(RecordIOError, match="connection refused"):
        slots_beside(f"{url}/x-00000-of-00001")
