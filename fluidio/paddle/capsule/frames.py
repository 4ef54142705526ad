"""Functions that pandas has dropped."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["append", "as_matrix", "get_value", "ix", "read_csv", "read_table"]


def as_matrix(frame: Any, columns: Any = None) -> Any:
    """Return the values of a frame."""
    if hasattr(frame, "as_matrix"):
        return frame.as_matrix(columns)
    return frame.values if columns is None else frame[columns].values


def get_value(frame: Any, *args: Any, **kwargs: Any) -> Any:
    """Return one value of a frame."""
    if hasattr(frame, "get_value"):
        return frame.get_value(*args, **kwargs)
    index, *column = args
    return frame.at[index, column[0]] if column else frame.at[index]


class _ByLabelOrPosition:
    """`frame.ix`: labels if the index has them, else positions."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def _key(self, key: Any) -> tuple[Any, Any]:
        parts = key if isinstance(key, tuple) else (key,)
        axes = [_axis(self._frame.axes[n], part) for n, part in enumerate(parts)]
        return self._frame.iloc, tuple(axes) if len(axes) > 1 else axes[0]

    def __getitem__(self, key: object) -> Any:
        place, where = self._key(key)
        return place[where]

    def __setitem__(self, key: object, value: object) -> None:
        place, where = self._key(key)
        place[where] = value


def _axis(labels: Any, key: Any) -> Any:
    """Return the positions that a key selects: those of its labels, or the key itself if it holds positions."""
    by_position = labels.dtype.kind not in "iuf"  # with integer labels, integers are labels
    if isinstance(key, slice):
        ends = (key.start, key.stop)
        if by_position and all(end is None or isinstance(end, int) for end in ends):
            return key
        return labels.slice_indexer(*ends, key.step)
    if hasattr(key, "dtype") and key.dtype == bool:
        return key
    if isinstance(key, (list, tuple)) or hasattr(key, "dtype"):
        return [_axis(labels, one) for one in key]
    return key if by_position and isinstance(key, int) else labels.get_loc(key)


def ix(frame: Any) -> Any:
    """Return frame.ix."""
    return _ByLabelOrPosition(frame) if not hasattr(frame, "ix") and hasattr(frame, "iloc") else frame.ix


def append(owner: Any, *args: Any, **kwargs: Any) -> Any:
    """Return owner.append(...); frames without that method are concatenated."""
    if hasattr(owner, "append"):
        return owner.append(*args, **kwargs)
    return _append_rows(owner, *args, **kwargs)


def _append_rows(owner: Any, other: Any, ignore_index: bool = False, **kwargs: Any) -> Any:
    pandas = importlib.import_module("pandas")

    others = other if isinstance(other, list) else [other]
    rows = [pandas.DataFrame([one]) if isinstance(one, dict) or hasattr(one, "to_frame") else one for one in others]
    if owner.ndim == 1:
        rows = others
    return pandas.concat([owner, *rows], ignore_index=ignore_index)


def _read(name: str, args: Any, kwargs: Any) -> Any:
    pandas = importlib.import_module("pandas")

    if not kwargs.pop("error_bad_lines", True):
        kwargs["on_bad_lines"] = "warn" if kwargs.pop("warn_bad_lines", True) else "skip"
    return getattr(pandas, name)(*args, **kwargs)


def read_csv(*args: object, **kwargs: object) -> Any:
    """Read a file; error_bad_lines=False is on_bad_lines now."""
    return _read("read_csv", args, kwargs)


def read_table(*args: object, **kwargs: object) -> Any:
    """Read a file; error_bad_lines=False is on_bad_lines now."""
    return _read("read_table", args, kwargs)
