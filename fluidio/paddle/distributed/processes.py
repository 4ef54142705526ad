"""Start processes of one job on this machine, and end all of them when one fails."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

__all__ = ["Started", "python_command", "run_all"]

_POLL = 0.1
_GRACE = 5.0  # seconds for a process to end by itself


class Started:
    """A process, its display name, and where its output goes."""

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str], log: Path | None) -> None:
        self.name = name
        self.log = log
        self._file: IO[str] | None = None
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            self._file = log.open("w")
        output = self._file
        self.process = subprocess.Popen(list(command), env={**os.environ, **env}, stdout=output, stderr=output)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def python_command(script: str, words: Sequence[str]) -> list[str]:
    """Return the command that runs a script the way this process was run: with `fluidio run` if it was."""
    if os.environ.get("FLUIDIO_RUN"):
        return [sys.executable, "-u", "-m", "fluidio", "run", script, *words]
    return [sys.executable, "-u", script, *words]


def run_all(started: Sequence[Started], wanted: Sequence[Started] | None = None) -> int:
    """Wait for processes; return 0 if the wanted ones (all by default) succeeded, else the first failing status.

    When one fails, the others are ended.
    """
    try:
        return _watch(list(started), list(started if wanted is None else wanted))
    finally:
        _end(started)
        for one in started:
            one.close()


def _watch(started: list[Started], wanted: list[Started]) -> int:
    while True:
        for one in started:
            status = one.process.poll()
            if status:
                where = f"; its output is in {one.log}" if one.log else ""
                print(f"fluidio: {one.name} ended with status {status}, the others are ended{where}", file=sys.stderr)
                return status if status > 0 else 128 - status
        if all(one.process.poll() == 0 for one in wanted):
            return 0
        time.sleep(_POLL)


def _end(started: Sequence[Started]) -> None:
    alive = [one.process for one in started if one.process.poll() is None]
    for process in alive:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    for process in alive:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
