"""Count requests, bytes and seconds for inspecting remote files, compared with Parquet and ArrayRecord.

    python -m benchmarks.remote [--chunks 5000] [--latency 20] [--peers FOLDER]

A loopback HTTP server with ranges waits before each answer. With an index beside the data, `count`, `get`, `tasks` and
`partition` may take 3 requests and 2 % of the bytes; without, one pass of 1.02 x the bytes and size / 8 MiB + 2
requests.

Parquet's footer is read through fsspec. ArrayRecord's reader takes no file objects and no http://, so its file is
copied through fsspec first, which is what its users have to do; "its own reads" are what the reader then reads of the
copy, and what it would ask for if it could. It runs in the environment that `benchmarks/field/make_peers.sh FOLDER
arrayrecord` makes.
"""

from __future__ import annotations

import argparse
import http.server
import json
import math
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fluidio import recordio
from fluidio.recordio.files.sidecar import sidecar_path


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder with ranges, after a delay, and counts requests."""

    protocol_version = "HTTP/1.1"
    latency: ClassVar[float] = 0.0
    requests: ClassVar[int] = 0
    sent: ClassVar[int] = 0

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        Server.requests += 1
        time.sleep(self.latency)
        path = self.translate_path(self.path)
        if not os.path.isfile(path):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = os.path.getsize(path)
        start, stop = 0, size
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes="):
            first, _, last = wanted[6:].partition("-")
            start = int(first) if first else size - int(last)
            stop = min(size, int(last) + 1 if first and last else size)
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(stop - start))
        self.send_header("ETag", f'"{size}-{os.stat(path).st_mtime_ns}"')
        self.end_headers()
        if body:
            with open(path, "rb") as file:
                file.seek(start)
                self.wfile.write(file.read(stop - start))
            Server.sent += stop - start

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def measured(what: str, size: int, work: Callable[[], Any]) -> None:
    """Print the requests that some work makes."""
    Server.requests = Server.sent = 0
    began = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - began
    share = 100 * Server.sent / size
    print(f"{what:34} {Server.requests:5} requests  {share:7.2f} % of the bytes  {seconds:6.2f} s   {result}")


def count_by(url: str) -> int:
    with recordio.File(url) as file:
        return file.count()


def get_by(url: str, index: int) -> int:
    with recordio.File(url) as file:
        return len(file.get(index))


def parquet_rows(url: str) -> Any:
    """Return the number of rows according to the footer."""
    import fsspec
    import pyarrow.parquet as pq

    with fsspec.open(url, "rb") as file:
        return pq.ParquetFile(file).metadata.num_rows


def array_records(python: str, url: str, path: str) -> dict[str, Any]:
    """Copy an ArrayRecord through fsspec and return its own reader's report on the copy."""
    import fsspec

    files, there = fsspec.url_to_fs(url)
    files.get_file(there, path)
    found: dict[str, Any] = json.loads(_peer(python, "count", path))
    return found


def _peer(python: str, *words: str) -> bytes:
    script = Path(__file__).with_name("remote_arrayrecord.py")
    return subprocess.run([python, script, *words], check=True, capture_output=True).stdout


def main() -> None:
    """Make files, serve and measure them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=5000)
    parser.add_argument("--latency", type=float, default=20.0, help="milliseconds")
    parser.add_argument("--peers", help="where make_peers.sh put its environments")
    args = parser.parse_args()
    Server.latency = args.latency / 1000
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"  # where indexes of stores are kept that cannot be written
        _make(folder, args.chunks)
        handler = lambda *a, **k: Server(*a, directory=folder, **k)  # noqa: E731
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            _measure(f"http://127.0.0.1:{server.server_port}", folder)
            if args.peers:
                _measure_arrayrecord(f"http://127.0.0.1:{server.server_port}", folder, args.chunks, args.peers)
        finally:
            server.shutdown()


def _make(folder: str, chunks: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = np.random.default_rng(0).integers(0, 255, (chunks * 10, 1000), np.uint8)
    with recordio.Writer(f"{folder}/plain.recordio", "none", 10) as writer:
        writer.write_block([data])
    table = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(data.reshape(-1)), 1000)})
    pq.write_table(table, f"{folder}/x.parquet", row_group_size=10, compression="none")


def _measure(root: str, folder: str) -> None:
    size = Path(folder, "plain.recordio").stat().st_size
    print(f"{size / 1e6:.0f} MB; {math.ceil(size / (8 << 20)) + 2} requests are allowed for one pass")
    url = f"{root}/plain.recordio"
    measured("count, without an index", size, lambda: count_by(url))
    (kept,) = (path for path in Path(folder, "cache").rglob("*") if path.is_file())
    kept.rename(sidecar_path(f"{folder}/plain.recordio"))  # as if the store could be written
    for what, work in {
        "count": lambda: count_by(url),
        "get": lambda: get_by(url, 12_345),
        "tasks": lambda: len(recordio.tasks(url, 1000)),
        "partition": lambda: len(recordio.partition(url, 8, 3)),
    }.items():
        measured(f"{what}, with an index", size, work)
    there = Path(folder, "x.parquet").stat().st_size
    measured("Parquet's footer through fsspec", there, lambda: parquet_rows(f"{root}/x.parquet"))


def _measure_arrayrecord(root: str, folder: str, chunks: int, peers: str) -> None:
    python, path = f"{peers}/arrayrecord/bin/python", f"{folder}/x.array_record"
    _peer(python, "make", path, str(10 * chunks), "1000")
    size = Path(path).stat().st_size
    found: dict[str, Any] = {}
    copy = f"{folder}/copy.array_record"

    def work() -> int:
        found.update(array_records(python, f"{root}/x.array_record", copy))
        return int(found["records"])

    measured("ArrayRecord, copied and counted", size, work)
    share = 100 * found["bytes"] / size
    print(f"{'its own reads, of the copy':34} {found['reads']:5} reads     {share:7.2f} % of the bytes")


if __name__ == "__main__":
    main()
