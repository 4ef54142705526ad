"""Store the index of a file beside it, and trust it only where it matches the data.

The sidecar `.NAME.index` holds the size and the identity of the data (its time on a disk, its ETag in a store), the
places of its chunks and a checksum of itself. It is rebuilt if any of these, or a header, does not match. If it cannot
be written there it goes to the user's cache (`~/.cache/fluidio`), and is omitted if that fails too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import zlib

import numpy as np

from fluidio.recordio.files.index import ChunkIndex, build_index
from fluidio.recordio.files.part_files import hidden_name, writing_whole
from fluidio.recordio.files.source import LocalSource, RemoteSource, filesystem_of, is_url, opened
from fluidio.recordio.files.walk import Walk
from fluidio.recordio.format.checksum import crc32
from fluidio.recordio.format.chunks import OnError
from fluidio.recordio.format.dialects import HEADER_SIZE, MAGIC, dialect_of
from fluidio.regular import open_regular

__all__ = ["open_index", "put_index", "read_sidecar", "sidecar_path", "write_sidecar"]

_WORTH_IT = 4096  # chunks; hopping over fewer on a disk takes milliseconds
_WORTH_IT_REMOTE = 1 << 16  # bytes; less is one small request
_MAGIC = b"fluidio-index-2\n"


def open_index(
    what: object, *, on_error: OnError = "raise", sidecar: bool | None = None, partial: bool = False
) -> ChunkIndex:
    """Return the index of a file, from its sidecar if that is valid, else by reading headers.

    Args:
        on_error, partial: as in `build_index`.
        sidecar: True writes one, False neither reads nor writes, None (default) reads, and writes if worthwhile.
    """
    if not isinstance(what, (str, os.PathLike, RemoteSource)):
        return build_index(what, on_error=on_error, partial=partial)
    with opened(what) as source:
        if not isinstance(source, (LocalSource, RemoteSource)):
            return build_index(source, on_error=on_error, partial=partial)
        index = read_sidecar(source) if sidecar is not False else None
        if index is not None:
            return index
        remote = isinstance(source, RemoteSource)
        index = build_index(Walk(source) if remote else source, on_error=on_error, partial=partial)
        pays = source.size >= _WORTH_IT_REMOTE if remote else index.num_chunks >= _WORTH_IT
        if sidecar or (sidecar is None and pays):
            write_sidecar(source, index)
    return index


def sidecar_path(path: str | os.PathLike[str]) -> str:
    """Return the sidecar's name; it begins with a dot, so that globs over the data do not find it."""
    name = os.fspath(path)
    if is_url(name):
        folder, _, last = name.rpartition("/")
        return f"{folder}/.{last}.index"
    folder, last = os.path.split(name)
    return os.path.join(folder, hidden_name(last, ".index"))


