"""Write pickles that old readers can read."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

__all__ = ["dumps"]


def dumps(value: object) -> bytes:
    """Return the pickle of `value` in protocol 2, with the names that NumPy's modules had before 2.0.

    Python 2 and every NumPy can read it.
    """
    data = pickle.dumps(value, protocol=2)
    if not _RENAMES or _NEW_NAME not in data:
        return data
    # In protocol 2 a name is plain text, so it can be replaced where it is certainly a name: a pickle of arrays
    # names each function once. If the value itself may contain that text, the slow pickler tells them apart.
    items = value if isinstance(value, (tuple, list)) else (value,)
    kinds = sum(any(isinstance(item, kind) for item in items) for kind in (np.ndarray, np.generic))
    objects = any(isinstance(item, np.ndarray) and item.dtype.hasobject for item in items)
    if data.count(_NEW_NAME) == kinds and not objects:
        return data.replace(_NEW_NAME, _OLD_NAME)
    buffer = io.BytesIO()
    _OldNamesPickler(buffer, protocol=2).dump(value)
    return buffer.getvalue()


_NEW_NAME = b"cnumpy._core.multiarray\n"
_OLD_NAME = b"cnumpy.core.multiarray\n"
_RENAMES = _NEW_NAME in pickle.dumps(np.zeros(0), protocol=2)  # NumPy 1 writes the old name itself


class _OldNamesPickler(pickle._Pickler):
    """Write NumPy's own functions under the module names of NumPy 1."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if getattr(obj, "__module__", None) != "numpy._core.multiarray":
            plain: Any = super()
            plain.save_global(obj, name)
            return
        writer: Any = self  # the type stubs lack the pure-Python pickler
        writer.write(_OLD_NAME + (name or obj.__name__).encode() + b"\n")
        writer.memoize(obj)
