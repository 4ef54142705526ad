"""The module `imghdr`, which Python 3.13 removed: detect a picture's format by its first bytes."""

from __future__ import annotations

from typing import Any

__all__ = ["what"]

_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"BM", "bmp"),
    (b"\x01\xda", "rgb"),
    (b"\x59\xa6\x6a\x95", "rast"),
    (b"#define ", "xbm"),
    (b"\x76\x2f\x31\x01", "exr"),
)
_PNM = {b"1": "pbm", b"4": "pbm", b"2": "pgm", b"5": "pgm", b"3": "ppm", b"6": "ppm"}


def what(file: object, h: bytes | None = None) -> str | None:
    """Return png, jpeg, gif, ... for a path, an open file or the first bytes `h`; None for anything else."""
    start = _start(file) if h is None else h
    if start[:2] == b"\xff\xd8" or start[6:10] in (b"JFIF", b"Exif"):
        return "jpeg"
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    if start[:1] == b"P" and start[1:2] in _PNM and start[2:3] in (b" ", b"\t", b"\n", b"\r"):
        return _PNM[start[1:2]]
    return next((kind for begin, kind in _STARTS if start.startswith(begin)), None)


def _start(file: Any) -> bytes:
    if hasattr(file, "read"):
        position = file.tell()
        start: bytes = file.read(32)
        file.seek(position)
        return start
    with open(file, "rb") as opened:
        return opened.read(32)