def write_sidecar(source: LocalSource | RemoteSource, index: ChunkIndex) -> None:
    """Store an index atomically, beside the data or in the cache; do nothing for a damaged file."""
    if index.problem is not None or index.dialect is None:
        return
    data = _packed(index, source.size, _identity(source))
    try:
        _put(sidecar_path(source.name), data)
    except (OSError, NotImplementedError, ValueError):  # not writable
        if isinstance(source, RemoteSource):
            with contextlib.suppress(OSError):  # the index is only a cache
                path = _cached(source.name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                _put(path, data)


def put_index(path: str, index: ChunkIndex) -> None:
    """Put a writer's index beside its file in a store; do nothing if that fails."""
    with contextlib.suppress(OSError), opened(path) as source:
        if isinstance(source, RemoteSource) and source.size >= _WORTH_IT_REMOTE:
            write_sidecar(source, index)


def read_sidecar(source: LocalSource | RemoteSource) -> ChunkIndex | None:
    """Return the stored index if it exists and matches the file, else None."""
    places = [sidecar_path(source.name)]
    if isinstance(source, RemoteSource):
        if source.size < _WORTH_IT_REMOTE:
            return None
        places.insert(0, _cached(source.name))
    for place in places:
        try:
            index = _parse(_get(place, 4096 + source.size // 32), source)
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, struct.error, zlib.error):
            continue
        if index is not None:
            return index
    return None


def _identity(source: LocalSource | RemoteSource) -> str:
    if isinstance(source, RemoteSource):
        return source.identity
    return f"mtime {os.fstat(source.fileno()).st_mtime_ns}"


def _cached(url: str) -> str:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "fluidio", "index", hashlib.sha256(url.encode()).hexdigest())


def _get(path: str, limit: int) -> bytes:
    """Return an index file's bytes, reading at most `limit` in case it is something else."""
    if is_url(path):
        filesystem, inner = filesystem_of(path)
        return bytes(filesystem.cat_file(inner, start=0, end=limit))
    with open_regular(path) as file:
        return file.read(64 * limit)


def _put(path: str, data: bytes) -> None:
    if path.startswith("http"):
        raise NotImplementedError("fluidio cannot write to web servers")
    if is_url(path):
        filesystem, inner = filesystem_of(path)
        filesystem.pipe_file(inner, data)
        return
    with writing_whole(path, sync=lambda _: None) as file:
        file.write(data)


# -- bytes -------------------------------------------------------------------------------------------------------------


def _packed(index: ChunkIndex, size: int, identity: str) -> bytes:
    """Return an index as bytes: a line of facts, then gaps, sizes and counts of the chunks, compressed."""
    assert index.dialect is not None
    facts = {"size": size, "identity": identity, "dialect": index.dialect.name, "chunks": index.num_chunks}
    before = np.concatenate([[0], index.ends[:-1]]) if index.num_chunks else index.ends
    table = np.stack([index.offsets - before, index.ends - index.offsets, index.counts]).astype("<i8")
    columns = table.view(np.uint8).reshape(3, -1, 8).transpose(0, 2, 1)  # puts equal bytes together
    body = _MAGIC + json.dumps(facts).encode() + b"\n" + zlib.compress(columns.tobytes(), 6)
    return body + struct.pack("<I", crc32(body))


def _parse(data: bytes, source: LocalSource | RemoteSource) -> ChunkIndex | None:
    if not data.startswith(_MAGIC) or struct.unpack("<I", data[-4:])[0] != crc32(data[:-4]):
        return None
    line, _, packed = data[len(_MAGIC) : -4].partition(b"\n")
    facts = json.loads(line)
    count, identity = int(facts["chunks"]), _identity(source)
    if facts["size"] != source.size or (identity and facts["identity"] and facts["identity"] != identity):
        return None
    if not 0 <= count <= source.size // HEADER_SIZE:
        return None
    raw = zlib.decompressobj().decompress(packed, 24 * count + 1)
    table = np.frombuffer(raw, np.uint8).reshape(3, 8, count).transpose(0, 2, 1)
    gaps, sizes, counts = np.ascontiguousarray(table).view("<i8").reshape(3, count).astype(np.int64)
    if count and (min(gaps.min(), counts.min()) < 0 or sizes.min() < HEADER_SIZE):
        return None
    ends = np.cumsum(gaps + sizes)
    if count and (int(ends[-1]) > source.size or int(ends.min()) < 0):
        return None
    index = ChunkIndex(ends - sizes, counts, ends, dialect_of(facts["dialect"]))
    certain = isinstance(source, RemoteSource) and identity and facts["identity"] == identity
    return index if certain or _agrees(index, source) else None


def _agrees(index: ChunkIndex, source: LocalSource | RemoteSource) -> bool:
    """Compare an index with headers of the data: some on a disk, the last one in a store that has no ETag."""
    count = index.num_chunks
    if not count:
        return source.size < len(MAGIC)
    if int(index.ends[-1]) + len(MAGIC) <= source.size:
        return False
    some = {count - 1} if isinstance(source, RemoteSource) else {0, count // 3, count // 2, 2 * count // 3, count - 1}
    return all(_header_agrees(index, chunk, source) for chunk in some)


def _header_agrees(index: ChunkIndex, chunk: int, source: LocalSource | RemoteSource) -> bool:
    head = source.read(int(index.offsets[chunk]), HEADER_SIZE)
    if len(head) < HEADER_SIZE or head[:4] != MAGIC or index.dialect is None:
        return False
    header = index.dialect.parse(head)
    end = int(index.offsets[chunk]) + HEADER_SIZE + header.size
    return header.num_records == int(index.counts[chunk]) and end == int(index.ends[chunk])
