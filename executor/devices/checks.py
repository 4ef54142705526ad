"""Check ids and labels on a GPU without stalling the stream.

A kernel that finds a number out of range records it in device memory; the next fetch, which waits for the stream
anyway, copies the record back and raises the error. Until then the number is treated as 0, so nothing is read or
written out of bounds.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.program import Operator
from fluidio.tensor.array import Array

__all__ = ["DeferredChecks"]

_NOTE = """
__device__ inline long long fluidio_in_range(long long id, long long limit, long long ignore, int op, long long *note) {
    if ((id >= 0 && id < limit) || id == ignore) return id;
    if (atomicCAS((unsigned long long *)note, 0ull, (unsigned long long)op) == 0ull) {
        note[1] = id;
        note[2] = limit;
    }
    return 0;
}
"""


class DeferredChecks:
    """The out-of-range records of one device."""

    preamble = _NOTE
    """CUDA code with `fluidio_in_range(id, limit, ignore, op, note)` for kernels that check while they compute."""

    def __init__(self, cupy: ModuleType) -> None:
        self._cupy = cupy
        self._note: Any = None
        self._types: list[str] = []  # op types by number, from 1
        self._kernel = cupy.ElementwiseKernel(
            "I ids, int64 limit, int64 ignore, int32 op, raw int64 note",
            "",
            "fluidio_in_range((long long)ids, limit, ignore, op, (long long *)&note[0])",
            "fluidio_check_range",
            preamble=_NOTE,
        )
        self.pending = False

    def note(self, op: Any) -> tuple[Any, Any]:
        """Return an op's number and the device array that a checking kernel records into."""
        if self._note is None:
            self._note = self._cupy.zeros(3, "int64")
        if op.type not in self._types:
            self._types.append(op.type)
        self.pending = True
        return self._cupy.int32(self._types.index(op.type) + 1), self._note

    def check(self, ids: Array, limit: int, ignore: int, op: Operator) -> None:
        """Check ids; the next fetch reports any outside [0, limit) other than `ignore`."""
        if ids.size:
            self._kernel(ids, limit, ignore, *self.note(op))

    def take(self) -> list[Array]:
        """Return the device arrays that a fetch must also copy (none if nothing was checked)."""
        return [self._note] if self.pending else []

    def raise_noted(self, notes: list[Any]) -> None:
        """Raise the error that the fetched records describe, if any.

        Raises:
            EnforceNotMet: naming the op, the number and the range.
        """
        self.pending = False
        if not notes or not notes[0][0]:
            return
        number, found, limit = (int(n) for n in notes[0])
        self._note.fill(0)
        type = self._types[number - 1]
        is_label = "entropy" in type or "crf" in type
        what, unit = ("label", "classes") if is_label else ("id" if "lookup" in type else "index", "rows")
        raise EnforceNotMet(
            f"{what} {found} is out of range: the input has {limit} {unit}, 0 ... {limit - 1} (op {type}, seen on the "
            "GPU since the last fetch: an earlier run may have fed it)"
        )
