"""Functions that the standard library has dropped or made stricter."""

from __future__ import annotations

import asyncio
import html
import importlib.util
import inspect
import math
import platform
import plistlib
import random
import ssl
import unittest
import warnings
from collections import namedtuple
from typing import Any

__all__ = [
    "factorial",
    "find_loader",
    "get_event_loop",
    "getargspec",
    "getiterator",
    "is_alive",
    "linux_distribution",
    "make_suite",
    "randint",
    "randrange",
    "read_plist",
    "readfp",
    "sample",
    "shuffle",
    "unescape",
    "wrap_socket",
    "write_plist",
]

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(func: object) -> ArgSpec:
    """Return args, varargs, keywords and defaults of a function."""
    spec = inspect.getfullargspec(func)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def linux_distribution(*args: object, **kwargs: object) -> tuple[str, str, str]:
    """Return the name, version and code name of the system."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "", "", ""
    return release.get("NAME", ""), release.get("VERSION_ID", ""), release.get("VERSION_CODENAME", "")


def sample(population: Any, k: int, **kwargs: Any) -> list[Any]:
    """Return k elements of a population, which may be a set."""
    return random.sample(tuple(population) if isinstance(population, (set, frozenset)) else population, k, **kwargs)


def shuffle(x: Any, random: Any) -> None:
    """Shuffle a list with a function that returns numbers below 1."""
    for i in reversed(range(1, len(x))):
        j = int(random() * (i + 1))
        x[i], x[j] = x[j], x[i]


def _whole(value: object) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def randint(a: object, b: object) -> int:
    """Return a random integer in [a, b]; the ends may be whole floats."""
    return random.randint(_whole(a), _whole(b))


def randrange(*args: object) -> int:
    """Return a random integer from a range; the ends may be whole floats."""
    return random.randrange(*map(_whole, args))


def is_alive(thread: Any) -> bool:
    """Return whether a thread or a process is alive."""
    return bool(thread.isAlive() if hasattr(thread, "isAlive") else thread.is_alive())


def readfp(parser: Any, fp: Any, *args: Any) -> Any:
    """Read a configuration from a file."""
    return parser.read_file(fp, *args) if hasattr(parser, "read_file") else parser.readfp(fp, *args)


def getiterator(element: Any, *args: Any) -> Any:
    """Return the elements below an element of XML."""
    if hasattr(element, "getiterator"):
        return element.getiterator(*args)
    return list(element.iter(*args))


def unescape(parser: Any, *args: Any, **kwargs: Any) -> Any:
    """Return parser.unescape(text), which was a method of HTMLParser."""
    return parser.unescape(*args, **kwargs) if hasattr(parser, "unescape") else html.unescape(*args, **kwargs)


def factorial(x: object) -> int:
    """Return math.factorial(x); x may be a whole float."""
    return math.factorial(_whole(x))


def find_loader(name: str, path: object = None) -> Any:
    """Return the loader of a module, or None."""
    spec = importlib.util.find_spec(name)
    return spec.loader if spec is not None else None


def get_event_loop() -> Any:
    """Return the event loop of the thread, created if needed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return asyncio.get_event_loop()
        except RuntimeError:
            loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop


def read_plist(path_or_file: Any) -> Any:
    """Return the content of a property list."""
    if hasattr(path_or_file, "read"):
        return plistlib.load(path_or_file)
    with open(path_or_file, "rb") as file:
        return plistlib.load(file)


def write_plist(value: Any, path_or_file: Any) -> None:
    """Write a property list."""
    if hasattr(path_or_file, "write"):
        plistlib.dump(value, path_or_file)
        return
    with open(path_or_file, "wb") as file:
        plistlib.dump(value, file)


def make_suite(testCaseClass: Any, prefix: str = "test", **kwargs: Any) -> Any:
    """Return the suite of a test case."""
    loader = unittest.TestLoader()
    loader.testMethodPrefix = prefix
    return loader.loadTestsFromTestCase(testCaseClass)


def wrap_socket(sock: Any, keyfile: Any = None, certfile: Any = None, server_side: bool = False, **kwargs: Any) -> Any:
    """Return an encrypted socket; certificates are checked."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH if server_side else ssl.Purpose.SERVER_AUTH)
    if certfile:
        context.load_cert_chain(certfile, keyfile)
    return context.wrap_socket(sock, server_side=server_side)
