"""`Dataset`: the source of the map-style DataLoader."""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset"]


class Dataset:
    """A source of samples with a length; subclasses define `__getitem__` and `__len__`.

    >>> class Squares(Dataset):
    ...     def __getitem__(self, idx):
    ...         return (idx * idx,)
    ...     def __len__(self):
    ...         return 10
    >>> Squares()[3]
    (9,)
    """

    def __getitem__(self, idx: int) -> Any:
        """Return the sample with this number: a tuple or list of fields."""
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")

    def __len__(self) -> int:
        """Return the number of samples."""
        raise NotImplementedError(f"{type(self).__name__} must define __len__")
