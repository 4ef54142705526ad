"""Where a run took place: versions, machine, era, seeds, memory."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.program import default_main_program, default_startup_program
from fluidio.version import __version__

__all__ = ["environment_of", "memory_now"]

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PACKAGES = ("cupy-cuda12x", "cupy-cuda13x", "torch")


def environment_of() -> dict[str, Any]:
    """Return the facts that help to interpret another user's run; nothing that identifies the user."""
    found = {
        "fluidio": __version__,
        "following Fluid": era().name,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count() or 0,
        "seed of the main program": default_main_program().random_seed,
        "seed of the startup program": default_startup_program().random_seed,
        "script": os.path.basename(sys.argv[0]) if sys.argv else "",
    }
    found |= {name: value for name, value in sorted(os.environ.items()) if name.startswith(("FLAGS_", "OMP_NUM_"))}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def memory_now() -> int:
    """Return this process's memory in bytes: the resident size, or its peak where that is unavailable."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
