"""Put new files into place together with the descriptions beside them: manifests and slots."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from fluidio.conversion import storage
from fluidio.conversion.new_set import refuse_strangers, shard_entry, sole_makers, write_manifest
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import MANIFEST, SLOTS, read_manifest
from fluidio.recordio.files.part_files import temporary_folder
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.source import is_url

__all__ = ["notes_beside", "place", "staging"]


@contextlib.contextmanager
def staging(targets: Sequence[str]) -> Iterator[list[str]]:
    """Yield where to write new files that `place` puts into place together: in a hidden folder beside their targets.

    A store gets each file as soon as it is complete; older shards of the same names are removed before.

    Raises:
        ConversionError: another process is making such a set, or there are shards of another one that no manifest
            lists.
    """
    with sole_makers(targets):
        refuse_strangers(targets)
        if not targets or is_url(targets[0]):
            _remove_shards(targets)
            yield list(targets)
            return
        with temporary_folder(storage.parent(targets[0])) as folder:
            yield [os.path.join(folder, storage.name_of(target)) for target in targets]


def place(staged: Sequence[str], targets: Sequence[str], counts: Sequence[int], slots: Sequence[Field] | None) -> None:
    """Put complete files into place, with the manifests of shards and the slots of all of them beside them.

    Shards of the same format that an earlier manifest lists are removed first, so that a killed process leaves an
    incomplete set, never a mixed one.
    """
    sizes = [storage.size(path) for path in staged]
    sets: dict[str, list[dict[str, Any]]] = {}
    for path, count, size in zip(targets, counts, sizes):
        shard = shard_of(path)
        if shard is not None:
            sets.setdefault(shard.prefix, []).append(shard_entry(path, count, size))
    if list(staged) != list(targets):
        _remove_shards(targets)
    for prefix, shards in sets.items():
        others = _others(prefix, [shard["name"] for shard in shards])
        manifest = {"records": sum(shard["records"] for shard in shards), "slots": schema.to_json(slots or [])}
        write_manifest(prefix, {**manifest, "shards": shards + others})
    for folder in {storage.parent(path) for path in targets} if slots else ():
        storage.write(storage.join(folder, SLOTS), json.dumps(schema.to_json(slots or []), indent=1).encode())
    for path, target in zip(staged, targets):
        if path != target:
            os.replace(path, target)


def _remove_shards(targets: Sequence[str]) -> None:
    for target in targets:
        if shard_of(target) is not None:
            storage.remove(target)


def _others(prefix: str, names: list[str]) -> list[dict[str, Any]]:
    """Return a manifest's entries in other formats; remove its files in this format that are not in `names`."""
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
    """Return the manifests and slot lists beside some files."""
    found: dict[str, None] = {}
    for path in paths:
        shard = shard_of(path)
        found[shard.prefix + MANIFEST if shard else storage.join(storage.parent(path), SLOTS)] = None
    return [path for path in found if path not in paths and storage.exists(path)]
