"""Turn what users call "paths" into a list of things to open: names, globs, URLs, file objects, ranges of records."""

from __future__ import annotations

import errno
import glob
import os
import warnings
from collections.abc import Iterable
from typing import Any

from fluidio.recordio.files import shard_sets
from fluidio.recordio.files.notes import read_manifest, sizes_noted, slots_beside
from fluidio.recordio.files.part_files import is_part
from fluidio.recordio.files.pipes import is_pipe, spooled
from fluidio.recordio.files.source import filesystem_of, is_url, opened
from fluidio.recordio.files.tasks import Task

__all__ = ["expand"]

_TAIL = 1 << 18
_NOTES = (".manifest.json", "fluidio-slots.json")


def expand(paths: Any, *, commas: bool = False, notes: bool = False, compare: bool = True) -> list[Any]:
    """Return the single files behind `paths`, globs in sorted order.

    Args:
        paths: a path, URL, glob, `-` (standard input), binary file object or Task, or a list of them.
        commas: a string may be a comma-separated list (as for pip `recordio` and `creator.recordio`).
        notes: globs also match manifests, which hold no records.
        compare: warn of shards that do not have the size that their manifest says.

    Raises:
        FileNotFoundError: a glob matches nothing.
        RecordIOError: a glob matches an incomplete shard set, or shards of several sets with one prefix.
    """
    if isinstance(paths, str) and commas and not os.path.exists(paths):
        paths = [part.strip() for part in paths.split(",") if part]
    if isinstance(paths, (str, os.PathLike, Task)) or hasattr(paths, "read"):
        paths = [paths]
    if not isinstance(paths, Iterable):
        raise TypeError(f"expected a path or a list of paths, got {type(paths).__name__}")
    parts = list(paths)
    sizes: dict[str, int] = {}
    found = [_expand_one(part, notes, sizes) for part in parts]
    if not notes and any(
        not _is_note(name) for names in found for name in names
    ):  # a shell's globs match notes as well
        found = [[name for name in names if not _is_note(name)] for names in found]
    named = [name for part, names in zip(parts, found) if _is_named(part, names) for name in names]
    shard_sets.check_names(named)
    for missing, given, count in shard_sets.incomplete(
        (os.fspath(name) for name in named if not is_url(name)), os.path.exists
    ):
        warnings.warn(f"{given} of {count} shards are given, and {missing} is not there", stacklevel=3)
    together = [name for names in found for name in names]
    if compare:
        _tell_changes((name for name in together if isinstance(name, str)), sizes)
    return together


def _is_note(name: Any) -> bool:
    return isinstance(name, str) and name.endswith(_NOTES)


def _is_named(part: object, names: list[Any]) -> bool:
    """Return whether a path is a file's own name, not a glob."""
    return isinstance(part, (str, os.PathLike)) and names == [os.fspath(part)]


def _tell_changes(paths: Iterable[str], sizes: dict[str, int]) -> None:
    """Warn of shards that were cut, continued or replaced since their manifest was written.

    Args:
        sizes: those of files in stores, where they are known; nobody is asked for others.
    """
    noted: dict[str, dict[str, int]] = {}
    changed = []
    for path in paths:
        shard = shard_sets.shard_of(path)
        if shard is None or (is_url(path) and path not in sizes):
            continue
        if shard.prefix not in noted:
            noted[shard.prefix] = sizes_noted(shard.prefix)
        wanted = noted[shard.prefix].get(shard_sets.file_name(path))
        if wanted is None or (not is_url(path) and not os.path.exists(path)):
            continue
        size = sizes[path] if is_url(path) else os.path.getsize(path)
        if size != wanted:
            changed.append(f"{path} has {size} bytes and {wanted} in its manifest")
    if changed:
        others = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        warnings.warn(
            f"{changed[0]}{others}: the file was cut, continued or replaced since the set was written; "
            "`fluidio check` tells more",
            stacklevel=4,
        )


def _expand_one(path: Any, notes: bool, sizes: dict[str, int]) -> list[Any]:
    if not isinstance(path, (str, os.PathLike)):
        return [path]
    name = os.fspath(path)
    if not is_url(name) and is_pipe(name):
        return [spooled(name)]
    if not glob.has_magic(name) or (not is_url(name) and os.path.exists(name)):
        _refuse_prefix(name)
        return [name]
    if is_url(name):
        filesystem, inner = filesystem_of(name)
        details = filesystem.glob(inner, detail=True)
        told = {filesystem.unstrip_protocol(match): info.get("size") for match, info in details.items()}
        sizes.update((match, size) for match, size in told.items() if size is not None)
        matches = list(told)
    else:
        matches = glob.glob(name)
        if not matches and glob.glob(as_written := name.replace("[", "[[]")):  # brackets that are part of a name
            name, matches = as_written, glob.glob(as_written)
    found = sorted(match for match in matches if _is_whole(match, name) and (notes or not _is_note(match)))
    if not found:
        raise FileNotFoundError(f"no file matches {name!r}")
    shard_sets.check_matches(found, name, _listed, _is_ours)
    return found


def _refuse_prefix(name: str) -> None:
    """Raise if a file is not there, but shards are for which it is the prefix."""
    if is_url(name) or os.path.exists(name):
        return
    if any(shard_sets.shard_of(path) for path in glob.glob(f"{glob.escape(name)}-*-of-*")):
        raise FileNotFoundError(errno.ENOENT, f"there is no such file; its shards are {name}-*-of-*", name)


def _listed(prefix: str) -> list[str]:
    """Return the names of files that the manifest of a prefix lists."""
    shards = (read_manifest(prefix) or {}).get("shards", [])
    return [str(shard.get("name", "")) for shard in shards if isinstance(shard, dict)]


def _is_ours(path: str) -> bool:
    """Return whether a file of another format was exported by fluidio: it has slot descriptions in or beside it."""
    try:
        with opened(path) as source:
            end = source.read(max(0, source.size - _TAIL), _TAIL)
    except OSError:
        return False  # the reader reports the problem
    return b'"lod_level"' in end or b"__slots__.npy" in end or slots_beside(path) is not None


def _is_whole(path: str, pattern: str) -> bool:
    """Return whether a match is a finished file, and not a hidden one (some stores' globs match those)."""
    name = path.replace(os.sep, "/").rpartition("/")[2]
    if name.startswith(".") and not pattern.replace(os.sep, "/").rpartition("/")[2].startswith("."):
        return False
    return not is_part(name)
