"""Standard library functions that took and returned Python 2's str, which was both text and bytes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import subprocess
import zlib
from typing import Any

from fluidio.paddle.capsule.files import binary_reader, binary_writer
from fluidio.paddle.capsule.old_strings import ByteText, as_bytes
from fluidio.paddle.capsule.scalars import scalar

__all__ = [
    "Popen",
    "Struct",
    "adler32",
    "b64decode",
    "b64encode",
    "buffer",
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
    "unpack_from",
    "urlsafe_b64decode",
    "urlsafe_b64encode",
]


class _Hash:
    """A hash that takes text."""

    def __init__(self, name: str, data: object = b"") -> None:
        self._hash = hashlib.new(name, as_bytes(data))

    def update(self, data: object) -> None:
        self._hash.update(as_bytes(data))

    def digest(self) -> object:
        return ByteText(self._hash.digest())

    def __getattr__(self, name: str) -> object:
        return getattr(self._hash, name)


def new(name: str, data: object = b"") -> object:
    """Return hashlib.new(...)."""
    return _Hash(name, data)


def md5(data: object = b"") -> object:
    """Return hashlib.md5(...)."""
    return _Hash("md5", data)


def sha1(data: object = b"") -> object:
    """Return hashlib.sha1(...)."""
    return _Hash("sha1", data)


def sha224(data: object = b"") -> object:
    """Return hashlib.sha224(...)."""
    return _Hash("sha224", data)


def sha256(data: object = b"") -> object:
    """Return hashlib.sha256(...)."""
    return _Hash("sha256", data)


def sha384(data: object = b"") -> object:
    """Return hashlib.sha384(...)."""
    return _Hash("sha384", data)


def sha512(data: object = b"") -> object:
    """Return hashlib.sha512(...)."""
    return _Hash("sha512", data)


def b64encode(s: object, altchars: object = None) -> object:
    """Return base64.b64encode(...)."""
    return ByteText(base64.b64encode(as_bytes(s), as_bytes(altchars)))


def b64decode(s: Any, altchars: object = None) -> object:
    """Return base64.b64decode(...)."""
    return ByteText(base64.b64decode(s, as_bytes(altchars)))


def urlsafe_b64encode(s: object) -> object:
    """Return base64.urlsafe_b64encode(...)."""
    return ByteText(base64.urlsafe_b64encode(as_bytes(s)))


def urlsafe_b64decode(s: Any) -> object:
    """Return base64.urlsafe_b64decode(...)."""
    return ByteText(base64.urlsafe_b64decode(s))


def encodestring(s: object) -> object:
    """Return base64.encodestring(...), now called encodebytes."""
    return ByteText(base64.encodebytes(as_bytes(s)))


def decodestring(s: object) -> object:
    """Return base64.decodestring(...), now called decodebytes."""
    return ByteText(base64.decodebytes(as_bytes(s)))


def pack(format: object, *values: object) -> object:
    """Return struct.pack(...)."""
    return ByteText(struct.pack(str(format), *map(_packable, values)))


def _packable(value: object) -> object:
    return as_bytes(scalar(value))


def unpack(format: object, data: object) -> tuple[object, ...]:
    """Return struct.unpack(...)."""
    return _strings(struct.unpack(str(format), as_bytes(data)))


def unpack_from(format: object, data: object, offset: int = 0) -> tuple[object, ...]:
    """Return struct.unpack_from(...)."""
    return _strings(struct.unpack_from(str(format), as_bytes(data), offset))


def _strings(values: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(ByteText(value) if isinstance(value, bytes) else value for value in values)


class Struct:
    """struct.Struct."""

    def __init__(self, format: object) -> None:
        self.format = str(format)
        self.size = struct.calcsize(self.format)

    def pack(self, *values: object) -> object:
        """Return values as a string."""
        return pack(self.format, *values)

    def unpack(self, data: object) -> tuple[object, ...]:
        """Return the values in a string."""
        return unpack(self.format, data)

    def unpack_from(self, data: object, offset: int = 0) -> tuple[object, ...]:
        """Return the values at a place in a string."""
        return unpack_from(self.format, data, offset)


def compress(data: object, *args: Any) -> object:
    """Return zlib.compress(...)."""
    return ByteText(zlib.compress(as_bytes(data), *args))


def decompress(data: object, *args: Any) -> object:
    """Return zlib.decompress(...)."""
    return ByteText(zlib.decompress(as_bytes(data), *args))


def crc32(data: object, *args: Any) -> int:
    """Return zlib.crc32(...), with a sign as in Python 2."""
    return _signed(zlib.crc32(as_bytes(data), *args))


def adler32(data: Any, *args: Any) -> int:
    """Return zlib.adler32(...), with a sign as in Python 2."""
    return _signed(zlib.adler32(as_bytes(data), *args))


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def hexlify(data: object) -> object:
    """Return binascii.hexlify(...)."""
    return ByteText(binascii.hexlify(as_bytes(data)))


def unhexlify(text: Any) -> object:
    """Return binascii.unhexlify(...)."""
    return ByteText(binascii.unhexlify(text))


def buffer(value: object, offset: int = 0, size: int = -1) -> object:
    """Return buffer(value, offset, size): the bytes of text or of an array."""
    data = bytes(memoryview(as_bytes(value)).cast("B"))[offset:]
    return ByteText(data if size < 0 else data[:size])


class Popen(subprocess.Popen[bytes]):
    """subprocess.Popen with pipes that carry Python 2 strings."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("universal_newlines", None)
        super().__init__(*args, **kwargs)
        for name in ("stdout", "stderr"):
            if getattr(self, name) is not None:
                setattr(self, name, binary_reader(getattr(self, name)))
        if self.stdin is not None:
            self.stdin = binary_writer(self.stdin)

    def communicate(self, input: Any = None, timeout: float | None = None) -> Any:
        """Return what the command prints."""
        found = super().communicate(as_bytes(input), timeout)
        return tuple(data if data is None else ByteText(data) for data in found)


def tobytes(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return value.tobytes() or value.tostring(), whose bytes act as text."""
    data = value.tobytes(*args, **kwargs)
    return ByteText(data) if isinstance(data, bytes) else data
