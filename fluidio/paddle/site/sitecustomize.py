"""Loaded by Pythons that a script under `fluidio run` starts: they see fluidio as paddle, too.

A Python that is about to run one of the user's scripts becomes `fluidio run SCRIPT`, so that the script gets the time
capsule as well. Only a few lines run at startup; fluidio is imported on demand.
"""

import importlib.machinery
import os
import sys
from typing import Any

_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class _Waiting:
    """Install the real hooks at the first import of paddle, recordio or one of the user's own modules."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        root = fullname.partition(".")[0]
        if root == "fluidio" or not (root in ("paddle", "recordio") or _is_users(fullname, path)):
            return None
        sys.meta_path.remove(self)
        from fluidio.paddle.child import install

        install()
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


def _is_users(fullname: str, path: Any) -> bool:
    """Return whether a module is a source file outside Python and installed packages."""
    spec = importlib.machinery.PathFinder.find_spec(fullname, path)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return False
    return _is_users_file(spec.origin)


def _is_users_file(path: str) -> bool:
    real = os.path.realpath(path)
    apart = (os.path.realpath(os.path.dirname(os.__file__)) + os.sep, os.path.realpath(_HOME) + os.sep)
    return "site-packages" not in real and "dist-packages" not in real and not real.startswith(apart)


def _as_fluidio_run(words: list[str]) -> list[str]:
    """Return the command that runs the user's script through `fluidio run`; [] if this Python runs something else."""
    place = 1
    while place < len(words) and words[place].startswith("-"):
        if words[place] in ("-", "-c", "-m") or words[place][:2] in ("-c", "-m"):
            return []
        place += 2 if words[place] in _WITH_VALUE else 1
    if place >= len(words) or not words[place].endswith(".py") or not _is_users_file(words[place]):
        return []
    return [sys.executable, *words[1:place], "-m", "fluidio", "run", *words[place:]]


def _is_worker(words: list[str]) -> bool:
    """Return whether multiprocessing started this Python (spawn, forkserver)."""
    return "-c" in words and any(word.startswith("from multiprocessing.") for word in words)


def _load_main_through_fluidio() -> None:
    """Let a worker load the user's main script as `fluidio run` does."""
    import multiprocessing.spawn as spawn

    plain = getattr(spawn, "_fixup_main_from_path")  # noqa: B009

    def load(main_path: str) -> None:
        if not _is_users_file(main_path):
            plain(main_path)
            return
        from fluidio.paddle.child import install
        from fluidio.paddle.runner import load_worker_main

        install()
        load_worker_main(main_path)

    setattr(spawn, "_fixup_main_from_path", load)  # noqa: B010  (it is not public)


os.environ.setdefault("FLUIDIO_RUN", "1")  # a script that clears the environment of its children keeps the path
if os.environ["FLUIDIO_RUN"]:
    if _is_worker(sys.orig_argv):
        _load_main_through_fluidio()
    _command = _as_fluidio_run(sys.orig_argv) if os.name == "posix" else []
    if _command:
        os.execv(_command[0], _command)
    sys.meta_path.insert(0, _Waiting())

# Another sitecustomize further down the path still runs.
_here = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != _here]
)
if _spec is not None and _spec.loader is not None:
    import importlib.util

    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))
