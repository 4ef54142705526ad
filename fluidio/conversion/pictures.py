"""Detect the format and size of a picture from its first bytes, without a library and without decoding it."""

from __future__ import annotations

import struct

__all__ = ["picture"]


def picture(data: bytes) -> str | None:
    """Return, for example, "PNG 640x480"; None for an unknown format."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return "PNG {}x{}".format(*struct.unpack(">II", data[16:24]))
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return "GIF {}x{}".format(*struct.unpack("<HH", data[6:10]))
    if data.startswith(b"BM") and len(data) >= 26:
        width, height = struct.unpack("<ii", data[18:26])
        return f"BMP {width}x{abs(height)}"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    return _jpeg(data) if data.startswith(b"\xff\xd8\xff") else None


def _jpeg(data: bytes) -> str:
    """Return the size in the frame header of a JPEG, which follows segments of any length."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return f"JPEG {width}x{height}"
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return "JPEG"
