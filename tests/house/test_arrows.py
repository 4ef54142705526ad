"""Imports go one way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import arrows
from tests.house.repository import ROOT, modules

MODULES = modules()
FACE = "fluidio"  # its __init__ re-exports from everywhere; nobody below `paddle` may go through it


@pytest.mark.parametrize("module", [name for name in MODULES if name != FACE])
def test_imports_go_down(module: str) -> None:
    importer = arrows.part_of(module)
    wrong = [
        f"{MODULES[module].name}:{line} imports {name}"
        for line, name in arrows.imports(MODULES[module], module)
        if arrows.is_wrong(importer, _imported_part(name))
    ]
    assert wrong == []


def _imported_part(name: str) -> str:
    """Return the part that an imported name is or belongs to; a name of the face itself counts as `testing`."""
    part = arrows.part_of(name)
    known = {word for group in arrows.ORDER for word in group.split()} | {arrows.part_of(module) for module in MODULES}
    return part if part in known and part else "testing"


def test_the_allowed_upward_arrows_are_in_use() -> None:
    used = {
        (arrows.part_of(module), arrows.part_of(name))
        for module, path in MODULES.items()
        for _, name in arrows.imports(path, module)
    }
    assert set(arrows.ALLOWED) <= used


@pytest.mark.parametrize(
    ("importer", "imported", "wrong"),
    [
        ("tensor", "errors", False),
        ("errors", "tensor", True),
        ("layers", "executor", True),
        ("executor", "layers", True),
        ("layers", "ops", False),
        ("ops", "layers", True),
        ("cli", "paddle", False),
    ],
)
def test_the_order_is_read_as_written(importer: str, imported: str, wrong: bool) -> None:
    assert arrows.is_wrong(importer, imported) is wrong


def test_the_architecture_shows_the_same_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert [group for group in arrows.ORDER if group != "__main__" and f" {group}\n" not in text] == []


def test_a_module_without_a_place_is_an_error() -> None:
    with pytest.raises(LookupError, match="no place"):
        arrows.place("nowhere")


def test_imports_inside_functions_and_relative_ones_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "reading.py"
    file.write_text("from . import lod\nfrom ..errors import X\ndef f():\n    import fluidio.cli\n    import numpy\n")
    assert arrows.imports(file, "fluidio.tensor.reading") == [
        (1, "fluidio.tensor.lod"),
        (2, "fluidio.errors.X"),
        (4, "fluidio.cli"),
    ]
