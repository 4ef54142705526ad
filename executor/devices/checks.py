"""Checks of ids and labels on a GPU that do not stop the stream.

A kernel that meets a number out of range writes it down in device memory; the next fetch, which waits for the stream
anyway, brings the note along and raises the error. Meanwhile the number counts as 0: nothing is read or written out of
bounds.
"""

from __future__ import annotations

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
    """The notes of one device."""

    preamble = _NOTE
    """CUDA code with `fluidio_in_range(id, limit, ignore, op, note)` for kernels that check as they go."""

    def __init__(self, cupy: Any) -> None:
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
        """Return the number of an op and the device array for its notes, for a kernel that checks."""
        if self._note is None:
            self._note = self._cupy.zeros(3, "int64")
        if op.type not in self._types:
            self._types.append(op.type)
        self.pending = True
        return self._cupy.int32(self._types.index(op.type) + 1), self._note

    def check(self, ids: Array, limit: int, ignore: int, op: Operator) -> None:
        """Have ids looked at; those outside [0, limit) that are not `ignore` are reported by the next fetch."""
        if ids.size:
            self._kernel(ids, limit, ignore, *self.note(op))

    def take(self) -> list[Array]:
        """Return the device arrays that a fetch has to bring along (none if nothing was checked)."""
        return [self._note] if self.pending else []

    def raise_noted(self, notes: list[Any]) -> None:
        """Raise for what the fetched notes say.

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
