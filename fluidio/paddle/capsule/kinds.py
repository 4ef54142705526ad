"""Types of Python 2: str and unicode apart, and what `type()` and `isinstance()` say of them."""

from __future__ import annotations

from typing import Any

from fluidio.paddle.capsule.display import to_text
from fluidio.paddle.capsule.old_strings import ByteText, EncodedText, is_unicode
from fluidio.paddle.capsule.text import to_unicode

__all__ = ["Str", "Unicode", "type_of"]


class _Kind(type):
    """A type of strings: what is an instance depends on the value."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, ByteText) or (isinstance(value, str) and not is_unicode(value))

    def __subclasscheck__(cls, kind: type) -> bool:
        return type.__subclasscheck__(cls, kind) or issubclass(kind, (str, ByteText))

    def __eq__(cls, other: object) -> bool:
        return other is cls or other in (str, ByteText)

    def __hash__(cls) -> int:
        return hash(str)

    def __call__(cls, *args: Any) -> Any:
        return to_unicode(*args) if len(args) > 1 else to_text(*args)

    def __repr__(cls) -> str:
        return f"<type '{cls.__name__}'>"

    def __getattr__(cls, name: str) -> object:
        return getattr(str, name)


class _Wide(_Kind):
    """The type of unicode: plain text, also ASCII, which may be of either type."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, str) and not isinstance(value, EncodedText)

    def __subclasscheck__(cls, kind: type) -> bool:
        return type.__subclasscheck__(cls, kind) or kind is str

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is str

    __hash__ = _Kind.__hash__

    def __call__(cls, *args: Any) -> Any:
        return to_unicode(*args)


Str = _Kind("str", (), {})
Unicode = _Wide("unicode", (), {})


def type_of(value: object) -> object:
    """Return type(value)."""
    kind = type(value)
    if kind in (EncodedText, ByteText):
        return Str
    return (Unicode if is_unicode(value) else Str) if kind is str else kind
