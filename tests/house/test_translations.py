"""The Chinese pages hold the code of the English ones, and say which state of them they translate."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.house import markdown
from tests.house.repository import ROOT

_PAGES = [ROOT / "README.zh-CN.md", *sorted((ROOT / "docs" / "zh").glob("*.md"))]
_STAMP = re.compile(r"<!-- translates (?P<page>\S+) at (?P<state>[0-9a-f]{8}) -->")


def _original(page: Path) -> tuple[Path, str]:
    """Return the English page and the state of it that this page translates."""
    stamp = _STAMP.search(page.read_text("utf-8"))
    assert stamp is not None, f"{page.name} must say what it translates: <!-- translates PAGE at STATE -->"
    return ROOT / stamp["page"], stamp["state"]


def _state(page: Path) -> str:
    """Return eight digits that change with the page's text."""
    return hashlib.sha256(page.read_bytes()).hexdigest()[:8]


def test_the_pages_that_users_read_first_are_translated() -> None:
    assert {page.name for page in _PAGES} >= {"README.zh-CN.md", "porting.md", "readers.md", "recordio.md"}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_a_translation_follows_its_original(page: Path) -> None:
    original, translated = _original(page)
    assert translated == _state(original), (
        f"{original.relative_to(ROOT)} has changed: bring {page.relative_to(ROOT)} up to date, then write "
        f"'at {_state(original)}' in its first lines"
    )


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_a_translation_has_the_code_of_its_original(page: Path) -> None:
    original, _ = _original(page)
    assert [block.text for block in markdown.blocks(page)] == [block.text for block in markdown.blocks(original)]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_both_languages_link_to_each_other(page: Path) -> None:
    original, _ = _original(page)
    assert page.name in original.read_text("utf-8")
    assert original.name in page.read_text("utf-8")
