"""The run page in a real browser: curves, timeline, keyboard."""

from __future__ import annotations

from pathlib import Path

from fluidio.pages.page import write
from fluidio.pages.runs import run_page
from tests.pages.browser import opened
from tests.pages.test_runs import Machine


def test_curves_and_timeline_are_drawn_and_answer_the_keyboard(tmp_path: Path) -> None:
    machine = Machine()
    for n in range(5000):
        machine.step(0.06, 0.04, loss=1 / (n + 1), queues=[("open_files_0", "consumer", 0.59)])
    machine.recorder.error = "ValueError: <script>window.ran = 1</script>"
    write(tmp_path / "page.html", run_page(machine.recorder.as_json(), "train.py"))
    with opened(tmp_path / "page.html") as page:
        assert page.locator("[data-advice=source]").inner_text().startswith("The program waits 60 % of the time")
        assert "<script>" in page.locator("[role=alert]").inner_text()
        assert page.evaluate("window.ran") is None
        assert page.locator("[data-chart=loss] path.line").count() == 1
        assert page.locator("rect.event.step").count() > 5
        page.locator("[data-chart=loss] svg").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#tip").inner_text().startswith("step 100")
        page.locator(".lanes").focus()
        before = page.locator(".lanes svg").get_attribute("aria-label")
        page.keyboard.press("+")
        assert page.locator(".lanes svg").get_attribute("aria-label") != before
        page.keyboard.press("Escape")
        page.keyboard.press("l")
        assert page.locator("button", has_text="log scale").get_attribute("aria-pressed") == "true"
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_dark_page_prints_dark_on_white_with_its_colours_and_without_buttons(tmp_path: Path) -> None:
    machine = Machine()
    machine.step(0.06, 0.04, loss=1.0)
    write(tmp_path / "page.html", run_page(machine.recorder.as_json(), "train.py"))
    with opened(tmp_path / "page.html", dark=True) as page:
        style = "getComputedStyle(document.body)"
        on_screen = page.evaluate(f"{style}.color")
        page.emulate_media(media="print")
        assert page.evaluate(f"{style}.color") == "rgb(26, 32, 41)" != on_screen
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate(f"{style}.printColorAdjust") == "exact"
        assert page.locator("button:visible").count() == 0


def test_a_narrow_screen_needs_no_scrolling_to_the_side(tmp_path: Path) -> None:
    machine = Machine()
    for _ in range(20):
        machine.step(0.06, 0.04, loss=1.0, queues=[("a_reader_with_a_very_long_name_indeed_0", "consumer", 0.59)])
    write(tmp_path / "page.html", run_page(machine.recorder.as_json(), "a/very/long/path/" * 4 + "train.py"))
    with opened(tmp_path / "page.html", width=360) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
