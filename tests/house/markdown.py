"""Find the code blocks of a Markdown file, and what a block is said to print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^(?:<!--\s*(?P<mark>[\w-]+)\s*-->\n+)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, text, first line in the file, and the `<!-- mark -->` above it."""

    language: str
    text: str
    line: int
    mark: str = ""


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a file in order."""
    text = path.read_text("utf-8")
    return [
        Block(match["language"], match["text"], text.count("\n", 0, match.start("text")) + 1, match["mark"] or "")
        for match in _FENCE.finditer(text)
    ]


def programs(path: Path) -> list[tuple[Block, str | None]]:
    """Return the Python blocks and, where the next block is marked `output`, what they print."""
    found = blocks(path)
    return [
        (block, after.text if after is not None and after.mark == "output" else None)
        for block, after in zip(found, [*found[1:], None])
        if block.language == "python" and block.mark != "not-run"
    ]


def commands(path: Path) -> list[tuple[str, str]]:
    """Return the `$ command` lines of console blocks marked `run`, each with the output written under it."""
    found: list[tuple[str, str]] = []
    for block in blocks(path):
        if block.language == "console" and block.mark == "run":
            found += _commands(block.text)
    return found


def _commands(text: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def matches(expected: str, found: str) -> bool:
    """Compare outputs; `...` in the expected one stands for anything."""
    pattern = ".*?".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, found.strip(), re.DOTALL) is not None
