"""Compressed files and archive members in Python 2 modules: lines are text, read() gives bytes that act as text."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile
from typing import IO, Any
from xml.etree import ElementTree

from fluidio.paddle.capsule.files import binary_reader, binary_writer
from fluidio.paddle.capsule.old_strings import ByteText, as_bytes, bytes_of
from fluidio.paddle.capsule.string_io import binary_view

__all__ = ["addfile", "bz2_file", "extractfile", "gzip_file", "gzip_open", "open_member", "parse_xml", "read_member"]
__all__ += ["writestr"]


def _opened(file: object, mode: str) -> object:
    """Wrap a file of bytes; return one opened as text unchanged."""
    if "t" in mode:
        return file
    return binary_reader(file) if "r" in mode else binary_writer(file)


def gzip_open(filename: object, mode: str = "rb", *args: object, **kwargs: object) -> object:
    """Return gzip.open(...)."""
    opened: Any = gzip.open
    return _opened(opened(filename, mode.replace("U", "") or "r", *args, **kwargs), mode)


def gzip_file(filename: object = None, mode: str | None = None, *args: object, **kwargs: object) -> object:
    """Return gzip.GzipFile(...)."""
    kind: Any = gzip.GzipFile
    file = kind(filename, mode, *args, **kwargs)
    return _opened(file, "r" if file.readable() else "w")


def bz2_file(filename: object, mode: str = "r", buffering: int = 0, *args: object, **kwargs: object) -> object:
    """Return bz2.BZ2File(...)."""
    plain = mode.replace("U", "") or "r"
    kind: Any = bz2.BZ2File
    return _opened(kind(filename, plain, *args, **kwargs), plain)


def extractfile(archive: Any, *args: object, **kwargs: object) -> object:
    """Return a member of a tar file; None if it is not a file."""
    file: IO[bytes] | None = archive.extractfile(*args, **kwargs)
    return file if file is None else binary_reader(file)


def open_member(archive: Any, *args: object, **kwargs: object) -> object:
    """Return a member of a zip file, or the result of any other `open`."""
    file = archive.open(*args, **kwargs)
    return binary_reader(file) if isinstance(archive, zipfile.ZipFile) and file.readable() else file


def read_member(archive: Any, *args: object, **kwargs: object) -> object:
    """Return the bytes of a member of a zip file, or the result of any other `read`."""
    data = archive.read(*args, **kwargs)
    return ByteText(data) if isinstance(archive, zipfile.ZipFile) else data


def addfile(archive: Any, tarinfo: Any, fileobj: Any = None, *args: object) -> Any:
    """Add a member to a tar file; a StringIO gives its bytes."""
    return archive.addfile(tarinfo, binary_view(fileobj), *args)


def writestr(archive: Any, member: Any, data: Any, *args: object) -> Any:
    """Write a member of a zip file."""
    return archive.writestr(member, as_bytes(data), *args)


def parse_xml(source: Any, parser: Any = None) -> Any:
    """Return xml.etree.ElementTree.parse(source); what a file of Python 2 holds is parsed as bytes."""
    file = io.BytesIO(bytes_of(source.read())) if hasattr(source, "read") else source
    return ElementTree.parse(file, parser)
