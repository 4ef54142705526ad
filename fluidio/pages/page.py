"""Build a page: one HTML file with a style sheet, a script and the data, which loads nothing else.

Data is embedded as JSON without `<`, `>` and `&`, so that no text of a file can end the element; the scripts insert
text only as text. A content security policy allows the page's own script by its hash and no network.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import html
import importlib.resources
import json
import math
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from fluidio.recordio.files.part_files import writing_whole
from fluidio.recordio.files.source import is_url
from fluidio.version import __version__

__all__ = ["as_json", "page", "write"]

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_NO_SCRIPT = "This page draws its content with JavaScript, which is switched off."


def page(kind: str, title: str, data: Mapping[str, object]) -> str:
    """Return the HTML of a page.

    Args:
        kind: "records", "program", "run" or "compare": the script that draws it.
        data: the values the script draws; plain or NumPy values.
    """
    shared = "charts.js" if kind in ("run", "compare") else ""
    script = "".join(map(_asset, ["base.js", *filter(None, [shared]), f"{kind}.js"]))
    style = "".join(map(_asset, ["base.css", f"{'run' if shared else kind}.css"]))
    described = {"fluidio": __version__, "made": time.strftime("%Y-%m-%d %H:%M"), "title": title, **data}
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        "<!doctype html>\n"
        f'<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_text(title)} · fluidio</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f'<main id="page"><noscript>{_NO_SCRIPT}</noscript></main>\n'
        f'<script type="application/json" id="data">{as_json(described)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def as_json(value: object) -> str:
    """Return JSON that is safe inside an HTML script element; nan and infinities are strings."""
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a page atomically.

    Raises:
        OSError: it cannot be written, or the path is a URL: a browser opens files.
    """
    if is_url(os.fspath(path)):
        raise OSError(errno.EINVAL, "pages can be written only to a disk, not to a store", os.fspath(path))
    target = os.path.abspath(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with writing_whole(target) as file:
        file.write(text.encode(errors="replace"))


def _plain(value: object) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(float(value))
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _text(title: str) -> str:
    return html.escape(title.encode("utf-8", "replace").decode())


def _asset(name: str) -> str:
    return importlib.resources.files("fluidio.pages.assets").joinpath(name).read_text("utf-8")
