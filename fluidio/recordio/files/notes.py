"""Slot descriptions stored beside the data: names, types and kinds, in the manifest of a shard set or folder.

PREFIX.manifest.json   beside PREFIX-00000-of-..., with the shards
fluidio-slots.json     about all other files of its folder
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable
from typing import Any

from fluidio.errors import ConversionError, RecordIOError
from fluidio.recordio.files import schema
from fluidio.recordio.files.network import refusal
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import file_name, shard_of
from fluidio.recordio.files.source import is_url, opened
from fluidio.recordio.files.tasks import Task
from fluidio.regular import open_regular

__all__ = ["MANIFEST", "SLOTS", "read_manifest", "shard_noted", "sizes_noted", "slots_beside", "slots_of"]

MANIFEST = ".manifest.json"
SLOTS = "fluidio-slots.json"


def read_manifest(output: str) -> dict[str, Any] | None:
    """Return the manifest of an output prefix, None when there is none.

    Raises:
        ConversionError: it is not a manifest.
    """
    path = output + MANIFEST
    found = _json(path)
    if found is not None and not isinstance(found, dict):
        raise ConversionError(f"{path} is not a manifest: it must hold an object, it holds a {type(found).__name__}")
    shards = (found or {}).get("shards", [])
    if not isinstance(shards, list):
        raise ConversionError(
            f"{path} is not a manifest: its shards must be a list, they are a {type(shards).__name__}"
        )
    for shard in shards:
        _check_name(shard, path)
    return found


def _check_name(shard: object, path: str) -> None:
    """Refuse a shard that is not a file beside its manifest: listed files are read, and replaced by the next set."""
    name = shard.get("name") if isinstance(shard, dict) else None
    if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\\0]", name):
        raise ConversionError(f"{path} is not a manifest: a shard must have a file name, this one is called {name!r}")


def shard_noted(path: str) -> dict[str, object]:
    """Return what the manifest of a shard says of it: `records`, `bytes`, `sha256`; {} if it says nothing."""
    shard = shard_of(path)
    manifest = read_manifest(shard.prefix) if shard is not None else None
    shards = (manifest or {}).get("shards", [])
    return next((dict(each) for each in shards if each["name"] == file_name(path)), {})


def sizes_noted(prefix: str) -> dict[str, int]:
    """Return the bytes of each shard by its name, as the manifest of a prefix says."""
    shards = (read_manifest(prefix) or {}).get("shards", [])
    return {shard["name"]: shard["bytes"] for shard in shards if type(shard.get("bytes")) is int}


def slots_beside(path: str) -> list[Field] | None:
    """Return the slots described beside a file; None if there is no description.

    Raises:
        RecordIOError: the network fails; it names the file that was asked about.
    """
    try:
        return _slots_beside(path)
    except RecordIOError as error:
        raise RecordIOError(error.problem, path=path, hint=error.hint) from error


def _slots_beside(path: str) -> list[Field] | None:
    shard = shard_of(path)
    if shard is not None:
        manifest = read_manifest(shard.prefix)
        if manifest is not None and manifest.get("slots"):
            return schema.from_json(manifest["slots"])
    folder = path.rpartition("/")[0] if is_url(path) else os.path.dirname(path)
    beside = _json(f"{folder}/{SLOTS}" if is_url(path) else os.path.join(folder, SLOTS))
    return schema.from_json(beside) if beside else None


def slots_of(paths: Iterable[object]) -> list[Field] | None:
    """Return the slots that describe all files, None if nothing does; each shard set is looked up once.

    If only some files have a description, or descriptions differ, a warning says so.
    """
    asked: dict[str, list[Field] | None] = {}
    for path in paths:
        path = path.path if isinstance(path, Task) else path
        if not isinstance(path, str):
            return None
        shard = shard_of(path)
        whose = shard.prefix if shard is not None else path
        if whose not in asked:
            asked[whose] = slots_beside(path)
    (first, noted), *others = asked.items() if asked else [("", None)]
    for other, found in others:
        both = None if noted is None or found is None else schema.of_both(noted, found)
        if both is None and (noted or found):
            what = "only one of them has a description" if noted is None or found is None else "descriptions differ"
            warnings.warn(f"{first} and {other}: {what}, so names and text of their slots are left out", stacklevel=3)
            return None
        noted = both
    return noted


def _json(path: str) -> Any:
    try:
        data = _bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        if not is_url(path) or not (refused := refusal(error)):
            raise
        if refused is not True and refused >= 500:
            warnings.warn(f"{error}: names and text that it may hold are left out", stacklevel=2)
        return None  # stores answer this way for missing files; the data itself will show
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        if path.startswith("http"):  # a page in place of a 404
            return None
        raise ConversionError(f"{path} is not JSON: {error}") from error


def _bytes(path: str) -> bytes:
    if is_url(path):
        with opened(path) as source:
            return bytes(source.read(0, source.size))
    with open_regular(path) as file:
        return file.read()
