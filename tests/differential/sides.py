"""Keep a process of the real 1.8.5 and one of fluidio alive and hand them cases."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["Side", "ours", "real"]

_SERVER = str(Path(__file__).with_name("server.py"))
_PATIENCE = 20.0  # seconds for one case


class Side:
    """One server process; it is started when the first case comes and again after a case that hangs."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.process: subprocess.Popen[str] | None = None

    def run(self, case: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a case; {"crash": why} when it killed its process or did not end, twice."""
        return self._try(case) or self._try(case) or {"crash": "no answer"}

    def _try(self, case: dict[str, Any]) -> dict[str, Any]:
        process = self.process = self.process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        line = self._answer(process)
        if not line:
            self.close()
            return {}
        result: dict[str, Any] = json.loads(line)
        return result

    def _start(self) -> subprocess.Popen[str]:
        quiet = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GLOG_minloglevel": "4"}
        return subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env=quiet,
            start_new_session=True,
        )

    @staticmethod
    def _answer(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            return process.stdout.readline() if selector.select(_PATIENCE) else ""

    def close(self) -> None:
        """End the process and the child that does its work."""
        process, self.process = self.process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def real() -> Side | None:
    """Return the side of the real 1.8.5 if the environment variable FLUID185 names its launcher."""
    launcher = os.environ.get("FLUID185")
    return Side([launcher, _SERVER, "real"]) if launcher else None


def ours() -> Side:
    """Return the side of fluidio."""
    return Side([sys.executable, _SERVER, "ours"])
