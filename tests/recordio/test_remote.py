"""URLs and file objects wherever a path is taken; counting a remote file does not download it."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.errors import MissingDependencyError, RecordIOError
from fluidio.recordio import BlockReader, Column, File, Writer, iter_batches, load, partition, tasks
from fluidio.recordio.files.source import RemoteSource
from fluidio.recordio.format.chunks import ChunkReader

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"


def write_numbers(path: Any, count: int, start: int = 0) -> None:
    numbers = np.arange(start, start + count, dtype=np.float32)
    with Writer(path, "none", 50) as writer:
        writer.write_block([Column(np.repeat(numbers[:, None], 300, axis=1))])


def test_systems_without_pread_and_writev_read_and_write_too(tmp_path: Path) -> None:
    script = (
        "import os\n"
        "del os.pread, os.preadv, os.writev\n"
        "from fluidio import recordio\n"
        f"with recordio.Writer({str(tmp_path / 'a')!r}, 'none', 3) as w:\n"
        "    for i in range(10): w.write(str(i))\n"
        f"with recordio.File({str(tmp_path / 'a')!r}) as f:\n"
        "    assert [int(f.get(i)) for i in range(10)] == [int(r) for r in f] == list(range(10))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# -- file objects ------------------------------------------------------------------------------------------------------


def test_file_objects_are_read_and_left_open() -> None:
    stream = io.BytesIO((DATA / "mnist_none.recordio").read_bytes())
    with File(stream) as file:
        assert file.count() == 50
    (image, _) = load(stream)
    assert image.data.shape == (50, 784)
    with open(DATA / "mnist_snappy.recordio", "rb") as opened:
        assert sum(len(labels) for _, labels in iter_batches(opened, 64)) == 1000
        assert not opened.closed


def test_a_stream_that_begins_in_the_middle_of_a_file() -> None:
    stream = io.BytesIO(b"a header of somebody else" + (DATA / "raw_none_basic.recordio").read_bytes())
    stream.seek(25)
    with File(stream) as file:
        assert file.count() == 7


def test_streams_that_cannot_seek_are_read_through() -> None:
    read_end, write_end = os.pipe()
    data = (DATA / "raw_none_multichunk.recordio").read_bytes()

    def feed() -> None:
        with os.fdopen(write_end, "wb") as out:
            out.write(data)

    thread = threading.Thread(target=feed)
    thread.start()
    with os.fdopen(read_end, "rb") as stream, File(stream) as file:
        assert len(list(file)) == 25
    thread.join()
    packed = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data)))
    with ChunkReader(packed) as reader:
        assert sum(chunk.table.count for chunk in reader) == 25


def test_a_url_without_fsspec_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingDependencyError, match=r"fluidio\[remote\]"):
        File("s3://bucket/a.recordio")


# -- fsspec ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


def test_urls_and_globs_are_written_and_read(memory: Any) -> None:
    for number in range(3):
        write_numbers(f"memory://bucket/p-{number}-of-3", 120, 120 * number)
    (column,) = load("memory://bucket/p-*-of-*")
    assert column.data[:, 0].tolist() == list(range(360))
    parts = [task for i in range(4) for task in partition("memory://bucket/p-*", 4, i)]
    assert [int(v) for (batch,) in iter_batches(parts, 7) for v in batch[:, 0]] == list(range(360))
    with File("memory://bucket/p-1-of-3") as file:
        assert file.count() == 120
        assert len(file.get(77)) == len(file.get(0))
    with BlockReader(tasks("memory://bucket/p-0-of-3", 70)[1]) as reader:
        assert [len(block) for block in reader] == [30, 20]
    with pytest.raises(FileNotFoundError, match="no file matches"):
        load("memory://bucket/q-*")
    with pytest.raises(FileNotFoundError):
        File("memory://bucket/missing")
    with pytest.raises(ValueError, match="local file"):
        Writer("memory://bucket/p-0-of-3", mode="a")


def test_counting_does_not_download(memory: Any) -> None:
    write_numbers("memory://bucket/large", 20_000)
    source = RemoteSource("memory://bucket/large")
    with File(source) as file:
        assert file.count() == 20_000
        counted = source.bytes_fetched
        assert counted < source.size * 0.02  # the writer put an index beside it
        file.get(10_000)
        assert source.bytes_fetched - counted < 100_000


# -- http --------------------------------------------------------------------------------------------------------------


class RangeHandler(BaseHTTPRequestHandler):
    """Serve one file by ranges and count the bytes."""

    data = b""
    served = 0
    requests = 0

    def do_HEAD(self) -> None:
        type(self).requests += 1
        if self.path.endswith(".index"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(self.data)))
        self.end_headers()

    def do_GET(self) -> None:
        type(self).requests += 1
        if self.path.endswith(".index"):
            self.send_error(404)
            return
        asked = self.headers.get("Range", "")
        first, last = 0, len(self.data) - 1
        if asked.startswith("bytes="):
            low, high = asked[6:].split("-")
            first, last = int(low), min(int(high or last), last)
        body = self.data[first : last + 1]
        type(self).served += len(body)
        self.send_response(206 if asked else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(self.data)}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_a_file_on_a_web_server_is_read_by_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    out = io.BytesIO()
    with Writer(out, "none", 500) as writer:
        writer.write_block([np.zeros((20_000, 64), np.float32)])
    RangeHandler.data, RangeHandler.served = out.getvalue(), 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), RangeHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/a.recordio"
        with File(url) as file:
            assert file.count() == 20_000
            assert RangeHandler.served <= len(RangeHandler.data) * 1.02
            assert RangeHandler.requests <= 4  # what is it, is there an index, all of it, and one for luck
            assert len(file.get(19_999)) == len(file.get(3))
        RangeHandler.served = RangeHandler.requests = 0
        with File(url) as file:  # now there is an index in the cache
            assert file.count() == 20_000
            assert RangeHandler.served < len(RangeHandler.data) * 0.02
            assert RangeHandler.requests <= 3
        with pytest.raises(RecordIOError, match="checksum"):
            RangeHandler.data = out.getvalue()[:-1] + b"\1"
            load(url)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        _stop_fsspec_loop()


def _stop_fsspec_loop() -> None:
    """End the thread that fsspec keeps for all asynchronous file systems."""
    from fsspec import asyn

    loop, thread = asyn.loop[0], asyn.iothread[0]
    if loop is not None and thread is not None:
        from fsspec.implementations.http import HTTPFileSystem

        for filesystem in list(HTTPFileSystem._cache.values()):
            if filesystem._session is not None:
                HTTPFileSystem.close_session(loop, filesystem._session)
        HTTPFileSystem.clear_instance_cache()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
        asyn.loop[0] = asyn.iothread[0] = None
