"""Python 2's ConfigParser: comments after values, repeated options, values of any type, literal `%`."""

from __future__ import annotations

import configparser
import re
from typing import Any

from fluidio.paddle.capsule.old_strings import as_text, bytes_of

__all__ = ["ConfigParser", "RawConfigParser", "SafeConfigParser"]

_REFERENCE = re.compile(r"%\(([^)]+)\)s")


class _Lenient(configparser.Interpolation):
    """Replace `%(name)s` and leave any other `%` alone."""

    def before_get(self, parser: Any, section: str, option: str, value: str, defaults: Any) -> Any:
        for _ in range(configparser.MAX_INTERPOLATION_DEPTH):
            if not isinstance(value, str) or "%(" not in value:
                return value
            value = _REFERENCE.sub(lambda match: str(_referred(parser, match[1], section, option, defaults)), value)
        raise configparser.InterpolationDepthError(option, section, value)


def _referred(parser: Any, name: str, section: str, option: str, defaults: Any) -> object:
    try:
        return defaults[parser.optionxform(name)]
    except KeyError:
        raw = parser.get(section, option, raw=True)
        raise configparser.InterpolationMissingOptionError(option, section, raw, name) from None


class RawConfigParser(configparser.RawConfigParser):
    """A parser whose options may be repeated and have any type."""

    def __init__(
        self, defaults: dict[str, object] | None = None, dict_type: type = dict, allow_no_value: bool = False
    ) -> None:
        super().__init__(None, dict_type, allow_no_value, strict=False, inline_comment_prefixes=(";",))
        own: Any = self.defaults()
        own.update((self.optionxform(str(name)), value) for name, value in (defaults or {}).items())

    def read_file(self, f: Any, source: str | None = None) -> None:
        """Read options from lines of text or bytes."""
        name = source if source is not None else getattr(f, "name", "<???>")
        super().read_file((as_text(bytes_of(line)) if isinstance(line, bytes) else line for line in f), name)

    def write(self, fp: Any, space_around_delimiters: bool = True) -> None:
        """Write all options; values may have any type."""
        sections: list[tuple[str, dict[str, object]]] = [("DEFAULT", {**self.defaults()})] * bool(self.defaults())
        sections += [(name, {o: self._of(name, o) for o in self._own(name)}) for name in self.sections()]
        for name, options in sections:
            fp.write(f"[{name}]\n")
            for option, value in options.items():
                fp.write(
                    f"{option} = {str(value).replace(chr(10), chr(10) + chr(9))}\n"
                    if value is not None
                    else f"{option}\n"
                )
            fp.write("\n")

    def _own(self, section: str) -> list[str]:
        return [
            option
            for option in self.options(section)
            if option in self[section] and not self._inherits(section, option)
        ]

    def _inherits(self, section: str, option: str) -> bool:
        return option in self.defaults() and self._of(section, option) == self.defaults()[option]

    def _of(self, section: str, option: str) -> object:
        return _get(self, section, option, raw=True)


def _get(self: Any, section: str, option: str, raw: object = False, vars: object = None, **kwargs: object) -> Any:
    """Return an option; `raw` and `vars` may be given by position."""
    get: Any = configparser.RawConfigParser.get
    return _string(get(self, section, option, raw=bool(raw), vars=vars, **kwargs))


def _items(self: Any, section: str, raw: object = False, vars: object = None) -> list[tuple[object, object]]:
    """Return the options of a section with their values."""
    items: Any = configparser.RawConfigParser.items
    return [(_string(name), _string(value)) for name, value in items(self, section, bool(raw), vars)]


def _string(value: object) -> object:
    return as_text(bytes_of(value)) if isinstance(value, str) else value


for _method in (_get, _items):  # their types are others today
    setattr(RawConfigParser, _method.__name__.strip("_"), _method)


class ConfigParser(RawConfigParser):
    """A parser that replaces `%(name)s`."""

    _DEFAULT_INTERPOLATION = _Lenient()


class SafeConfigParser(ConfigParser):
    """The same; Python 2 had both names."""


def __getattr__(name: str) -> object:
    return getattr(configparser, name)
