"""WaitClock: measure how much of an epoch a program spent waiting for data."""

from __future__ import annotations

__all__ = ["WaitClock"]

_LONG_ENOUGH = 5.0  # seconds; shorter epochs are not judged
_MOSTLY = 0.5


class WaitClock:
    """Adds up the waits of one `read` op and judges them once, at the end of the epoch."""

    __slots__ = ("began", "waited", "warned")

    def __init__(self) -> None:
        self.began = 0.0
        self.waited = 0.0
        self.warned = False

    def note(self, start: float, end: float) -> None:
        """Add a read that lasted from `start` to `end`."""
        if not self.began:
            self.began = start
        self.waited += end - start

    def verdict(self, now: float, name: str) -> str:
        """Return a warning if most of the epoch was waiting, else ""; start over."""
        took, waited = now - self.began, self.waited
        self.began = self.waited = 0.0
        if self.warned or took < _LONG_ENOUGH or waited < _MOSTLY * took:
            return ""
        self.warned = True
        return (
            f"the program waited for reader {name} during {waited / took:.0%} of the epoch ({waited:.0f} of {took:.0f} "
            "s): reading is the bottleneck. Files: more thread_num in open_files, and double_buffer; generators: "
            "xmap_readers or a DataLoader with num_workers; reader.stats() shows where the time goes"
        )
