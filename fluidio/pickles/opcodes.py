"""Check the opcodes of a pickle before anything runs them.

The unpickler believes every number in a pickle: nine bytes make it take gigabytes for a memo, and a million tuples
inside each other overflow the stack of C when they are hashed. One pass over the opcodes, which takes memory in
proportion to what is really there, bounds lengths, memo numbers and depth. A frame must hold whole opcodes: the
unpickler skips the rest of one that does not, and so would see others than those that were checked.
`_scan.c` does it where it could be compiled.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any

compiled: Any
try:
    from fluidio.pickles import _scan as compiled
except ImportError:
    compiled = None

__all__ = ["DEEPEST", "LEAST_MEMO", "compiled", "scan"]

DEEPEST = 256
"""Levels of nested containers; Python's own recursion limit allows a pickler some 900."""
LEAST_MEMO = 1 << 16
"""A memo number that is fine in the shortest pickle: a pickler that wrote others before may count on."""

# What follows an opcode: a number of bytes, or one of these. The same numbers are in _scan.c.
_LINE, _TWO_LINES, _SIZE1, _SIZE4, _SIZE8, _UNKNOWN = range(100, 106)
# Effects on the stack.
_COMPUTE, _UPDATE, _TO_MARK, _UPDATE_TO_MARK, _PUT, _GET, _MEMOIZE, _MARK, _POP, _STOP, _FRAME = range(11)

_ACTIONS = {
    **dict.fromkeys(["PUT", "BINPUT", "LONG_BINPUT"], _PUT),
    **dict.fromkeys(["GET", "BINGET", "LONG_BINGET"], _GET),
    **dict.fromkeys(["APPEND", "SETITEM", "BUILD", "DUP"], _UPDATE),
    **dict.fromkeys(["APPENDS", "SETITEMS", "ADDITEMS"], _UPDATE_TO_MARK),
    "MEMOIZE": _MEMOIZE,
    "MARK": _MARK,
    "POP": _POP,
    "STOP": _STOP,
    "FRAME": _FRAME,
}
_SIZES = {
    pickletools.TAKEN_FROM_ARGUMENT1: _SIZE1,
    pickletools.TAKEN_FROM_ARGUMENT4: _SIZE4,
    pickletools.TAKEN_FROM_ARGUMENT4U: _SIZE4,
    pickletools.TAKEN_FROM_ARGUMENT8U: _SIZE8,
}


def scan(data: bytes | bytearray | memoryview, start: int = 0) -> int:
    """Return the end of the pickle that begins at `start`.

    Raises:
        ValueError: what is wrong with it.
    """
    if compiled is not None:
        end: int = compiled.scan(data, start, _TABLE, DEEPEST, LEAST_MEMO)
        return end
    return _Scanner(bytes(data)).run(start)


def _argument(opcode: pickletools.OpcodeInfo) -> int:
    if opcode.arg is None:
        return 0
    if opcode.arg.n == pickletools.UP_TO_NEWLINE:
        return _TWO_LINES if "pair" in opcode.arg.name else _LINE
    return _SIZES.get(opcode.arg.n, opcode.arg.n)


def _row(opcode: pickletools.OpcodeInfo) -> tuple[int, int, int, int]:
    """Return the argument, the action, what is popped besides everything down to the mark, and what is pushed."""
    names = [kind.name for kind in opcode.stack_before]
    usual = _TO_MARK if "mark" in names else _COMPUTE
    pops = names.index("mark") if "mark" in names else len(names)
    return _argument(opcode), _ACTIONS.get(opcode.name, usual), pops, len(opcode.stack_after)


_ROWS = [(_UNKNOWN, _COMPUTE, 0, 0)] * 256
for _opcode in pickletools.opcodes:
    _ROWS[ord(_opcode.code)] = _row(_opcode)
_TABLE = bytes(number for row in _ROWS for number in row)

_CUT = "it ends in the middle of an opcode"
_UNDERFLOW = "an opcode finds nothing to work on"
_ACROSS = "an opcode does not end where its frame does"
_SET_MARK = -1  # instead of a depth


class _Scanner:
    """A pickle machine that tracks depths instead of values."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.stack: list[int] = []
        self.memo: dict[int, int] = {}
        self.steps = 0
        self.actions: dict[int, Callable[[int], object]] = {
            _PUT: self._put,
            _GET: self._get,
            _MEMOIZE: lambda _: self._put(len(self.memo)),
            _MARK: lambda _: self.stack.append(_SET_MARK),
            _POP: lambda _: self._pop_anything(),
        }

    def run(self, at: int) -> int:
        frame = 0  # where it ends
        while True:
            if frame and at > frame:
                raise ValueError(_ACROSS)
            frame = 0 if at == frame else frame
            if at >= len(self.data):
                raise ValueError(_CUT)
            kind, action, pops, pushes = _ROWS[self.data[at]]
            number, at = self._skip(kind, at + 1)
            if action == _FRAME:
                if number > len(self.data) - at:
                    raise ValueError(_CUT)
                if frame:
                    raise ValueError(_ACROSS)
                frame = at + number
            elif action == _STOP:
                self._top()
                if frame and at > frame:
                    raise ValueError(_ACROSS)
                return at
            elif action in self.actions:
                self.actions[action](number)
            else:
                self._compute(action, pops, pushes)
            self.steps += 1

    def _skip(self, kind: int, at: int) -> tuple[int, int]:
        """Return the number that an argument holds, if any, and where the argument ends."""
        if kind == _UNKNOWN:
            raise ValueError("it has an opcode that does not exist")
        if kind in (_LINE, _TWO_LINES):
            end = self._line(at)
            return _decimal(self.data[at:end]), end + 1 if kind == _LINE else self._line(end + 1) + 1
        width = {_SIZE1: 1, _SIZE4: 4, _SIZE8: 8}.get(kind, kind)
        number = int.from_bytes(self.data[at : at + width], "little")
        end = at + width + (number if kind >= _LINE else 0)
        if end > len(self.data):
            raise ValueError(_CUT)
        return number, end

    def _line(self, at: int) -> int:
        end = self.data.find(b"\n", at)
        if end < 0:
            raise ValueError(_CUT)
        return end

    def _compute(self, action: int, pops: int, pushes: int) -> None:
        depth = 0
        if action in (_TO_MARK, _UPDATE_TO_MARK):
            while (item := self._pop_anything()) != _SET_MARK:
                depth = max(depth, item + 1)
        for left in range(pops, 0, -1):
            self._top()
            is_container = left == 1 and action in (_UPDATE, _UPDATE_TO_MARK)
            depth = max(depth, self.stack.pop() + (not is_container))
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        self.stack += [depth] * pushes

    def _top(self) -> int:
        if not self.stack or self.stack[-1] == _SET_MARK:
            raise ValueError(_UNDERFLOW)
        return self.stack[-1]

    def _pop_anything(self) -> int:
        if not self.stack:
            raise ValueError(_UNDERFLOW)
        return self.stack.pop()

    def _put(self, number: int) -> None:
        top = self._top()
        if number > max(LEAST_MEMO, self.steps):
            raise ValueError("the number of a memo is far too large")
        self.memo[number] = top

    def _get(self, number: int) -> None:
        if number not in self.memo:
            raise ValueError("it refers to a memo that does not exist")
        self.stack.append(self.memo[number])


def _decimal(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) <= 18 else 1 << 64
