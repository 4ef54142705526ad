"""Read the data out of a page."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["data_of"]


def data_of(page: str) -> Any:
    """Return the data that a page holds."""
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])
