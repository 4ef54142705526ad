"""The recipes of the documents for other libraries, with the libraries where they are installed."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import recordio
from fluidio.conversion import generate, read_rows
from tests.conversion.servers import need
from tests.conversion.templates import write
from tests.house.repository import ROOT

pytestmark = pytest.mark.filterwarnings("ignore")  # of these libraries
TEMPLATE = """
def task_number():
    return 2

def dict_data(task):
    for number in range(50 * task, 50 * task + 50):
        yield {"label": number + 2**40, "text": f"row {number}", "x": [0.5] * (number % 3 + 1)}
"""
LABELS = [number + 2**40 for number in range(100)]


def library(name: str) -> Any:
    need(name)
    return importlib.import_module(name)


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    generate(write(tmp_path, TEMPLATE), str(tmp_path / "train"), 2, workers=1)
    return str(tmp_path / "train")


def test_hugging_face_makes_a_data_set_of_rows(prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = library("datasets")
    library("tqdm").tqdm.monitor_interval = 0  # no thread that watches progress bars
    rows = list(read_rows(prefix))
    options = {"gen_kwargs": {"output": prefix}}
    assert list(datasets.Dataset.from_generator(read_rows, cache_dir=str(tmp_path / "cache"), **options)) == rows
    assert list(datasets.IterableDataset.from_generator(read_rows, **options)) == rows


def test_jax_takes_batches(prefix: str) -> None:
    jax = library("jax")
    jax.config.update("jax_enable_x64", True)
    found: list[int] = []
    for batch in recordio.iter_batches(f"{prefix}-*-of-*", 10, shuffle=True, named=True):
        found += jax.numpy.asarray(batch["label"])[:, 0].tolist()
    assert sorted(found) == LABELS


@pytest.mark.slow
def test_ray_reads_ranges_in_its_workers(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = library("ray")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def read(batch: Any) -> dict[str, Any]:
        found = [recordio.load(task, named=True)["label"].data[:, 0] for task in batch["item"]]
        return {"label": np.concatenate(found)}

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        tasks = recordio.tasks(f"{prefix}-*-of-*", 20)
        data = ray.data.from_items(tasks).map_batches(read, batch_size=1)
        assert sorted(row["label"] for row in data.take_all()) == LABELS
    finally:
        ray.shutdown()


SPARK = """
import sys
from pyspark.sql import SparkSession
from fluidio import recordio

def rows(task):
    for batch in recordio.iter_batches(task, 1000, named=True):
        yield from zip(batch["label"][:, 0].tolist(), batch["text"])

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
tasks = recordio.tasks(sys.argv[1] + "-*-of-*", 20)
found = spark.sparkContext.parallelize(tasks, len(tasks)).flatMap(rows)
frame = spark.createDataFrame(found, "label long, text string")
print(sorted((row.label, row.text) for row in frame.collect()))
"""


@pytest.mark.slow
def test_spark_reads_ranges_in_its_workers(prefix: str) -> None:
    need("pyspark")
    if shutil.which("java") is None:
        pytest.skip("extra: java is not installed")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(
        [sys.executable, "-c", SPARK, prefix], env=environment, capture_output=True, text=True, timeout=50, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.strip().splitlines()[-1] == str([(label, f"row {label - 2**40}") for label in LABELS])


# -- Redis Streams -----------------------------------------------------------------------------------------------------


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    redis = library("redis")
    if shutil.which("redis-server") is None:
        pytest.skip("extra: redis-server is not installed")
    socket = str(tmp_path / "redis")
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--dir", str(tmp_path), "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        found = redis.Redis(unix_socket_path=socket)
        try:
            assert server.stdout is not None
            assert any("eady to accept connections" in line for line in server.stdout)
            yield found
        finally:
            found.close()
            server.terminate()


class _Crash(Exception):
    pass


def fill(client: Any, stream: str, path: str, crash_after: int = 1 << 60) -> None:
    """Do what docs/recordio.md shows; crash after so many entries, flushed or not."""
    writer = recordio.Writer(path, mode="a")
    last = b"0"
    for record in recordio.follow(path, idle=0):
        last = record.split(b" ", 1)[0]
    while entries := client.xread({stream: last}, count=7, block=1):
        for last, fields in entries[0][1]:
            crash_after -= 1
            if crash_after < 0:
                writer.abort()
                raise _Crash
            writer.write(last + b" " + fields[b"body"])
        writer.flush()
    writer.close()


def test_a_stream_of_redis_is_stored_once_whatever_crashes(client: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "events.recordio")
    bodies = [b"message %d" % number for number in range(50)]
    for number, body in enumerate(bodies):
        client.xadd("events", {"body": body})
        if number % 10 == 9:
            with pytest.raises(_Crash):
                fill(client, "events", path, crash_after=number % 4 + 3)
    fill(client, "events", path)
    found = [record.split(b" ", 1)[1] for record in recordio.follow(path, idle=0)]
    assert found == bodies
