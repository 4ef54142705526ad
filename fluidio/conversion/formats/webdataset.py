"""WebDataset tar files: the slots of record 17 are the members `000000017.NAME.npy` (`.bin` for strings of bytes)."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.conversion import storage
from fluidio.conversion.formats.records import Record, blocks_of, records_of
from fluidio.conversion.schema import Slot
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock

__all__ = ["read", "write"]


def write(path: str, slots: list[Slot], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as samples of a tar file; the same records give the same bytes."""
    strange = [slot.name for slot in slots if "/" in slot.name]
    if strange:
        raise ConversionError(f"{strange[0]!r} cannot be part of a file's name: rename the slot with --names")
    with storage.writing(path) as file, tarfile.open(fileobj=file, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for number, record in enumerate(records_of(blocks)):
            for slot, (array, lod) in zip(slots, record):
                key = f"{number:09d}.{slot.name}"
                if slot.is_text and len(lod[0]) == 2:
                    _add(tar, f"{key}.bin", array.tobytes())
                    continue
                _add(tar, f"{key}.npy", _npy(array))
                if slot.lod_level > 1 or (slot.lod_level == 1 and len(lod[0]) != 2):
                    for level, offsets in enumerate(lod):
                        _add(tar, f"{key}.lod_{level}.npy", _npy(np.asarray(offsets, np.int64)))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _npy(array: npt.NDArray[Any]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def read(path: str, slots: list[Slot] | None) -> tuple[list[Slot], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a tar file; without slots the first sample decides."""
    samples = _samples(path)
    first = next(samples, None)
    if first is None:
        return slots or [], iter(())
    known = slots or [_guess(name, first[name]) for name in first if ".lod_" not in name]

    def records() -> Iterator[Record]:
        yield _decode(first, known, path)
        for sample in samples:
            yield _decode(sample, known, path)

    return known, blocks_of(records(), known)


def _samples(path: str) -> Iterator[dict[str, Any]]:
    """Yield name -> bytes or array of each sample: members that share what stands before the first dot."""
    with storage.opened(path) as file, tarfile.open(fileobj=file, mode="r|*") as tar:
        current = ""
        sample: dict[str, Any] = {}
        for member in tar:
            if not member.isfile():
                continue
            key, _, rest = member.name.rpartition("/")[2].partition(".")
            if key != current and sample:
                yield sample
                sample = {}
            current = key
            content = tar.extractfile(member)
            data = content.read() if content is not None else b""
            name, _, suffix = rest.rpartition(".")
            if suffix == "npy":
                sample[name or suffix] = np.load(io.BytesIO(data), allow_pickle=False)
            else:
                sample[name if suffix == "bin" and name else rest] = data
        if sample:
            yield sample


def _guess(name: str, value: Any) -> Slot:
    if isinstance(value, bytes):
        return Slot(name, "uint8", (1,), 1, None, "bytes")
    return Slot(name, value.dtype.name, value.shape[1:] or (1,), rows=len(value) if value.ndim else 1)


def _decode(sample: dict[str, Any], slots: list[Slot], path: str) -> Record:
    record: list[tuple[npt.NDArray[Any], Any]] = []
    for slot in slots:
        if slot.name not in sample:
            raise ConversionError(f"{path}: a sample has no member {slot.name}; it has {', '.join(sample)}")
        value = sample[slot.name]
        flat = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        array = flat.astype(slot.dtype).reshape(-1, *slot.shape)
        lod = [sample.get(f"{slot.name}.lod_{level}") for level in range(slot.lod_level)]
        record.append((array, tuple(s if s is not None else np.array([0, len(array)], np.int64) for s in lod)))
    return record
