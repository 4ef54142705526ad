"""Pass on what is told beside the data: manifests and slots go where the records go."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fluidio.conversion import storage
from fluidio.conversion.new_set import write_manifest
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import MANIFEST, SLOTS, read_manifest
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import shard_of

__all__ = ["notes_beside", "tell"]


def tell(paths: Sequence[str], counts: Sequence[int], slots: Sequence[Field] | None) -> None:
    """Write the manifests of new shards, and the slots of all new files beside them.

    Shards of the same format that an earlier manifest lists and that are not among the new ones are removed.
    """
    sets: dict[str, list[tuple[str, int]]] = {}
    for path, count in zip(paths, counts):
        shard = shard_of(path)
        if shard is not None:
            sets.setdefault(shard.prefix, []).append((path, count))
        if slots:
            beside = storage.join(storage.parent(path), SLOTS)
            storage.write(beside, json.dumps(schema.to_json(slots), indent=1).encode())
    for prefix, made in sets.items():
        shards = [{"name": storage.name_of(path), "records": count} for path, count in made]
        others = _others(prefix, [storage.name_of(path) for path, _ in made])
        manifest = {"records": sum(count for _, count in made), "slots": schema.to_json(slots or [])}
        write_manifest(prefix, {**manifest, "shards": shards + others})


def _others(prefix: str, names: list[str]) -> list[dict[str, Any]]:
    """Return what a manifest lists in other formats; remove what it lists in this one and is not there any more."""
    made = {shard.suffix for shard in map(shard_of, names) if shard is not None}
    kept = []
    for entry in (read_manifest(prefix) or {}).get("shards", []):
        name = str(entry.get("name", "")) if isinstance(entry, dict) else ""
        shard = shard_of(name)
        if shard is None or shard.prefix != storage.name_of(prefix) or name in names:
            continue
        if shard.suffix in made:
            storage.remove(storage.join(storage.parent(prefix), name))
        else:
            kept.append(entry)
    return kept


def notes_beside(paths: Sequence[str]) -> list[str]:
    """Return the manifests and lists of slots that stand beside some files."""
    found: dict[str, None] = {}
    for path in paths:
        shard = shard_of(path)
        found[shard.prefix + MANIFEST if shard else storage.join(storage.parent(path), SLOTS)] = None
    return [path for path in found if path not in paths and storage.exists(path)]
