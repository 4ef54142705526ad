"""Template modules: `task_number()` says how many tasks there are, `dict_data(task_id)` yields the rows of one."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
import threading
import types
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fluidio.errors import ConversionError

__all__ = ["Template", "find", "load"]


@dataclass(frozen=True)
class Template:
    """The origin of a template, in a form that can be sent to other machines.

    Attributes:
        name: the script's path or the module's name.
        source: the text of the script; "" for a module, which workers import themselves.
        args: the template's sys.argv[1:].
        digest: SHA-256 of the text.
        run: a unique number for each conversion, so that a template's state does not outlive it.
    """

    name: str
    source: str
    args: tuple[str, ...]
    digest: str
    run: str


@dataclass(frozen=True)
class Functions:
    """The functions of a template."""

    task_number: Callable[[], int]
    dict_data: Callable[[int], Iterable[Mapping[str, Any]]]
    schema: Mapping[str, Any] | None
    task_name: Callable[[int], str] | None = None
    """The name of a task in error texts, if it has one: the file it reads."""


def find(script_or_module: str, args: Iterable[str] = ()) -> Template:
    """Return the template in a file, in a folder with `mr_api.py` (as MindRecord had it), or in a module."""
    path = script_or_module
    if os.path.isdir(path):
        path = os.path.join(path, "mr_api.py")
    if os.path.isfile(path):
        if os.path.splitext(path)[1] not in (".py", ""):
            raise ConversionError(
                f"{path} is not a template: the name of one ends with .py. Parquet, Arrow, CSV and JSON lines "
                "(.jsonl) need none; `fluidio export` reads npz, TFRecord, WebDataset and MXNet's .rec"
            )
        with open(path, encoding="utf-8") as file:
            source = file.read()
        digest = hashlib.sha256(source.encode()).hexdigest()
        return Template(os.path.abspath(path), source, tuple(args), digest, uuid.uuid4().hex)
    if path.endswith(".py") or os.sep in path:
        raise FileNotFoundError(
            f"there is no template {path}; `fluidio convert --init imagenet DIR` creates one to edit"
        )
    with _path_of("."):
        try:
            spec = importlib.util.find_spec(path)
        except ModuleNotFoundError:
            spec = None
    if spec is None or not spec.origin or not os.path.isfile(spec.origin):
        raise FileNotFoundError(f"there is neither a file nor a module {path}")
    with open(spec.origin, "rb") as origin:
        return Template(path, "", tuple(args), hashlib.sha256(origin.read()).hexdigest(), uuid.uuid4().hex)


_loaded: dict[Template, Functions] = {}
_loading = threading.RLock()


@contextlib.contextmanager
def running(template: Template) -> Iterator[Functions]:
    """Load a template (once in a process) and let it see its own arguments in `sys.argv`."""
    with _arguments(template):
        with _loading:
            functions = _loaded.get(template)
            if functions is None:
                _loaded.clear()
                functions = _loaded[template] = load(template)
        yield functions


def load(template: Template) -> Functions:
    """Run the module of a template and return its functions.

    Raises:
        ConversionError: it lacks a function, or fails.
    """
    try:
        with _path_of(os.path.dirname(template.name) if template.source else "."):
            module = _module(template)
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConversionError(f"{template.name}: the template cannot be loaded: {problem}") from error
    return Functions(
        _function(template, module, "task_number"),
        _function(template, module, "dict_data"),
        getattr(module, "SCHEMA", None),
        getattr(module, "task_name", None),
    )


def _module(template: Template) -> types.ModuleType:
    if not template.source:
        return importlib.import_module(template.name)
    module = types.ModuleType(f"fluidio_template_{template.digest[:12]}")
    module.__file__ = template.name
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    exec(compile(template.source, template.name, "exec"), module.__dict__)
    return module


def _function(template: Template, module: types.ModuleType, name: str) -> Callable[..., Any]:
    found = getattr(module, name, None) or getattr(module, f"mindrecord_{name}", None)
    if not callable(found):
        raise ConversionError(
            f"{template.name}: a template needs the functions task_number() and dict_data(task_id), but "
            f"{name} is missing"
        )
    function: Callable[..., Any] = found
    return function


_users: list[list[str]] = []  # the argv of every thread that runs a template, after the process's own


@contextlib.contextmanager
def _arguments(template: Template) -> Iterator[None]:
    """Set a template's arguments; with several threads, the last one to leave restores the old ones."""
    with _loading:
        if not _users:
            _users.append(sys.argv)
        ours = [template.name, *template.args]
        _users.append(ours)
        sys.argv = ours
    try:
        yield
    finally:
        with _loading:
            _users.remove(ours)
            sys.argv = _users[-1]
            if len(_users) == 1:
                _users.clear()


@contextlib.contextmanager
def _path_of(folder: str) -> Iterator[None]:
    """Let a template import modules from its folder."""
    added = os.path.abspath(folder)
    sys.path.insert(0, added)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(added)
