"""Start the processes of a job, as users do, and wait for their end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.house.repository import ROOT

SCRIPTS = ROOT / "tests" / "data" / "distributed"
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="extra: torch is not installed")
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or MPIEXEC is None,
    reason="extra: mpi4py or mpiexec is not installed",
)


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    status: int
    output: str


class Job:
    """Processes that run at the same time; none survives the block."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []
        self._outputs: list[IO[str]] = []  # files: a full pipe would stop a process

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for output in self._outputs:
            output.close()

    def start(self, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        output = tempfile.TemporaryFile("w+", errors="replace")
        self._outputs.append(output)
        process = subprocess.Popen(
            [str(word) for word in command],
            env={**_clean_environment(), **(env or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def wait(self, seconds: float = 280) -> list[Ended]:
        """Return how all processes ended; fail if one does not."""
        deadline = time.monotonic() + seconds
        ended = []
        for process, output in zip(self.processes, self._outputs):
            status = process.wait(timeout=max(0.1, deadline - time.monotonic()))
            output.seek(0)
            ended.append(Ended(status, output.read()))
        return ended


def _clean_environment() -> dict[str, str]:
    """Return this process's environment without what a launcher may have put there."""
    launchers = ("PADDLE_", "OMPI_", "PMI", "TORCHELASTIC_", "RANK", "WORLD_SIZE", "MASTER_", "TRAINING_ROLE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(launchers)}
    limits = {"FLUIDIO_TIMEOUT": "120", "FLUIDIO_START_TIMEOUT": "200"}  # on a busy machine starts are minutes apart
    return {**kept, **limits, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def fluidio_run(script: str | Path, *words: str | Path, fluid: str = "1.8") -> list[str]:
    """Return the command that runs a legacy script."""
    return [sys.executable, "-m", "fluidio", "run", "--fluid", fluid, str(SCRIPTS / script), *map(str, words)]


def mpiexec() -> list[str]:
    """Return the beginning of a command that starts processes of MPI, more than there are cores."""
    return [str(MPIEXEC), "--oversubscribe", "--allow-run-as-root"]


def endpoints(count: int) -> list[str]:
    """Return endpoints on this machine that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    finally:
        for one in sockets:
            one.close()


def paddle_variables(trainer: int, names: Sequence[str]) -> dict[str, str]:
    """Return the environment that Paddle's launcher gives a trainer."""
    return {
        "PADDLE_TRAINER_ID": str(trainer),
        "PADDLE_TRAINERS_NUM": str(len(names)),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(names),
        "PADDLE_CURRENT_ENDPOINT": names[trainer],
    }
