"""Servers on loopback that the tests of stores share: S3, and HTTP with ranges."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.house.repository import ROOT

BUCKET = "import fsspec; fsspec.filesystem('s3').mkdir('bucket')"


def need(*names: str) -> None:
    """Skip a test where a library is not installed."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"extra: {name} is not installed")


def s3_environment(server: str) -> dict[str, str]:
    """Return an environment for processes that use an S3 server."""
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    return {**os.environ, **keys, "FSSPEC_S3_ENDPOINT_URL": server, "PYTHONPATH": str(ROOT)}


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Give the URL of an S3 server with an empty bucket named `bucket`."""
    need("moto", "s3fs", "flask")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        url = f"http://127.0.0.1:{port}"
        subprocess.run([sys.executable, "-W", "ignore", "-c", BUCKET], env=s3_environment(url), check=True)
        yield url
    finally:
        process.kill()
        process.wait()


class RangeHandler(BaseHTTPRequestHandler):
    """Serve the files of a folder by ranges."""

    folder = Path()

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = self.folder / self.path.rpartition("/")[2]
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        asked = self.headers.get("Range", "")
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last or len(data)) + 1] if asked else data
        self.send_response(206 if asked else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
        self.end_headers()
        if body:
            self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving(handler: type[RangeHandler]) -> Iterator[str]:
    """Give the URL of an HTTP server for the length of a block."""
    need("fsspec", "aiohttp")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
