"""Which page is the right one for some files."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.pages.records import records_page
from fluidio.recordio.files.paths import expand

__all__ = ["page_of"]


def page_of(files: Sequence[str], *, verify: bool = False) -> str:
    """Return the page about some files: records."""
    return records_page(expand(list(files)), verify=verify)
