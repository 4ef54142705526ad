"""Find what a paddle name means here, or a name that is close to it."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from fluidio.errors import NotHere
from fluidio.paddle.aliases import target_of

__all__ = ["nearest", "resolve"]


def resolve(api: str) -> Any:
    """Return the object behind `fluid.layers.fc`; AttributeError, with the module's advice, when there is none."""
    full = f"paddle.{api}" if api == "fluid" or api.startswith("fluid.") else api
    parts = full.split(".")
    advice: NotHere | None = None
    for cut in range(len(parts), 0, -1):
        target = target_of(".".join(parts[:cut]))
        if target is None:
            continue
        found: Any = importlib.import_module(target)
        try:
            for part in parts[cut:]:
                found = getattr(found, part)
        except NotHere as error:
            advice = advice or error
            continue
        except AttributeError:
            continue
        return found
    raise advice or AttributeError(f"fluidio has no {api}")


def nearest(api: str) -> str:
    """Return a hint at names like a missing one."""
    parent, _, last = api.rpartition(".")
    try:
        names = dir(resolve(parent)) if parent else []
    except (AttributeError, ImportError):
        return "no such module here"
    near = difflib.get_close_matches(last, [n for n in names if not n.startswith("_")], 2, 0.6)
    return f"close to it: {', '.join(near)}" if near else "not part of fluidio"
