"""Put values into a narrower dtype only where nothing is lost but the last digits of a float."""

from __future__ import annotations

import numpy as np

from fluidio.tensor.array import Array, DType

__all__ = ["narrowed", "unmasked"]


def narrowed(where: str, array: Array, dtype: DType) -> Array:
    """Return values with a dtype that earlier ones had.

    Args:
        where: what error texts begin with.

    Raises:
        ValueError: they are of another kind, or too large.
    """
    if array.dtype == dtype or not array.size:
        return array.astype(dtype, copy=False)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(f"{where}: {array.dtype} values after {dtype}: say which with dtypes=")
    if array.dtype.kind in "iu" and dtype.kind in "iu" and not np.can_cast(array.dtype, dtype):
        limits = np.iinfo(dtype)
        for value in (int(array.min()), int(array.max())):
            if not limits.min <= value <= limits.max:
                raise ValueError(
                    f"{where}: {value} after values of {dtype}, which cannot hold it: say which with dtypes="
                )
    try:
        with np.errstate(over="raise"):
            return array.astype(dtype)
    except FloatingPointError:
        problem = f"a {array.dtype} after values of {dtype}, which cannot hold it: say which with dtypes="
        raise ValueError(f"{where}: {problem}") from None


def unmasked(value: object) -> Array:
    """Return a value as an array.

    Raises:
        TypeError: some of its items are masked; tensors have no mask, so they would come back as numbers.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError("an array with masked items; tensors have no mask: fill them first")
    return np.asarray(value)
