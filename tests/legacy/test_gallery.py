"""The pictures of the gallery show the stored losses of the real 1.8.5."""

from __future__ import annotations

import re

import pytest

from tests.house.repository import ROOT
from tests.legacy.gallery import CURVES, Curve, draw, expected


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.program)
def test_a_picture_shows_the_stored_losses(curve: Curve) -> None:
    picture = (ROOT / "docs" / "gallery" / f"{curve.program}.svg").read_text("utf-8")
    lines = re.findall(r'<polyline class="old" points="([^"]+)"', picture)
    losses = expected(curve)
    assert len(losses) >= 50
    assert lines == re.findall(r'<polyline class="old" points="([^"]+)"', draw(curve, losses, losses))


def test_the_gallery_shows_every_picture() -> None:
    text = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert [curve.program for curve in CURVES if f"gallery/{curve.program}.svg" not in text] == []
