"""Shards in object stores: a real S3 server on loopback, HTTP with ranges, `pfs://` on a configured root."""

from __future__ import annotations

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

import numpy as np
import pytest

from fluidio.conversion import generate
from fluidio.conversion.copying import copy
from fluidio.recordio import File
from tests.convert.templates import MIXED, contents, write
from tests.house.repository import ROOT


def fluidio(server: str, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {**os.environ, **keys, "FSSPEC_S3_ENDPOINT_URL": server, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "fluidio", *args]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def s3() -> Iterator[str]:
    for name in ("moto", "s3fs", "flask"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"extra: {name} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def test_a_conversion_into_s3_and_back(s3: str, tmp_path: Path) -> None:
    script = write(tmp_path, MIXED)
    generate(script, str(tmp_path / "local" / "x"), 3, workers=1)
    code = "import sys, fsspec; fsspec.filesystem('s3', endpoint_url=sys.argv[1], key='k', secret='s').mkdir('bucket')"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, s3], check=True)
    output = ["--output", "s3://bucket/data/x", "--partitions", "3", "--workers", "2", "--quiet"]
    fluidio(s3, "convert", script, *output, cwd=tmp_path)
    fluidio(s3, "records", "cp", "s3://bucket/data/x*", str(tmp_path / "back"), "--quiet", cwd=tmp_path)
    assert contents(tmp_path / "back") == contents(tmp_path / "local")
    fluidio(s3, "convert", script, *output, cwd=tmp_path)  # checks what is there and keeps it
    fluidio(s3, "records", "cp", str(tmp_path / "back" / "x-*"), "s3://bucket/again/", "--quiet", cwd=tmp_path)
    done = fluidio(s3, "check", "s3://bucket/again/x-*-of-*", cwd=tmp_path)
    assert done.stdout.count(": ok: ") == 3


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


@pytest.fixture
def http(tmp_path: Path) -> Iterator[str]:
    for name in ("fsspec", "aiohttp"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"extra: {name} is not installed")
    RangeHandler.folder = tmp_path / "local"
    server = ThreadingHTTPServer(("127.0.0.1", 0), RangeHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_shards_behind_http_are_copied_and_exported(http: str, tmp_path: Path) -> None:
    generate(write(tmp_path, MIXED), str(tmp_path / "local" / "x"), 1, workers=1)
    name = "x-00000-of-00000"
    fluidio("", "records", "cp", f"{http}/{name}", str(tmp_path / "back"), "--quiet", cwd=tmp_path)
    assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    fluidio("", "export", f"{http}/{name}", "--to", "npz", "--output", "out", "--quiet", cwd=tmp_path)
    with np.load(tmp_path / "out" / f"{name}.npz") as found:
        assert found["label"][:3, 0].tolist() == [0, 1, 2]  # the manifest beside it gave the name


def test_pfs_is_a_configured_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    monkeypatch.setenv("FLUIDIO_PFS_ROOT", str(tmp_path / "cloud"))
    script = write(tmp_path, MIXED)
    generate(script, "pfs://data/me/x", 2, workers=1)
    assert sorted(path.name for path in (tmp_path / "cloud" / "data" / "me").iterdir()) == [
        "x-00000-of-00001",
        "x-00001-of-00001",
        "x.manifest.json",
    ]
    copied = copy(["pfs://data/me/x-*-of-*"], str(tmp_path / "back"))
    with File(copied[0]) as file, File("pfs://data/me/x-00000-of-00001") as there:
        assert list(file) == list(there)
    monkeypatch.delenv("FLUIDIO_PFS_ROOT")
    with pytest.raises(ValueError, match="FLUIDIO_PFS_ROOT"):
        File("pfs://data/me/x-00000-of-00001")
