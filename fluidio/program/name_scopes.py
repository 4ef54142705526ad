"""Name scopes: mark the parts of a model, stored on ops as `op_namescope`.

Fluid: scopes are counted across the whole process, whatever program the ops belong to.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from fluidio.current import Current

__all__ = ["name_scope", "scope_path"]

_scopes: Current[tuple[str, ...]] = Current(())
_counts: dict[tuple[str, ...], dict[str, int]] = {}
_counting = threading.Lock()


@contextlib.contextmanager
def name_scope(prefix: str | None = None) -> Iterator[None]:
    """Mark the ops built inside with `op_namescope`; names of variables do not change."""
    if not prefix:
        raise AssertionError("name_scope: the prefix must not be empty")
    outer = _scopes.get()
    with _counting:
        counts = _counts.setdefault(outer, {})
        number = counts.get(prefix, 0)
        counts[prefix] = number + 1
    with _scopes.guard((*outer, prefix if number == 0 else f"{prefix}_{number}")):
        yield


def scope_path() -> str:
    """Return the open scopes as ops store them: "/encoder/layer_1/"."""
    return "/" + "".join(f"{name}/" for name in _scopes.get())
