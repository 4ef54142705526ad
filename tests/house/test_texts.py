"""Files stay short, and no text names a developer's machine."""

from __future__ import annotations

import ast
import re

from tests.house.repository import ROOT, texts

LONGEST = 400
LONGER: dict[str, int] = {}  # file -> lines it may have, for the rare one that reads better whole

# Paths of a developer's machine, written so that this file does not hold them itself.
_PRIVATE = re.compile(
    "|".join(
        [
            r"(?<![\w.])/wor[k]/",
            "/tmp/ven[v]",
            r"\.\./share[d]",
            r"/hom[e]/\w+/",
            "/roo[t]/",
            r"/User[s]/\w+/",
            "/opt/p18[5]",
        ]
    )
)


def test_no_python_file_is_longer_than_400_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in texts(".py")}
    assert {name: count for name, count in lengths.items() if count > LONGER.get(name, LONGEST)} == {}
    assert set(LONGER) <= set(lengths)


def test_no_text_names_a_path_of_a_developers_machine() -> None:
    kinds = (".py", ".md", ".cfg", ".toml", ".txt", ".in", ".sh", "run", "full", ".json", ".yml")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in texts(*kinds)
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if _PRIVATE.search(line)
    ]
    assert found == []


def test_every_python_file_begins_with_a_docstring() -> None:
    bare = [
        str(path.relative_to(ROOT))
        for path in texts(".py")
        if "tests/data" not in str(path) and not _documented(path.read_text("utf-8"))
    ]
    assert bare == []


def _documented(text: str) -> bool:
    tree = ast.parse(text)
    return not tree.body or ast.get_docstring(tree) is not None
