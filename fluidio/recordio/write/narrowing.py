"""Convert values to a narrower dtype only if nothing but the last digits of floats is lost."""

from __future__ import annotations

import numpy as np

from fluidio.tensor.array import Array, DType

__all__ = ["is_exact", "narrowed", "unmasked"]


def narrowed(where: str, array: Array, dtype: DType) -> Array:
    """Return values in the dtype of earlier ones.

    Args:
        where: the beginning of error texts.

    Raises:
        ValueError: they are of another kind, or too large.
    """
    if array.dtype == dtype or not array.size:
        return array.astype(dtype, copy=False)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(f"{where}: {array.dtype} values after {dtype} values: choose one with dtypes=")
    if array.dtype.kind in "iu" and dtype.kind in "iu" and not np.can_cast(array.dtype, dtype):
        limits = np.iinfo(dtype)
        for value in (int(array.min()), int(array.max())):
            if not limits.min <= value <= limits.max:
                raise ValueError(
                    f"{where}: {value} does not fit {dtype}, the dtype of the values before: choose a wider "
                    "one with dtypes="
                )
    try:
        with np.errstate(over="raise"):
            found = array.astype(dtype)
    except FloatingPointError:
        found = None
    if found is None or not is_exact(found, array):
        raise ValueError(
            f"{where}: {dtype}, the dtype of the values before, cannot hold this {array.dtype}: use dtypes="
        )
    return found


def is_exact(floats: Array, array: Array) -> bool:
    """Tell whether floats hold the very whole numbers of an array; True for arrays of anything else."""
    if array.dtype.kind not in "iu" or floats.dtype.kind != "f":
        return True
    limit = 2.0 ** (8 * array.dtype.itemsize - (array.dtype.kind == "i"))
    wide = floats.astype(np.float64)
    return bool((wide < limit).all()) and np.array_equal(wide.astype(array.dtype), array)


def unmasked(value: object) -> Array:
    """Return a value as an array.

    Raises:
        TypeError: some of its items are masked; tensors have no mask, so they would come back as numbers.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError("the array has masked items, which tensors cannot express: fill them first")
    return np.asarray(value)
