"""Identify files that are not RecordIO."""

from __future__ import annotations

import struct

from fluidio.recordio.format.checksum import masked_crc32c

__all__ = ["identify"]

_STARTS: tuple[tuple[bytes, str], ...] = (
    (
        b"\x0a\x23\xd7\xce",
        "MXNet (dmlc) RecordIO; `fluidio export FILE.rec --to recordio --output DIR` converts files of images",
    ),
    (b"\x1f\x8b", "gzip data; unpack it first (gunzip)"),
    (b"version https://git-lfs", "a git-lfs pointer; fetch the data with `git lfs pull`"),
    (b"PK\x03\x04", "a zip archive (or .npz); unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstandard data; unpack it first"),
    (b"BZh", "bzip2 data; unpack it first"),
    (b"\xfd7zXZ\x00", "xz data; unpack it first"),
    (b"\x93NUMPY", "a NumPy .npy file; np.load reads it"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"snappy\0", "a bare snappy stream without chunk headers"),
    (b"\xff\x06\x00\x00sNaPpY", "a bare framed snappy stream; unpack it first"),
    (b"SQLite format 3", "an SQLite database (MindRecord keeps its index in one)"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"<!DOCTYPE", "an HTML page (a failed download?)"),
    (b"<html", "an HTML page (a failed download?)"),
)


def identify(head: bytes) -> str:
    """Return what a file with these first bytes (a few dozen are enough) looks like; "" when unknown."""
    for start, name in _STARTS:
        if head.startswith(start):
            return name
    if _is_tfrecord(head):
        return "a TFRecord file; read it with tf.data.TFRecordDataset or convert it"
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it first"
    if len(head) >= 4 and head[:4] == b"\x01\x02\x03\x04":
        return "RecordIO with swapped bytes (written on a big-endian machine?)"
    if len(head) >= 16 and not head.strip(b"\0"):
        return "nothing but zero bytes (a copy that never finished?)"
    return ""


def _is_tfrecord(head: bytes) -> bool:
    return len(head) >= 12 and masked_crc32c(head[:8]) == struct.unpack_from("<I", head, 8)[0]
