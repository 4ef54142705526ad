"""Shard sets: `PREFIX-00000-of-00002`, ... belong together; a set that is mixed or incomplete is not read.

The second number is the last index. (In names of other formats it may be the number of files.)
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from fluidio.errors import RecordIOError

__all__ = ["Shard", "check_matches", "check_names", "file_name", "incomplete", "shard_name", "shard_of"]

_SHARD = re.compile(r"(?P<prefix>.*)-(?P<index>\d{5,6})-of-(?P<last>\d{5,6})(?P<suffix>(\.\w+)*)", re.DOTALL)
_COUNTED = (".tfrecord", ".tfrecords", ".parquet", ".arrow", ".tar", ".npz", ".array_record")


@dataclass(frozen=True)
class Shard:
    """The parts of a shard's name."""

    prefix: str
    index: int
    last: int
    suffix: str


def shard_name(prefix: str, index: int, count: int) -> str:
    """Return `prefix-aaaaa-of-bbbbb`, where bbbbb is the last index: the name of shard `index` of `count`."""
    return f"{prefix}-{index:05d}-of-{count - 1:05d}"


def shard_of(path: str) -> Shard | None:
    """Parse the name of a shard; None if it is not one."""
    found = _SHARD.fullmatch(path)
    if found is None:
        return None
    return Shard(found["prefix"], int(found["index"]), int(found["last"]), found["suffix"])


def check_matches(
    paths: Iterable[str],
    pattern: str,
    listed: Callable[[str], Collection[str]] = lambda _: (),
    is_ours: Callable[[str], bool] = lambda _: False,
) -> None:
    """Raise if a glob's matches are not exactly one complete set for each prefix.

    Only shards that the glob would match can be missing: `x-0000[0-3]-of-*` requests four of them.

    Args:
        listed: returns the names in the manifest of a prefix; called if names alone do not determine the number of
        files.
        is_ours: returns whether fluidio wrote a file, so that the second number in its name is the last index.
    """
    for (prefix, suffix), shards in _grouped(paths).items():
        _refuse_mixed(prefix, suffix, shards)
        last = shards[0].last
        there = {shard.index for shard in shards}
        count = last + 1
        if suffix.endswith(_COUNTED) and last and last not in there:
            final = file_name(f"{prefix}-{last:05d}-of-{last:05d}{suffix}")
            first = f"{prefix}-{shards[0].index:05d}-of-{last:05d}{suffix}"
            count = last + 1 if final in listed(prefix) or is_ours(first) else last
        names = (f"{prefix}-{i:05d}-of-{last:05d}{suffix}" for i in range(count) if i not in there)
        missing = next((name for name in names if _would_match(name, pattern)), None)
        if missing is not None:
            raise RecordIOError(
                f"only {len(there)} of {count} shards are there; {missing} is missing",
                path=pattern,
                hint="make or copy the set again, or name the files that you want one by one",
            )


def check_names(paths: Iterable[str]) -> None:
    """Refuse a list of names that mixes sets of one prefix; a part of a set may be named."""
    for (prefix, suffix), shards in _grouped(paths).items():
        _refuse_mixed(prefix, suffix, shards)


def incomplete(paths: Iterable[str], exists: Callable[[str], bool]) -> Iterator[tuple[str, int, int]]:
    """Yield (first missing shard, shards given, shards of the set) for sets that a shell's glob found incomplete.

    Several shards are given, all that exist; who names only some of them wants only those.
    """
    for (prefix, suffix), shards in _grouped(paths).items():
        there, last = {shard.index for shard in shards}, shards[0].last
        count = last if suffix.endswith(_COUNTED) and last not in there else last + 1
        missing = [f"{prefix}-{i:05d}-of-{last:05d}{suffix}" for i in range(count) if i not in there]
        if len(there) > 1 and missing and not any(map(exists, missing)):
            yield missing[0], len(there), count


def _grouped(paths: Iterable[str]) -> dict[tuple[str, str], list[Shard]]:
    groups: dict[tuple[str, str], list[Shard]] = {}
    for shard in map(shard_of, paths):
        if shard is not None:
            groups.setdefault((shard.prefix, shard.suffix), []).append(shard)
    return groups


def _refuse_mixed(prefix: str, suffix: str, shards: list[Shard]) -> None:
    lasts = sorted({shard.last for shard in shards})
    if len(lasts) > 1:
        sets = " and ".join(f"{prefix}-*-of-{last:05d}{suffix}" for last in lasts)
        raise RecordIOError(
            f"these are files of {len(lasts)} shard sets, so records may appear twice: {sets}",
            hint="name the one that you want, and remove the other",
        )


def _would_match(path: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(file_name(path), file_name(pattern))


def file_name(path: str) -> str:
    """Return the last part of a path or URL."""
    return path.replace("\\", "/").rpartition("/")[2]
