"""Unique names: `fc_0`, `fc_1`, `fc_0.w_0`; the counters determine the names of saved parameters."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from fluidio.current import Current
from fluidio.era import era

__all__ = ["UniqueNameGenerator", "generate", "guard", "switch"]


_counting = threading.Lock()


class UniqueNameGenerator:
    """Counters by key, with an optional prefix."""

    def __init__(self, prefix: str | None = None) -> None:
        self.prefix = prefix or ""
        self.ids: defaultdict[str, int] = defaultdict(int)

    def __call__(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"unique_name: a name is made from a str, got {type(key).__name__} {key!r}")
        with _counting:  # two threads must not get the same number
            number = self.ids[key]
            self.ids[key] += 1
        return f"{self.prefix}{key}_{number}"


_current = Current(UniqueNameGenerator())


def __getattr__(name: str) -> Any:
    if name == "generator":  # Fluid: the generator in use
        return _current.get()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def generate(key: str) -> str:
    """Return `key_N` with N counting up for each key."""
    return _current.get()(key)


def generate_with_ignorable_key(key: str) -> str:
    """Return a name whose key may change between versions (Fluid 1.8's name for temporaries)."""
    return _current.get()(key)


class DygraphParameterNameChecker:
    """Fluid: records parameter names in imperative mode, which does not exist here, so it records nothing."""


def switch(new_generator: Any = None, new_para_name_checker: Any = None) -> Any:
    """Install a generator (a fresh one by default) and return the old one.

    Fluid: 1.8 returns a pair, the generator and a checker of imperative mode; both forms are accepted.
    """
    old = _current.switch(_generator(new_generator))
    return (old, DygraphParameterNameChecker()) if era().name == "1.8" else old


def _generator(given: Any) -> UniqueNameGenerator:
    found: UniqueNameGenerator | None = given[0] if isinstance(given, tuple) else given
    return found or UniqueNameGenerator()


@contextlib.contextmanager
def guard(new_generator: UniqueNameGenerator | str | bytes | None = None) -> Iterator[None]:
    """Count from 0 inside the block; a string becomes the prefix of all names made there."""
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if isinstance(new_generator, str):
        new_generator = UniqueNameGenerator(new_generator)
    with _current.guard(_generator(new_generator)):
        yield
