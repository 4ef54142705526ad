"""Methods and functions of Python 2's strings: encoding, joining, replacing, and what commands print."""

from __future__ import annotations

import codecs
import io
import os
import subprocess
import sys
from typing import Any, cast

from fluidio.paddle.capsule.old_strings import ByteText, as_bytes, as_mixed, as_text, bytes_of, is_old, is_unicode

__all__ = [
    "BOM_UTF8",
    "byte_array",
    "check_output",
    "decode",
    "encode",
    "fdopen",
    "getoutput",
    "getwriter",
    "input_of",
    "join",
]
__all__ += ["popen", "raw_input", "replace", "to_unicode", "translate"]

BOM_UTF8 = ByteText(codecs.BOM_UTF8)
_CODECS = {"hex", "base64", "zlib", "bz2", "quopri", "uu", "rot13", "string_escape", "string-escape"}


def decode(value: Any, *args: Any, **kwargs: Any) -> object:
    """Return value.decode(...); unicode is already decoded."""
    if args and args[0] in _CODECS:
        return _recode(codecs.decode, value, args[0])
    if not isinstance(value, str):
        return value.decode(*args, **kwargs)
    return bytes_of(value).decode(*args, **kwargs) if is_old(value) else value


def _recode(function: Any, value: Any, codec: str) -> object:
    """Return a str of Python 2 after a codec from str to str."""
    if codec == "rot13":
        return function(str(value), "rot13")
    data = as_bytes(value)
    if codec.startswith("string"):
        pair: Any = codecs.escape_encode(data) if function is codecs.encode else codecs.escape_decode(data)
        return ByteText(pair[0])
    return ByteText(function(data, codec))


def encode(value: Any, *args: Any, **kwargs: object) -> object:
    """Return value.encode(...) as bytes that still behave as text."""
    if args and args[0] in _CODECS:
        return _recode(codecs.encode, value, args[0])
    if isinstance(value, bytes):
        return value
    if is_old(value):
        value = bytes_of(value).decode("utf-8")  # as after sys.setdefaultencoding("utf-8")
    found = value.encode(*args, **kwargs)
    return ByteText(found) if isinstance(found, bytes) else found


def to_unicode(value: object = "", encoding: str = "ascii", errors: str = "strict") -> str:
    """Return unicode(value, encoding)."""
    if encoding == "ascii" and isinstance(value, ByteText):
        return bytes_of(value).decode("utf-8", errors)
    if isinstance(value, (bytes, bytearray)) or (encoding != "ascii" and is_old(value)):
        return bytes(as_bytes(value)).decode(encoding, errors)
    if isinstance(value, str):
        return str(value)
    own = getattr(type(value), "__unicode__", None)
    if own is not None:
        return str(own(value))
    from fluidio.paddle.capsule.display import to_text

    return str(to_text(value))


def translate(value: Any, table: Any, *deletions: Any) -> object:
    """Return value.translate(table, deletions)."""
    if isinstance(table, (str, bytes)) or table is None or deletions:
        if isinstance(value, (str, bytes)) and not is_unicode(value):
            whole = table.encode("latin-1") if isinstance(table, str) else table  # of string.maketrans
            return as_text(bytes_of(value).translate(cast("bytes | None", whole), *map(as_bytes, deletions)))
        left = cast("str", value)
        if deletions:
            left = left.translate(dict.fromkeys(map(ord, deletions[0])))
        return left if table is None else left.translate(cast("Any", table))
    return value.translate(table)


def replace(value: Any, *args: Any, **kwargs: object) -> object:
    """Return value.replace(old, new), whose parts may be text with bytes outside ASCII."""
    if isinstance(value, str) and value.isascii() and any(map(is_old, args)) and not any(map(is_unicode, args)):
        return as_text(value.encode().replace(*map(as_bytes, args)))
    return value.replace(*args, **kwargs)


def join(separator: Any, *args: Any, **kwargs: Any) -> object:
    """Return separator.join(parts), even if some are bytes; call any other `join`, such as a thread's, unchanged."""
    if len(args) != 1 or not isinstance(separator, (str, bytes)):
        return separator.join(*args, **kwargs)
    words = list(args[0])
    if isinstance(separator, bytes) and not isinstance(separator, ByteText):
        return separator.join(words)
    if not any(is_old(word) or isinstance(word, bytes) for word in (separator, *words)):
        return str(separator).join(words)
    if any(map(is_unicode, (separator, *words))):
        return str(separator).join(str(word) if isinstance(word, bytes) else word for word in words)
    whole = bytes_of(separator).join(map(bytes_of, words))
    return as_mixed(whole) if any(isinstance(word, bytes) for word in words) else as_text(whole)


def byte_array(*args: object) -> bytearray:
    """Return bytearray(...), also of text."""
    if len(args) == 1 and isinstance(args[0], str):
        return bytearray(bytes_of(args[0]))
    return bytearray(*args)


def check_output(*args: Any, **kwargs: Any) -> Any:
    """Return the output of a command, bytes that behave as text."""
    found: Any = subprocess.check_output(*args, **kwargs)
    return ByteText(found) if isinstance(found, bytes) else found


def popen(command: str, mode: str = "r", buffering: int = -1) -> Any:
    """Return os.popen(...), whose lines are Python 2 strings."""
    from fluidio.paddle.capsule.files import binary_reader

    stream = os.popen(str(command), mode)
    if "r" not in mode:
        return stream
    with stream:
        return binary_reader(io.BytesIO(bytes_of(stream.read())), as_bytes=False)


def getoutput(command: str) -> str:
    """Return commands.getoutput(...)."""
    return as_text(bytes_of(subprocess.getoutput(command)))


def raw_input(prompt: object = "") -> str:
    """Return a line of the standard input."""
    return as_text(bytes_of(input(prompt)))


def input_of(prompt: object = "") -> object:
    """Return the value of an expression that is typed in, in the caller's names."""
    caller = sys._getframe(1)
    return eval(input(prompt), caller.f_globals, caller.f_locals)


def fdopen(fd: int, mode: str = "r", buffering: int = -1) -> object:
    """Return os.fdopen(...); text without a buffer is text flushed by lines."""
    return os.fdopen(fd, mode, 1 if buffering == 0 and "b" not in mode else buffering)


def getwriter(encoding: str) -> object:
    """Return a function that makes a stream encode its text, as text streams do anyway."""
    writer: Any = codecs.getwriter(encoding)
    return lambda stream, *args: stream if isinstance(stream, io.TextIOBase) else writer(stream, *args)
