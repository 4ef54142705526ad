"""Generate the stand-ins, once per user, and warn that they are not real data."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache

from fluidio.dataset.fake import pairs, pictures, tables, texts
from fluidio.dataset.fake.dice import Files

__all__ = ["make", "path"]

_MAKERS: dict[str, Callable[[], Files]] = {
    "cifar": pictures.cifar,
    "conll05st": pairs.conll05st,
    "corpora": texts.sentiment,
    "imdb": texts.imdb,
    "imikolov": texts.imikolov,
    "mnist": pictures.mnist,
    "movielens": tables.movielens,
    "uci_housing": tables.uci_housing,
    "wmt14": pairs.wmt14,
    "wmt16": pairs.wmt16,
}
_VERSION = "1"  # of the content: a change needs a new folder


def make(root: str, module_name: str) -> None:
    """Write the files of one data set under `root`, each atomically."""
    folder = os.path.join(root, module_name)
    os.makedirs(folder, exist_ok=True)
    for name, data in _MAKERS[module_name]().items():
        handle, part = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(part, os.path.join(folder, name))


def path(module_name: str, name: str) -> str:
    """Return the path of a generated file of a data set, generating it if it is missing."""
    name = name.split("%2F")[-1]
    if module_name not in _MAKERS:
        raise RuntimeError(
            f"there is no generated data for {module_name}, only for {', '.join(sorted(_MAKERS))}; "
            "without FLUIDIO_FAKE_DATA the real files are used"
        )
    wanted = os.path.join(_root(), module_name, name)
    if not os.path.exists(wanted):
        make(_root(), module_name)
    if not os.path.exists(wanted):
        raise RuntimeError(f"the generated data of {module_name} has no file {name}")
    _say(module_name)
    return wanted


@cache
def _root() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    root = os.path.join(home, "fluidio", f"fake-data-{_VERSION}")
    try:
        os.makedirs(root, exist_ok=True)
    except OSError:
        return tempfile.mkdtemp(prefix="fluidio-fake-data-")
    return root if os.access(root, os.W_OK) else tempfile.mkdtemp(prefix="fluidio-fake-data-")


@cache
def _say(module_name: str) -> None:
    print(f"fluidio: {module_name} is generated data, not the real one", file=sys.stderr)
