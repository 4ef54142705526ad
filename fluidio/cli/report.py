"""Lines that are printed immediately and can be written to one file at the end."""

from __future__ import annotations

from pathlib import Path

__all__ = ["Report"]


class Report:
    """Prints lines and remembers them.

    >>> report = Report()
    >>> report.add("GPUs: 0")
    GPUs: 0
    >>> report.lines
    ['GPUs: 0']
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Print a line and remember it; the user's home folder is written as ~."""
        shown = line.replace(str(Path.home()), "~") if Path.home() != Path("/") else line
        self.lines.append(shown)
        print(shown, flush=True)

    def write(self, path: Path) -> None:
        """Write all lines so far to a file."""
        path.write_text("\n".join(self.lines) + "\n", "utf-8")
