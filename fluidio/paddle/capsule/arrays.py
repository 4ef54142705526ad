"""Old behaviour of NumPy: ragged arrays, files of objects, binary strings, dropped functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio import pickles

__all__ = [
    "array",
    "asarray",
    "asfarray",
    "asscalar",
    "cast",
    "choice",
    "copy_transposed",
    "find_common_type",
    "fromstring",
    "histogram",
    "is_ragged",
    "issctype",
    "itemset",
    "load",
    "msort",
    "newbyteorder",
    "obj2sctype",
    "permutation",
    "ptp",
    "random_integers",
    "sctypes",
    "sum_of",
    "tostring",
    "trapz",
    "unique",
]


def is_ragged(error: ValueError) -> bool:
    """Return whether NumPy refused rows of different lengths."""
    return "inhomogeneous" in str(error)


def array(object: Any, *args: Any, **kwargs: Any) -> Any:
    """Return np.array(object): rows of different lengths make an array of objects, copy=False copies if it must."""
    if "copy" in kwargs and not kwargs["copy"]:
        del kwargs["copy"]
        return asarray(object, *args, **kwargs) if "subok" not in kwargs else np.asanyarray(object, *args)
    try:
        return np.array(object, *args, **kwargs)
    except ValueError as error:
        if not is_ragged(error) or args or "dtype" in kwargs:
            raise
        return np.array(object, dtype=np.object_, **kwargs)


def asarray(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Return np.asarray(a): rows of different lengths make an array of objects."""
    try:
        return np.asarray(a, *args, **kwargs)
    except ValueError as error:
        if not is_ragged(error) or args or "dtype" in kwargs:
            raise
        return np.asarray(a, dtype=np.object_, **kwargs)


def permutation(x: object) -> Any:
    """Return np.random.permutation(x), also of rows of different lengths."""
    return np.random.permutation(x if isinstance(x, (int, np.integer)) else asarray(x))


def choice(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Return np.random.choice(a), also of rows of different lengths."""
    return np.random.choice(a if isinstance(a, (int, np.integer)) else asarray(a), *args, **kwargs)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Return np.load(file); arrays of objects are read if they hold only plain data, so that no code of theirs runs."""
    if args or "allow_pickle" in kwargs:
        return np.load(file, *args, **kwargs)
    try:
        loaded = np.load(file, **kwargs)
    except ValueError as error:
        if "allow_pickle" not in str(error) or hasattr(file, "read"):
            raise
        return _load_objects(file)
    return loaded


def _load_objects(path: Any) -> Any:
    with open(path, "rb") as stream:
        if stream.read(6) != b"\x93NUMPY":  # a bare pickle
            stream.seek(0)
            return pickles.load(stream, source=str(path))
        major = stream.read(2)[0]
        length = int.from_bytes(stream.read(2 if major == 1 else 4), "little")
        stream.read(length)
        return pickles.load(stream, source=str(path))


def fromstring(string: Any, dtype: Any = float, count: int = -1, sep: str = "", **kwargs: Any) -> Any:
    """Return np.fromstring(string), also of bytes: a copy that can be written to."""
    if sep:
        return np.fromstring(string, dtype, count, sep=sep, **kwargs)
    data = string.encode("latin1") if isinstance(string, str) else string
    return np.frombuffer(data, dtype, count).copy()


def histogram(a: Any, *args: Any, normed: bool | None = None, **kwargs: Any) -> Any:
    """Return np.histogram(a); `normed` is now `density`."""
    return np.histogram(a, *args, **({**kwargs, "density": normed} if normed else kwargs))


def sum_of(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Return np.sum(a), or the sum of a generator."""
    return sum(a) if not hasattr(a, "__len__") and hasattr(a, "__next__") else np.sum(a, *args, **kwargs)


def unique(ar: Any, *args: Any, **kwargs: Any) -> Any:
    """Return np.unique(ar); without an axis the inverse is flat."""
    found = np.unique(ar, *args, **kwargs)
    if not isinstance(found, tuple) or kwargs.get("axis") is not None or not kwargs.get("return_inverse"):
        return found
    place = 2 if kwargs.get("return_index") else 1
    return (*found[:place], found[place].reshape(-1), *found[place + 1 :])


def asscalar(a: Any) -> Any:
    """Return the only element."""
    return a.item()


def random_integers(low: Any, high: Any = None, size: Any = None) -> Any:
    """Return random integers up to and including `high`."""
    first, last = (1, low) if high is None else (low, high)
    return np.random.randint(first, last + 1, size)


def msort(a: Any) -> Any:
    """Sort along the first axis."""
    return np.sort(a, axis=0)


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """Return an array of floats."""
    wanted = np.dtype(dtype)
    return np.asarray(a, dtype=wanted if wanted.kind in "fc" else np.float64)


def find_common_type(array_types: Any, scalar_types: Any) -> Any:
    """Return the type that holds all."""
    return np.result_type(*array_types, *scalar_types)


def copy_transposed(a: object) -> Any:
    """Return a transposed copy."""
    return np.asarray(a).T.copy()


def trapz(y: object, x: object = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Integrate by the trapezoidal rule."""
    rule: Any = getattr(np, "trapezoid", None) or getattr(np, "trapz")  # noqa: B009  (one of them, by version)
    return rule(y, x=x, dx=dx, axis=axis)


def issctype(rep: object) -> bool:
    """Return whether `rep` is a scalar type or a dtype."""
    return isinstance(rep, np.dtype) or (isinstance(rep, type) and issubclass(rep, np.generic))


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """Return the scalar type of an array, a dtype or a type."""
    try:
        return np.dtype(rep if not isinstance(rep, np.ndarray) else rep.dtype).type
    except TypeError:
        return default


class _Cast(dict[Any, Any]):
    def __missing__(self, key: Any) -> Any:
        return lambda x: np.asarray(x).astype(key)


cast = _Cast()
sctypes: dict[str, list[type]] = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}


def tostring(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return value.tostring(), or .tobytes() if that is gone."""
    method = getattr(value, "tostring", None) or value.tobytes
    return method(*args, **kwargs)


def itemset(a: Any, *args: Any) -> None:
    """Set one element."""
    if not isinstance(a, np.ndarray):
        a.itemset(*args)
    elif len(args) == 1:
        a.reshape(-1)[0] = args[0]
    elif isinstance(args[0], tuple):
        a[args[0]] = args[1]
    else:
        a.flat[args[0] if len(args) == 2 else np.ravel_multi_index(args[:-1], a.shape)] = args[-1]


def ptp(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the greatest minus the least element."""
    return value.ptp(*args, **kwargs) if hasattr(value, "ptp") else np.ptp(value, *args, **kwargs)


def newbyteorder(value: Any, order: str = "S") -> Any:
    """Return the same bytes, read in a different byte order."""
    if isinstance(value, np.ndarray):
        changed: Any = value.dtype.newbyteorder(order)
        return value.view(changed)
    return value.newbyteorder(order)
