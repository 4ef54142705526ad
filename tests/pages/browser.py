"""A real browser for the tests of pages: Chromium, driven by Playwright; tests skip where either is missing."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["opened"]

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextlib.contextmanager
def opened(path: Path, *, width: int = 1280, dark: bool = False) -> Iterator[Any]:
    """Open a page and wait until it is drawn; fail where it logs an error or asks for anything but itself."""
    playwright = pytest.importorskip("playwright.sync_api", reason="extra: playwright is not installed")
    problems: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = _launched(driver, playwright.Error)
        scheme = "dark" if dark else "light"
        shown = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
        shown.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        shown.on("pageerror", lambda error: problems.append(str(error)))
        shown.on("request", lambda request: problems.append(request.url) if _foreign(request.url, path) else None)
        try:
            shown.goto(path.as_uri())
            shown.wait_for_selector("body[data-ready]", timeout=30_000)
            yield shown
            assert problems == []
        finally:
            browser.close()


def _foreign(url: str, path: Path) -> bool:
    return url != path.as_uri() and not url.startswith("data:")


def _launched(driver: Any, failure: type[Exception]) -> Any:
    installed = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        return driver.chromium.launch(executable_path=installed, args=_FLAGS)
    except failure:
        if installed is None:
            pytest.skip("extra: there is no Chromium")
        raise
