"""Pages on the disk: whole or not at all, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fluidio.pages.page import write
from fluidio.recordio.files.part_files import is_part


def test_a_page_replaces_the_old_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "a.html"
    for text in ("old", "\u00fc\ud800"):
        write(path, text)
    assert path.read_text(encoding="utf-8") == "\u00fc?"
    seen: list[str] = []
    monkeypatch.setattr(os, "replace", lambda part, target: seen.append(os.path.basename(part)))
    write(path, "killed before it is renamed")
    assert is_part(seen[0]) and path.read_text(encoding="utf-8") == "\u00fc?"


def test_a_url_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="not to a store"):
        write("memory://q/x.html", "")
    assert os.listdir(tmp_path) == []
