"""Read facts from a program's bytes without running or fully parsing it: ops, variables, which Fluid wrote it.

This works even if the program has ops that fluidio lacks, or comes from Paddle 2.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fluidio.program.op_def import OP_TABLE
from fluidio.program.wire import Message, signed

__all__ = ["RawProgram", "read_raw"]


@dataclass
class RawProgram:
    """The facts of a ProgramDesc."""

    version: int | None = None
    blocks: int = 0
    ops: Counter[str] = field(default_factory=Counter)
    attrs: set[str] = field(default_factory=set)
    variables: int = 0

    @property
    def unknown(self) -> list[str]:
        """The op types that fluidio lacks."""
        return sorted(set(self.ops) - set(OP_TABLE))

    @property
    def writer(self) -> str:
        """The version of Fluid that wrote it, as far as the bytes tell."""
        if self.version:
            major, minor, patch = self.version // 1_000_000, self.version // 1000 % 1000, self.version % 1000
            name = "Fluid" if major < 2 else "Paddle"
            return f"{name} {major}.{minor}.{patch}"
        if "op_device" in self.attrs:
            return "Fluid 1.8"
        if "op_callstack" in self.attrs:
            return "Fluid 1.4 to 1.7"
        if "op_namescope" in self.attrs:
            return "Fluid 1.0 to 1.3"
        if "op_role" in self.attrs:
            return "Fluid 0.12 to 0.15"
        return "Fluid 0.11 or older, or a program without attributes"


def read_raw(data: bytes, what: str) -> RawProgram:
    """Walk the bytes of a program.

    Raises:
        EnforceNotMet: they are not a ProgramDesc.
    """
    found = RawProgram()
    message = Message(data, what)
    for number, value in message.fields():
        if number == 1 and isinstance(value, Message):
            _block(value, found)
        elif number in (2, 4) and isinstance(value, Message):
            found.version = next((signed(int(v)) for n, v in value.fields() if n == 1 and isinstance(v, int)), None)
    if not found.blocks:
        message.fail("it has no block")
    return found


def _block(message: Message, found: RawProgram) -> None:
    found.blocks += 1
    for number, value in message.fields():
        if number == 3:
            found.variables += 1
        elif number == 4 and isinstance(value, Message):
            _op(value, found)


def _op(message: Message, found: RawProgram) -> None:
    for number, value in message.fields():
        if number == 3 and isinstance(value, Message):
            found.ops[value.text()] += 1
        elif number == 4 and isinstance(value, Message):
            found.attrs.update(v.text() for n, v in value.fields() if n == 1 and isinstance(v, Message))
