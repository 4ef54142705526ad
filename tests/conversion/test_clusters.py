"""A real Dask cluster and a real MPI make the same bytes as one local process."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fluidio.cli import main
from fluidio.conversion import generate
from tests.conversion.templates import MIXED, NUMBERS, contents, write
from tests.house.repository import ROOT


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = write(tmp_path, MIXED)
    generate(path, str(tmp_path / "local" / "x"), 3, workers=1)
    return path


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def convert(script: str, output: Path, executor: str) -> list[str]:
    return [
        *("-m", "fluidio", "convert", script, "--output", str(output), "--partitions", "3"),
        *("--executor", executor, "--quiet"),
    ]


@contextlib.contextmanager
def running(*commands: list[str]) -> Iterator[None]:
    """Run processes for the time of a block."""
    started = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    try:
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="extra: distributed is not installed")
def test_a_dask_cluster_of_two_workers(script: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    python = [sys.executable, "-W", "ignore", "-m"]
    scheduler = [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = [
        *python,
        "distributed.cli.dask_worker",
        "--nworkers",
        "1",
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
    ]
    (tmp_path / "dask_factory.py").write_text(
        "from distributed import Client\n"
        "def make():\n"
        f"    client = Client(scheduler_file={str(file)!r})\n"
        "    client.wait_for_workers(2, timeout=40)\n"
        "    return client.get_executor()\n"
    )
    with running([*scheduler, "--scheduler-file", str(file)]):
        while not file.exists():
            time.sleep(0.05)
        with running(*2 * [[*worker, "--scheduler-file", str(file)]]):
            command = [sys.executable, *convert(script, tmp_path / "dask" / "x", "dask_factory:make")]
            done = subprocess.run(command, env=environment(), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "dask") == contents(tmp_path / "local")


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="extra: mpi4py is not installed")
def test_mpi_with_two_processes(script: str, tmp_path: Path) -> None:
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if mpiexec is None:
        pytest.skip("extra: mpiexec is not installed")
    command = [mpiexec, "-n", "2", sys.executable, "-m", "mpi4py.futures"]
    command += convert(script, tmp_path / "mpi" / "x", "mpi4py.futures:MPIPoolExecutor")
    # Open MPI refuses to run as root and to start more processes than cores unless it is told; MPICH ignores these.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    allowed |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    done = subprocess.run(command, env=environment(**allowed), cwd=tmp_path, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "mpi") == contents(tmp_path / "local")


def test_any_executor_of_the_standard_library(script: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        generate(script, str(tmp_path / "threads" / "x"), 3, executor=pool)
    generate(script, str(tmp_path / "named" / "x"), 3, executor="concurrent.futures:ThreadPoolExecutor")
    assert contents(tmp_path / "threads") == contents(tmp_path / "named") == contents(tmp_path / "local")


def test_threads_show_every_template_its_arguments(tmp_path: Path) -> None:
    script, before = write(tmp_path, NUMBERS), sys.argv
    with ThreadPoolExecutor(4) as pool:
        manifest = generate(script, str(tmp_path / "n"), 2, executor=pool, args=["40", "50"])
    assert manifest["records"] == 2000
    assert sys.argv is before


def test_a_wrong_executor_says_what_is_expected(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["convert", script, "--output", str(tmp_path / "n"), "--quiet", "--executor"]
    for name, message in (
        ("nothing", "module:factory"),
        ("os:nothing", "nothing"),
        ("os:getpid", "os:getpid must be a concurrent.futures.Executor"),
    ):
        assert main([*command, name]) == 1
        assert message in capsys.readouterr().err


CLIENT = """
from concurrent.futures import ThreadPoolExecutor


class Client:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        print("closed")

    def submit(self, *args):
        return object()  # a future of its own kind

    def get_executor(self):
        return ThreadPoolExecutor(1)


class Other:
    submit = Client.submit
"""


def test_a_client_is_asked_for_its_executor(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_client.py").write_text(CLIENT)
    command = ["convert", script, "--output", str(tmp_path / "n"), "--quiet", "--executor"]
    assert main([*command, "my_client:Other", "--", "2", "3"]) == 1
    assert "my_client:Other must be a concurrent.futures.Executor" in capsys.readouterr().err
    assert main([*command, "my_client:Client", "--", "2", "3"]) == 0
    assert capsys.readouterr().out.startswith("closed\n161 records")
