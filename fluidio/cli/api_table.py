"""Judge every API that legacy programs use: works, differs (with the reason) or raises (with what to do)."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any

from fluidio.cli.api_notes import DIFFERS, METHODS, RAISES
from fluidio.errors import NotHere
from fluidio.names.find import missing, names_here
from fluidio.names.modules_here import MadeModule
from fluidio.paddle.verdicts import resolve

__all__ = ["PHASES", "Api", "judge", "legacy_apis", "table"]

PHASES = {
    "1": "RecordIO programs",
    "2": "the book",
    "3": "reader programs to 80 %",
    "4": "reader programs to 95 %",
    "5": "all programs to 90 %",
    "t": "thin",
    "-": "seldom used",
}


@dataclass(slots=True)
class Api:
    """One name: its phase, the keywords that programs pass to it, and the verdict."""

    name: str
    phase: str
    keywords: list[str] = field(default_factory=list)
    status: str = ""
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def legacy_apis() -> list[Api]:
    """Return the names that legacy programs use, most wanted first."""
    text = resources.files("fluidio.cli").joinpath("apis.txt").read_text("utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [Api(words[1], words[0], words[2:]) for words in lines]


def table() -> list[Api]:
    """Return all names with their verdicts."""
    return [judge(api) for api in legacy_apis()]


def judge(api: Api) -> Api:
    """Fill in status and note."""
    if api.name in RAISES:
        api.status, api.note = "raises", RAISES[api.name]
        return api
    try:
        found = resolve(METHODS.get(api.name, api.name).removesuffix(".*"))
        _refuse_empty(found)
    except (AttributeError, ImportError, NotImplementedError) as error:
        api.status, api.note = "raises", _missing(api.name, error)
        return api
    reasons = [DIFFERS.get(api.name) or _difference(found), _unknown_keywords(found, api.keywords)]
    api.note = "; ".join(reason for reason in reasons if reason)
    api.status = "differs" if api.note else "works"
    return api


def _refuse_empty(found: object) -> None:
    """Raise the advice for a module of Fluid that can be imported but defines no name here."""
    if isinstance(found, MadeModule) and not names_here(found.key):
        raise missing(*found.key.rsplit(".", 1))


def _missing(name: str, error: Exception) -> str:
    parts = name.split(".")
    if parts[0] == "paddle" and parts[1] not in ("fluid", "v2", "dataset", "reader", "batch"):
        return "Paddle 2.x, not Fluid"
    if isinstance(error, NotHere):
        return error.instead
    return str(error) if isinstance(error, NotImplementedError) else "not here"


def _difference(found: object) -> str:
    """Return the "Fluid: ..." paragraph of a docstring (or of the constructor's), which describes the difference."""
    for source in (found, getattr(found, "__init__", None)):
        paragraphs = (inspect.getdoc(source) or "").split("\n\n") if source is not None else []
        for paragraph in paragraphs:
            if paragraph.startswith("Fluid:"):
                return " ".join(paragraph.removeprefix("Fluid:").split())
    return ""


def _unknown_keywords(found: Any, keywords: list[str]) -> str:
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return ""
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return ""
    unknown = [word for word in keywords if word not in parameters]
    return f"unknown here: {', '.join(unknown)}" if unknown else ""
