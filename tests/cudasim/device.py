"""Choose what the GPU tests run on: a real GPU, the simulator, or nothing, with a reason.

FLUIDIO_CUDASIM: "auto" (a real GPU if there is one, else the simulator if it can be installed), "on" (the simulator, or
fail), "off" (a real GPU or nothing).

On the simulator copies and kernels take a random time longer, other ones in each run: up to so many microseconds as
FLUIDIO_CUDASIM_JITTER says.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from . import capsules, control

_JITTER = "40"
_SHOWN = 20


def real_gpus() -> int:
    """Ask the driver, if there is one, how many GPUs it has; never import CuPy for it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


@cache
def prepare() -> str | None:
    """Install the simulator if that is what the tests shall run on; return why they must be skipped, or None.

    It has to happen before anything imports CuPy: conftest.py calls it while tests are collected.
    """
    wish = os.environ.get("FLUIDIO_CUDASIM", "auto")
    if wish not in ("auto", "on", "off"):
        raise pytest.UsageError(f"FLUIDIO_CUDASIM={wish!r}: expected auto, on or off")
    reason = capsules.why_not()
    if wish != "on" and real_gpus():
        return None if capsules.cupy_version() else "cudasim: there is a GPU, but CuPy is not installed"
    if wish == "off":
        return "cudasim: switched off by FLUIDIO_CUDASIM=off, and there is no GPU"
    if reason and wish == "on":
        raise pytest.UsageError(reason)
    if reason is None:
        capsules.install(devices=2)
    return reason


@contextmanager
def watched_cupy(*, simulator_only: bool = False) -> Iterator[Any]:
    """Give CuPy to a test; on the simulator start from a clean state and fail the test for every violation."""
    if reason := prepare():
        pytest.skip(reason)
    if not capsules.installed() and simulator_only:
        pytest.skip("cudasim: runs on a real GPU here; FLUIDIO_CUDASIM=on chooses the simulator")
    cupy = importlib.import_module("cupy")
    if not capsules.installed():
        yield cupy
        return
    jitter, seed = int(os.environ.get("FLUIDIO_CUDASIM_JITTER", _JITTER)), secrets.randbits(32)
    control.usual_delays(jitter=jitter, seed=seed)  # a test that resets counters goes on with them
    control.reset()
    yield cupy
    control.drain()
    found = control.violations()
    control.usual_delays()
    control.reset()
    shown = "\n".join(found[:_SHOWN] + ["..."] * (len(found) > _SHOWN))
    assert not found, f"cudasim saw {len(found)} violations (delays of 0 to {jitter} us, seed {seed}):\n{shown}"
