"""Functions that the standard library has dropped or made stricter."""

from __future__ import annotations

import inspect
import platform
import random
from collections import namedtuple
from typing import Any

__all__ = [
    "getargspec",
    "is_alive",
    "linux_distribution",
    "randint",
    "randrange",
    "readfp",
    "sample",
    "shuffle",
]

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(func: Any) -> ArgSpec:
    """Return args, varargs, keywords and defaults of a function."""
    spec = inspect.getfullargspec(func)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def linux_distribution(*args: Any, **kwargs: Any) -> tuple[str, str, str]:
    """Return name, version and code name of the system."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "", "", ""
    return release.get("NAME", ""), release.get("VERSION_ID", ""), release.get("VERSION_CODENAME", "")


def sample(population: Any, k: int, **kwargs: Any) -> list[Any]:
    """Return k of a population, which may be a set."""
    return random.sample(tuple(population) if isinstance(population, (set, frozenset)) else population, k, **kwargs)


def shuffle(x: Any, random: Any) -> None:
    """Shuffle a list by a function that gives numbers below 1."""
    for i in reversed(range(1, len(x))):
        j = int(random() * (i + 1))
        x[i], x[j] = x[j], x[i]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def randint(a: Any, b: Any) -> int:
    """Return a random integer of [a, b], whose ends may be whole floats."""
    return random.randint(_whole(a), _whole(b))


def randrange(*args: Any) -> int:
    """Return a random integer of a range, whose ends may be whole floats."""
    return random.randrange(*map(_whole, args))


def is_alive(thread: Any) -> bool:
    """Tell whether a thread or a process lives."""
    return bool(thread.isAlive() if hasattr(thread, "isAlive") else thread.is_alive())


def readfp(parser: Any, fp: Any, *args: Any) -> Any:
    """Read a configuration from a file."""
    return parser.read_file(fp, *args) if hasattr(parser, "read_file") else parser.readfp(fp, *args)
