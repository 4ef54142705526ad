"""What is told beside the data: names, types and kinds of slots, in the manifest of a shard set or of a folder.

PREFIX.manifest.json   beside PREFIX-00000-of-..., with the shards
fluidio-slots.json     about all other files of its folder
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any

from fluidio.errors import ConversionError
from fluidio.recordio.files import schema
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.source import is_url, opened
from fluidio.recordio.files.tasks import Task

__all__ = ["MANIFEST", "SLOTS", "read_manifest", "slots_beside", "slots_of"]

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
        raise ConversionError(f"{path}: not a manifest: a {type(found).__name__}, an object is expected")
    for shard in (found or {}).get("shards", []):
        _check_name(shard, path)
    return found


def _check_name(shard: object, path: str) -> None:
    """Refuse a shard that is no file beside its manifest: what it names is read, and replaced by the next set."""
    name = shard.get("name") if isinstance(shard, dict) else None
    if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\\0]", name):
        raise ConversionError(f"{path}: not a manifest: a shard is called {name!r}, a file's name is expected")


def slots_beside(path: str) -> list[Field] | None:
    """Return the slots that are told beside a file, None when nobody tells them."""
    shard = shard_of(path)
    if shard is not None:
        manifest = read_manifest(shard.prefix)
        if manifest is not None and manifest.get("slots"):
            return schema.from_json(manifest["slots"])
    folder = path.rpartition("/")[0] if is_url(path) else os.path.dirname(path)
    beside = _json(f"{folder}/{SLOTS}" if is_url(path) else os.path.join(folder, SLOTS))
    return schema.from_json(beside) if beside else None


def slots_of(paths: Iterable[object]) -> list[Field] | None:
    """Return the slots that are told of all files alike, None when they are not; a shard set is asked once."""
    asked: set[str] = set()
    noted: list[Field] | None = None
    for path in paths:
        path = path.path if isinstance(path, Task) else path
        if not isinstance(path, str):
            return None
        shard = shard_of(path)
        whose = shard.prefix if shard is not None else path
        if whose in asked:
            continue
        found = slots_beside(path)
        if found is None or (asked and found != noted):
            return None
        asked.add(whose)
        noted = found
    return noted


def _json(path: str) -> Any:
    try:
        with opened(path) as source:
            data = source.read(0, source.size)
    except FileNotFoundError:
        return None
    except OSError:
        if is_url(path):  # stores answer so about what is not there; the data itself will tell
            return None
        raise
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        if path.startswith("http"):  # a page in place of a 404
            return None
        raise ConversionError(f"{path}: not JSON: {error}") from error
