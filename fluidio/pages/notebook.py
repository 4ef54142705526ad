"""Show a page inside a notebook, in a separate frame so that the two do not interfere."""

from __future__ import annotations

import html

__all__ = ["framed"]


def framed(page: str, height: int = 720) -> str:
    """Return HTML that shows a page in a notebook; its scripts run in a sandbox."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" title="fluidio" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )
