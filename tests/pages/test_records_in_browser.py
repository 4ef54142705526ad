"""The records page in a real browser: it draws, filters, pages and opens samples, and shows markup as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fluidio.pages.page import write
from fluidio.pages.records import records_page
from fluidio.recordio import Writer
from fluidio.recordio.format.tensor_codec import encode_record
from tests.pages.browser import opened


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    with Writer(str(tmp_path / "a.recordio"), max_chunk_bytes=5000) as writer:
        for n in range(60):
            writer.write(encode_record([(random.random((1, 64), np.float32), ()), (np.array([[n % 10]]), ())]))
    write(tmp_path / "page.html", records_page([str(tmp_path / "a.recordio")]))
    return tmp_path / "page.html"


def test_the_page_draws_and_samples_are_filtered_paged_and_opened_by_keyboard_alone(digits: Path) -> None:
    with opened(digits) as page:
        assert page.locator(".strip svg rect").count() > 3
        assert page.locator("[data-column=slot_0] svg rect").count() >= 40
        assert page.locator(".samples canvas").count() == 10
        page.keyboard.press("ArrowRight")
        assert page.locator("[role=status]").first.inner_text().startswith("11 to 20 of 60")
        page.keyboard.press("/")
        page.keyboard.type("slot_1=7")
        assert page.locator("[role=status]").first.inner_text() == "1 to 6 of 6 samples"
        page.keyboard.press("Escape")
        page.locator(".samples tbody tr").nth(1).focus()
        page.keyboard.press("Enter")
        assert page.locator("dialog[open] h3").inner_text() == "Record 17"
        page.keyboard.press("Escape")
        assert page.locator("dialog[open]").count() == 0


def test_the_page_is_dark_where_the_system_is_and_never_wider_than_the_window(digits: Path) -> None:
    with opened(digits, width=390, dark=True) as page:
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.keyboard.press("t")
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_record_of_markup_is_shown_and_not_run(tmp_path: Path) -> None:
    evil = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    with Writer(str(tmp_path / "<b>.recordio")) as writer:
        for _ in range(3):
            writer.write(evil)
    write(tmp_path / "page.html", records_page([str(tmp_path / "<b>.recordio")]))
    with opened(tmp_path / "page.html") as page:
        assert page.locator(".samples .clip").first.inner_text() == evil
        assert page.evaluate("window.ran") is None
        assert page.locator("h1").inner_text().endswith("<b>.recordio")
