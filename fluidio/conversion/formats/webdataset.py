"""WebDataset tar files: the slots of record 17 of `x.tar` are the members `x-000000017.NAME.EXTENSION`.

Text is `.txt`, a picture keeps its format (`.jpg`, `.png`, ...), other bytes are `.bin`, an integer is `.cls`, a list
of texts is `.json`, and everything else is `.npy`.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fluidio.conversion import storage
from fluidio.conversion.formats.members import check_members
from fluidio.conversion.formats.records import Record, blocks_of, check_names, converted, records_of, shaped
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files.named import strings
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.zipped_arrays import read_array
from fluidio.tensor.array import Array

__all__ = ["read", "write"]

_PICTURES = {b"\xff\xd8\xff": "jpg", b"\x89PNG\r\n\x1a\n": "png", b"GIF8": "gif", b"BM": "bmp"}


def write(path: str, slots: list[Field], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as samples of a tar file; the same records give the same bytes."""
    check_members(slots, _names, forbidden="/\0", empty=False)
    stem = storage.name_of(path).removesuffix(".tar").replace(".", "_")  # keys are unique over the shards of a set
    with storage.writing(path) as file, tarfile.open(fileobj=file, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for number, record in enumerate(records_of(blocks)):
            for slot, (array, lod) in zip(slots, record):
                for extension, data in _members(slot, array, lod):
                    _add(tar, f"{stem}-{number:09d}.{slot.name}.{extension}", data)


def _names(slot: Field) -> list[str]:
    return [slot.name, *(f"{slot.name}.lod_{level}" for level in range(slot.lod_level))]


def _members(slot: Field, array: Array, lod: Any) -> Iterator[tuple[str, bytes]]:
    """Yield (extension, content) of the members that hold a slot of one record."""
    single = not slot.lod_level or len(lod[0]) == 2
    if slot.is_text and single:
        data = array.tobytes()
        yield "txt" if slot.kind == "str" else _extension(data), data
    elif slot.kind == "strings" and single:
        yield "json", json.dumps(strings(array, lod[1], decode=True), ensure_ascii=False).encode()
    elif not slot.lod_level and array.size == 1 and array.dtype.kind in "iu" and slot.shape == (1,):
        yield "cls", str(array.item()).encode()
    else:
        yield "npy", _npy(array)
        if slot.lod_level > 1 or not single:
            for level, offsets in enumerate(lod):
                yield f"lod_{level}.npy", _npy(np.asarray(offsets, np.int64))


def _extension(data: bytes) -> str:
    """Return the extension of a picture by its first bytes, "bin" for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((extension for magic, extension in _PICTURES.items() if data.startswith(magic)), "bin")


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _npy(array: Array) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def read(path: str, slots: list[Field] | None) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a tar file; without slots the first sample decides."""
    samples = _samples(path)
    first = next(samples, None)
    if first is None:
        return slots or [], iter(())
    known = slots or [_guess(name, first[name]) for name in first if ".lod_" not in name]
    names = None if slots else set(first)

    def records() -> Iterator[Record]:
        yield _decode(first, known, path)
        for sample in samples:
            check_names((name for name in sample if ".lod_" not in name), names, path)
            yield _decode(sample, known, path)

    return known, blocks_of(records(), known)


def _samples(path: str) -> Iterator[dict[str, Any]]:
    """Yield name -> value of each sample: members that share folder and name up to the first dot."""
    with storage.opened(path) as file, tarfile.open(fileobj=file, mode="r|*") as tar:
        current = ""
        sample: dict[str, Any] = {}
        for member in tar:
            if member.isdir():
                continue
            folder, _, base = member.name.rpartition("/")
            stem, _, rest = base.partition(".")
            if not stem:  # leftovers of other systems: .DS_Store, ._NAME
                continue
            if not member.isfile():
                raise ConversionError(
                    f"{path}: {member.name} is a link or a device: pack the files themselves (tar --hard-dereference)"
                )
            key = f"{folder}/{stem}"
            if key != current and sample:
                yield sample
                sample = {}
            current = key
            content = tar.extractfile(member)
            name, _, extension = rest.rpartition(".")
            name = name or extension
            name = rest if name in sample else name
            if name in sample:
                raise ConversionError(f"{path} contains {member.name} twice")
            sample[name] = _parse(extension, content.read() if content is not None else b"")
        if sample:
            yield sample


def _parse(extension: str, data: bytes) -> Any:
    """Return what a member holds: an array, a number, text, a list of texts, or bytes."""
    if extension == "npy":
        return read_array(data)
    try:
        if extension == "cls":
            return int(data)
        if extension == "json":
            found = json.loads(data)
            is_list = isinstance(found, list) and all(isinstance(each, str) for each in found)
            return found if is_list else data.decode()
        return data.decode() if extension == "txt" else data
    except ValueError:
        return data


def _guess(name: str, value: Any) -> Field:
    if isinstance(value, (bytes, str)):
        return Field(name, "uint8", (1,), 1, None, "str" if isinstance(value, str) else "bytes")
    if isinstance(value, list):
        return Field(name, "uint8", (1,), 2, None, "strings")
    if isinstance(value, int):
        return Field(name, "int64", (1,), kind="int")
    return Field(name, value.dtype.name, value.shape[1:] or (1,), rows=len(value) if value.ndim else 1)


def _decode(sample: dict[str, Any], slots: list[Field], path: str) -> Record:
    record: list[tuple[Array, Any]] = []
    for slot in slots:
        if slot.name not in sample:
            raise ConversionError(f"{path}: one sample has no member {slot.name}; it has {', '.join(sample)}")
        value = sample[slot.name]
        if not _fits(value, slot):
            found = f"{type(value).__name__} {str(value)[:40]!r}"
            raise ConversionError(f"{path}: {slot.name} of one sample holds {found}, expected {slot.kind}")
        if isinstance(value, list):
            record.append(_strings(value))
            continue
        if isinstance(value, str):
            value = value.encode()
        flat = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.asarray(value)
        array = shaped(converted(flat, slot, path), slot)
        lod = [sample.get(f"{slot.name}.lod_{level}") for level in range(slot.lod_level)]
        record.append((array, tuple(s if s is not None else np.array([0, len(array)], np.int64) for s in lod)))
    return record


def _fits(value: Any, slot: Field) -> bool:
    """Return whether the value of a member can be that of a slot, which the first sample of a foreign file decides."""
    if isinstance(value, list):
        return slot.lod_level == 2
    if isinstance(value, bytes) and slot.kind == "str":
        return False  # not UTF-8
    return slot.is_text or not isinstance(value, (bytes, str))


def _strings(values: list[str]) -> tuple[Array, Any]:
    parts = [value.encode() for value in values]
    inner = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=inner[1:])
    array = np.frombuffer(b"".join(parts), np.uint8).reshape(-1, 1)
    return array, (np.array([0, len(parts)], np.int64), inner)
