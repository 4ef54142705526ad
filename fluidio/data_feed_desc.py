"""`fluid.DataFeedDesc`: the description of a data feed in protobuf's text form, read, changed and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from fluidio.proto import data_feed_pb2

__all__ = ["DataFeedDesc"]

_TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*("(?:[^"\\]|\\.)*"|[{}:]|[^\s{}:"]+)')

_DEEPEST = 16  # nested braces; the description of a feed has three levels

Message = list[tuple[str, Any]]


class DataFeedDesc:
    """A feed of slots, as a .proto file in text form describes it.

    Example:
        >>> desc = fluid.DataFeedDesc("data.proto")   # doctest: +SKIP
        >>> desc.set_batch_size(128)                  # doctest: +SKIP
        >>> desc.set_use_slots(["words"])             # doctest: +SKIP
    """

    def __init__(self, proto_file: str) -> None:
        with open(proto_file, encoding="utf-8") as file:
            self._fields = _message(_tokens(file.read()), proto_file)
        if not any(name == "pipe_command" for name, _ in self._fields):
            self._fields.append(("pipe_command", '"cat"'))
        parts = [part for name, part in self._fields if name == "multi_slot_desc" and isinstance(part, list)]
        slots = [(name, slot) for part in parts for name, slot in part if name == "slots"]
        self._slots = dict(_slots(slots, proto_file))

    def set_batch_size(self, batch_size: int) -> None:
        """Set how many records make a batch."""
        _set(self._fields, "batch_size", str(int(batch_size)), after="name")

    def set_dense_slots(self, dense_slots_name: Sequence[str]) -> None:
        """Make slots dense: with the same number of values in every record."""
        for name in dense_slots_name:
            _set(self._slots[name], "is_dense", "true", after="type")

    def set_use_slots(self, use_slots_name: Sequence[str]) -> None:
        """Use these slots for training."""
        for name in use_slots_name:
            _set(self._slots[name], "is_used", "true", after="is_dense")

    @property
    def proto_desc(self) -> Any:
        """Return the description as a message of `data_feed_pb2`; changes to it are kept."""
        made = data_feed_pb2.DataFeedDesc()
        try:
            _fill(made, self._fields)
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not a description of a feed: {error}") from error
        return made

    def desc(self) -> str:
        """Return the description as text."""
        return "\n".join(_lines(self._fields, "")) + "\n"


def _fill(message: Any, fields: Message) -> None:
    """Set the fields of a message from text."""
    for name, value in fields:
        if isinstance(value, list):
            part = getattr(message, name)
            _fill(part.add() if hasattr(part, "add") else part, value)
        elif name == "shape":
            message.shape.append(int(value))
        else:
            setattr(message, name, _scalar(value))


def _scalar(text: str) -> str | float | bool:
    """Parse a value: a string, a number or a bool."""
    found = {"true": True, "false": False}.get(text)
    if found is None:
        found = None if text.startswith(("[", "{")) else json.loads(text)
    if not isinstance(found, (str, int, float)):
        raise ValueError(f"expected a text, a number, true or false; found {text[:40]!r}")
    return found


def _tokens(text: str) -> Iterator[str]:
    place = 0
    text = text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"not in protobuf's text format: {text[place : place + 40]!r}")
        yield found.group(1)
        place = found.end()


def _message(tokens: Iterator[str], source: str, depth: int = 0) -> Message:
    """Read fields until the message ends: {name: value} pairs in order, messages as lists of their own."""
    if depth > _DEEPEST:
        raise ValueError(f"{source}: braces are nested more than {_DEEPEST} levels deep")
    fields: Message = []
    for token in tokens:
        if token == "}":
            if depth:
                return fields
            break
        follows = next(tokens, "")
        if follows == ":":
            follows = next(tokens, "")
            if follows != "{":
                fields.append((token, follows))
                continue
        if follows != "{":
            raise ValueError(f"{source}: expected a value for {token!r}, found {follows!r}")
        fields.append((token, _message(tokens, source, depth + 1)))
    else:
        if not depth:
            return fields
    raise ValueError(f"{source}: the braces do not match")


def _slots(parts: Message, source: str) -> Iterator[tuple[str, Message]]:
    """Yield the slots of a description by their names."""
    for _, slot in parts:
        names = [value for name, value in slot if name == "name"] if isinstance(slot, list) else []
        if len(names) != 1 or not isinstance(names[0], str):
            raise ValueError(f"{source}: a slot needs a name, and only one")
        yield str(_scalar(names[0])), slot


def _set(fields: Message, name: str, value: str, after: str) -> None:
    for index, (known, _) in enumerate(fields):
        if known == name:
            fields[index] = (name, value)
            return
    places = [index for index, (known, _) in enumerate(fields) if known == after]
    fields.insert(places[-1] + 1 if places else len(fields), (name, value))


def _lines(fields: Message, indent: str) -> Iterator[str]:
    for name, value in fields:
        if isinstance(value, list):
            yield f"{indent}{name} {{"
            yield from _lines(value, indent + "  ")
            yield f"{indent}}}"
        else:
            yield f"{indent}{name}: {value}"
