"""Standard library functions that took and returned Python 2's str, which was both text and bytes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import subprocess
import zlib
from typing import Any

from fluidio.paddle.capsule.text import ByteText

__all__ = [
    "Popen",
    "adler32",
    "b64decode",
    "b64encode",
    "compress",
    "crc32",
    "decodestring",
    "decompress",
    "encodestring",
    "hexlify",
    "md5",
    "new",
    "pack",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "unhexlify",
    "unpack",
    "urlsafe_b64decode",
    "urlsafe_b64encode",
]


def _bytes(value: object) -> Any:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


class _Hash:
    """A hash that takes text."""

    def __init__(self, name: str, data: Any = b"") -> None:
        self._hash = hashlib.new(name, _bytes(data))

    def update(self, data: object) -> None:
        self._hash.update(_bytes(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hash, name)


def new(name: str, data: object = b"") -> Any:
    """Return hashlib.new(...)."""
    return _Hash(name, data)


def md5(data: object = b"") -> Any:
    """Return hashlib.md5(...)."""
    return _Hash("md5", data)


def sha1(data: object = b"") -> Any:
    """Return hashlib.sha1(...)."""
    return _Hash("sha1", data)


def sha224(data: object = b"") -> Any:
    """Return hashlib.sha224(...)."""
    return _Hash("sha224", data)


def sha256(data: object = b"") -> Any:
    """Return hashlib.sha256(...)."""
    return _Hash("sha256", data)


def sha384(data: object = b"") -> Any:
    """Return hashlib.sha384(...)."""
    return _Hash("sha384", data)


def sha512(data: object = b"") -> Any:
    """Return hashlib.sha512(...)."""
    return _Hash("sha512", data)


def b64encode(s: object, altchars: object = None) -> Any:
    """Return base64.b64encode(...)."""
    return ByteText(base64.b64encode(_bytes(s), _bytes(altchars)))


def b64decode(s: Any, altchars: Any = None) -> Any:
    """Return base64.b64decode(...)."""
    return ByteText(base64.b64decode(s, _bytes(altchars)))


def urlsafe_b64encode(s: object) -> Any:
    """Return base64.urlsafe_b64encode(...)."""
    return ByteText(base64.urlsafe_b64encode(_bytes(s)))


def urlsafe_b64decode(s: Any) -> Any:
    """Return base64.urlsafe_b64decode(...)."""
    return ByteText(base64.urlsafe_b64decode(s))


def encodestring(s: object) -> Any:
    """Return base64.encodestring(...), which is encodebytes now."""
    return ByteText(base64.encodebytes(_bytes(s)))


def decodestring(s: object) -> Any:
    """Return base64.decodestring(...), which is decodebytes now."""
    return ByteText(base64.decodebytes(_bytes(s)))


def pack(format: Any, *values: Any) -> Any:
    """Return struct.pack(...)."""
    return ByteText(struct.pack(format, *map(_bytes, values)))


def unpack(format: Any, data: Any) -> tuple[Any, ...]:
    """Return struct.unpack(...)."""
    found = struct.unpack(format, _bytes(data))
    return tuple(ByteText(value) if isinstance(value, bytes) else value for value in found)


def compress(data: Any, *args: Any) -> Any:
    """Return zlib.compress(...)."""
    return ByteText(zlib.compress(_bytes(data), *args))


def decompress(data: Any, *args: Any) -> Any:
    """Return zlib.decompress(...)."""
    return ByteText(zlib.decompress(_bytes(data), *args))


def crc32(data: Any, *args: Any) -> int:
    """Return zlib.crc32(...), with a sign as in Python 2."""
    return _signed(zlib.crc32(_bytes(data), *args))


def adler32(data: Any, *args: Any) -> int:
    """Return zlib.adler32(...), with a sign as in Python 2."""
    return _signed(zlib.adler32(_bytes(data), *args))


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def hexlify(data: object) -> Any:
    """Return binascii.hexlify(...)."""
    return ByteText(binascii.hexlify(_bytes(data)))


def unhexlify(text: Any) -> Any:
    """Return binascii.unhexlify(...)."""
    return ByteText(binascii.unhexlify(text))


class Popen(subprocess.Popen[str]):
    """subprocess.Popen whose pipes carry text."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("universal_newlines", None)
        super().__init__(*args, **{"encoding": "utf-8", "errors": "surrogateescape", **kwargs})
