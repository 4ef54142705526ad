"""List sentences of our texts that the real 1.8.5 has, too: facts may carry over, sentences may not.

FLUID185=/path/to/fluid185 python -m tests.differential.borrowed [PATH...]

Compares comments, docstrings, messages and docs with 1.8.5's Python files, headers and libraries, word by word,
without numbers, names and placeholders. A run of WORDS words or more that both have, at least CONTENT of them with a
meaning of their own, is printed with its place, unless a line of `borrowed.txt` contains it. Prints nothing and exits
with 0 when all is well.
"""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import textwrap
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.house.repository import ROOT, texts

__all__ = ["WORDS", "Borrowed", "Text", "allowed", "borrowed", "grams", "texts_of"]

WORDS = 5
CONTENT = 3  # words that are not in _COMMON
ALLOWED = Path(__file__).with_suffix(".txt")

_CODE = (".py", ".pyi")
_C = (".c", ".h", ".cu", ".cuh", ".js", ".css")
_PROSE = (".md", ".txt", ".yml", ".toml", ".cfg", ".in", ".sh", "run", "full")
_PLACEHOLDER = re.compile(r"%[-+#0]*[\d.*]*[hlz]*[a-zA-Z%]|\{[^{}\n]*\}|\\[nt]")
_TOKEN = re.compile(r"[\w@](?:[\w@]|[-.:/'](?=\w))*")
_WORD = re.compile(r"[A-Za-z]?[a-z]+(?:'[a-z]+)?|[A-Z]+|I")
_COMMON_WORDS = """
    a all also an and another any are as at be because been before between both but by can cannot could did do
    does don't each either else end equal every first fluid for found from get gets give given gives got greater
    had has have here how i if import in into is isn't it its last least less list may maybe more most must name
    need needs neither never new no none nor not nothing now np number numpy of off on once one only or other
    others our out over own paddle same second shall should so some such than that the their them then there these
    they this those to too tuple two type under until up use used value was we were what when where whether which
    while who whose will with within without would yet you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_C_TEXT = re.compile(
    r'/\*(?P<block>.*?)\*/|//(?P<line>[^\n]*)|(?P<quoted>"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)', re.S
)
_SPAN = re.compile(r"`[^`\n]+`")
_FENCED = re.compile(r"^ *```.*?^ *```", re.S | re.M)
_PRINTABLE = re.compile(rb"[\t\n\x20-\x7e]{16,}")


class Text(NamedTuple):
    """One message, comment, docstring or paragraph, and the line where it begins."""

    line: int
    text: str


class Borrowed(NamedTuple):
    """A run of words that a text of ours shares with one of 1.8.5."""

    line: int
    shared: str
    text: str


def texts_of(name: str, source: str) -> list[Text]:
    """Return the texts in a file: what people read, without the code around it."""
    if name.endswith(_CODE):
        return [*_strings(source), *_comments(source)]
    if name.endswith(_C):
        return list(_c_texts(source))
    source = _FENCED.sub(lambda fenced: "\n" * fenced[0].count("\n"), source)
    return list(_paragraphs(_without_code(source)))


def grams(found: Iterable[Text]) -> Iterator[tuple[str, ...]]:
    """Yield every run of WORDS words in these texts."""
    for text in found:
        words = _words(text.text)
        yield from zip(*(words[start:] for start in range(WORDS)), strict=False)


def borrowed(found: Iterable[Text], theirs: set[tuple[str, ...]], allowed: set[tuple[str, ...]]) -> Iterator[Borrowed]:
    """Yield the longest runs of words in our texts that theirs hold, too, and that are not allowed."""
    for text in found:
        words = _words(text.text)
        end = 0  # of the run before
        for start in range(len(words) - WORDS + 1):
            stop = start + WORDS
            if stop <= end or not _is_shared(words[start:stop], theirs, allowed):
                continue
            while stop < len(words) and tuple(words[stop + 1 - WORDS : stop + 1]) in theirs:
                stop += 1
            end = stop
            if len(set(words[start:stop]) - _COMMON) < CONTENT:
                continue
            yield Borrowed(text.line, " ".join(words[start:stop]), text.text)


def allowed(table: str) -> set[tuple[str, ...]]:
    """Return the runs of words that the lines of `borrowed.txt` allow; `#` begins a comment."""
    return set(grams(Text(0, line.partition("#")[0]) for line in table.splitlines()))


def main(arguments: list[str]) -> int:
    """Print what our texts share with 1.8.5; with paths, only the texts of those files and folders."""
    launcher = os.environ.get("FLUID185")
    if not launcher:
        print("FLUID185 must name the launcher of the real 1.8.5", file=sys.stderr)
        return 2
    theirs = set(_original(launcher))
    known = allowed(ALLOWED.read_text("utf-8"))
    chosen = [Path(argument).resolve() for argument in arguments]
    status = 0
    for path in texts(*_CODE, *_C, *_PROSE):
        relative = path.relative_to(ROOT).as_posix()
        if path == ALLOWED or relative.startswith("tests/data/") or (chosen and not _is_below(path, chosen)):
            continue
        for found in borrowed(texts_of(path.name, path.read_text("utf-8")), theirs, known):
            print(f"{relative}:{found.line}: {found.shared}\n    {' '.join(found.text.split())[:200]}")
            status = 1
    return status


def _is_shared(words: list[str], theirs: set[tuple[str, ...]], allowed: set[tuple[str, ...]]) -> bool:
    return tuple(words) in theirs and tuple(words) not in allowed


def _is_below(path: Path, folders: list[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _words(text: str) -> list[str]:
    tokens = _TOKEN.findall(_PLACEHOLDER.sub(" ", text))
    return [token.lower() for token in tokens if _WORD.fullmatch(token) and (len(token) > 1 or token in "aAI")]


def _strings(source: str, line: int = 0) -> Iterator[Text]:
    """Yield the string constants of Python code; of those that are code themselves, the strings and comments."""
    pieces: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            pieces |= {id(value) for value in node.values}
            text = " ".join(str(value.value) for value in node.values if isinstance(value, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in pieces:
            text = node.value
        else:
            continue
        code = _as_code(text)
        if code is None:
            yield Text(line + node.lineno, _without_examples(text))
        else:
            yield from (Text(line + node.lineno, inner.text) for inner in [*_strings(code), *_comments(code)])


def _as_code(text: str) -> str | None:
    """Return a string that holds a script, dedented; None if it holds anything else."""
    if text.count("\n") < 2:
        return None
    code = textwrap.dedent(text)
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    return code


def _without_examples(text: str) -> str:
    lines = (line for line in text.splitlines() if not line.lstrip().startswith((">>>", "...")))
    return _without_code("\n".join(lines))


def _without_code(text: str) -> str:
    return _SPAN.sub(lambda span: " " if " " in span[0] else span[0], text)


def _comments(source: str) -> Iterator[Text]:
    """Yield the comments of Python code; those on successive lines as one text."""
    lines: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1 and lines:
            yield Text(first, " ".join(lines))
            lines = []
        first = first if lines else token.start[0]
        last = token.start[0]
        lines.append(token.string.lstrip("#"))
    if lines:
        yield Text(first, " ".join(lines))


def _c_texts(source: str) -> Iterator[Text]:
    for found in _C_TEXT.finditer(source):
        text = found["block"] or found["line"] or re.sub(r'"\s*"|\\n', " ", found["quoted"] or "")
        yield Text(source.count("\n", 0, found.start()) + 1, text)


def _paragraphs(source: str) -> Iterator[Text]:
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", source):
        if paragraph.strip():
            yield Text(line, paragraph)
        line += paragraph.count("\n")


def _original(launcher: str) -> Iterator[tuple[str, ...]]:
    """Yield the runs of words in the Python files and libraries of the real 1.8.5."""
    answer = subprocess.run(
        [launcher, "-c", "import paddle; print(paddle.__path__[0])"], check=True, capture_output=True, text=True
    )
    for path in Path(answer.stdout.split("\n")[-2]).rglob("*"):
        if path.suffix in (".py", ".h"):
            # Code and all: messages are put together of pieces there.
            yield from grams([Text(1, path.read_text("utf-8", errors="replace"))])
        elif path.suffix == ".so" and path.is_file():
            yield from grams(Text(0, piece.decode()) for piece in _PRINTABLE.findall(path.read_bytes()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
