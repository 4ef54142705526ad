"""Read pickles that hold data only: numbers, text, builtin containers and numpy arrays; write pickles for old readers.

A pickle is a program: reading one runs what its author wrote. Legacy data sets, records and checkpoints only need
arrays in lists and dicts, so everything else is refused unless the caller says `allow_pickle=True`.

    >>> loads(pickle.dumps({"w": [1, 2.5]}))
    {'w': [1, 2.5]}
"""

from __future__ import annotations

import codecs
import collections
import io
import pickle
from collections.abc import Callable
from typing import IO, Any, Literal

import numpy as np

from fluidio.errors import UnsafePickleError

__all__ = ["dumps", "load", "loads"]

Encoding = Literal["ASCII", "bytes", "latin1", "utf-8"]


def dumps(value: Any) -> bytes:
    """Return the pickle of `value` in protocol 2, with the names that NumPy's modules had before 2.0.

    Python 2 and every NumPy can read it.
    """
    data = pickle.dumps(value, protocol=2)
    if not _RENAMES or _NEW_NAME not in data:
        return data
    # In protocol 2 a name is plain text, so it can be replaced where it is surely a name: a pickle that holds arrays
    # names each function once. Where the value itself may contain that text, the slow pickler tells them apart.
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
            super().save_global(obj, name)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
            return
        writer: Any = self  # the type stubs know nothing of the pickler written in Python
        writer.write(_OLD_NAME + (name or obj.__name__).encode() + b"\n")
        writer.memoize(obj)


def loads(
    data: bytes | bytearray | memoryview,
    allow_pickle: bool = False,
    *,
    encoding: Encoding = "latin1",
    source: str = "",
) -> Any:
    """Return the object in `data`.

    Args:
        data: one pickle, of any protocol, from Python 2 or 3.
        allow_pickle: accept any class and function; only for data you trust, it can run any code.
        encoding: how Python 2's byte strings become text; "bytes" leaves them as they are.
        source: the file's name, for error texts.
    """
    return _read(io.BytesIO(data), allow_pickle, encoding, source)


def load(file: IO[bytes], allow_pickle: bool = False, *, encoding: Encoding = "latin1", source: str = "") -> Any:
    """Return the next object of a binary file and leave the file just behind it."""
    if not source:
        source = str(getattr(file, "name", ""))
    if not file.seekable():
        return _read(io.BytesIO(file.read()), allow_pickle, encoding, source)
    # A length word in a damaged pickle may ask for petabytes: only a buffer of what is really there is safe.
    start = file.tell()
    buffer = io.BytesIO(file.read())
    try:
        return _read(buffer, allow_pickle, encoding, source)
    finally:
        file.seek(start + buffer.tell())


def _read(buffer: io.BytesIO, allow_pickle: bool, encoding: Encoding, source: str) -> Any:
    kind = _TrustingUnpickler if allow_pickle else _DataUnpickler
    where = f"{source}: " if source else ""
    if not buffer.getbuffer().nbytes - buffer.tell():
        raise EOFError(f"{where}there is no pickle: the data is empty")
    try:
        return kind(buffer, encoding=encoding).load()
    except UnsafePickleError as error:
        raise UnsafePickleError(f"{where}{error}") from None
    except Exception as error:
        if allow_pickle and not isinstance(error, pickle.UnpicklingError | EOFError):
            raise
        raise pickle.UnpicklingError(
            f"{where}not a whole, sound pickle ({type(error).__name__}: {error}); the data is damaged or cut"
        ) from error


_PYTHON2_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}


def _modern(module: str) -> str:
    """Return today's name of a module that a pickle of any age names."""
    if module.startswith("numpy.core.") and not hasattr(np, "_core"):
        return module
    if module.startswith("numpy.core."):
        return module.replace("numpy.core.", "numpy._core.", 1)
    if module.startswith("numpy._core.") and not hasattr(np, "_core"):
        return module.replace("numpy._core.", "numpy.core.", 1)
    return _PYTHON2_MODULES.get(module, module)


class _TrustingUnpickler(pickle.Unpickler):
    """Accept everything; old module names are translated first."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(_modern(module), name)


class _DataUnpickler(pickle.Unpickler):
    """Accept data only."""

    def find_class(self, module: str, name: str) -> Any:
        found = _ALLOWED.get((_modern(module).replace("numpy._core.", "numpy.core."), name))
        if found is None and module == "numpy" and name in _SCALARS:
            return getattr(np, name)
        if found is None:
            raise UnsafePickleError(
                f"the pickle asks for {module}.{name}; only numpy arrays, numbers, text and builtin containers are "
                "read without consent. If you trust where it comes from, pass allow_pickle=True "
                "(reading it can then run any code), or save it again as plain arrays"
            )
        return found

    def persistent_load(self, pid: Any) -> Any:
        raise UnsafePickleError(f"the pickle refers to an object outside itself (persistent id {pid!r})")


_SCALARS = frozenset(
    ["bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    + ["float16", "float32", "float64", "complex64", "complex128"]
)
_NDARRAY = "the class numpy.ndarray"  # a name only: the class itself could be called with a giant shape


def _empty_array(kind: object, shape: object, code: object) -> np.ndarray[Any, Any]:
    """Stand in for numpy's `_reconstruct`, which could be asked for any class and shape."""
    if kind is not _NDARRAY:
        raise UnsafePickleError("the pickle asks for a subclass of ndarray")
    return np.ndarray((0,), np.int8)


def _array_from_buffer(buffer: Any, dtype: Any, shape: Any, order: Any, axis_order: Any = None) -> Any:
    flat = np.frombuffer(buffer, dtype=dtype)
    if axis_order is not None:
        return flat.reshape(shape, order="C").transpose(axis_order)
    return flat.reshape(shape, order=order)


def _scalar(dtype: Any, value: bytes) -> Any:
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise UnsafePickleError("the pickle holds a numpy scalar of Python objects")
    if isinstance(value, str):
        value = value.encode("latin1")
    if len(value) != dtype.itemsize:
        raise ValueError(f"a numpy scalar of {dtype} has {dtype.itemsize} bytes, the pickle holds {len(value)}")
    return np.frombuffer(value, dtype=dtype)[0]


def _dtype(code: Any, *flags: Any) -> np.dtype[Any]:
    # A copy: the byte order and the fields that the pickle sets next must not reach numpy's own dtype.
    return np.dtype(code.decode("latin1") if isinstance(code, bytes) else code, copy=True)


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if codecs.lookup(encoding).name not in ("iso8859-1", "utf-8", "ascii"):
        raise UnsafePickleError(f"the pickle asks for the codec {encoding!r}")
    return text.encode(encoding)


def _bytes(value: Any = b"", *encoding: str) -> bytes:
    if isinstance(value, int):
        raise UnsafePickleError("the pickle asks for a number of empty bytes")
    return _encode(value, *encoding) if isinstance(value, str) else bytes(value)


def _bytearray(value: Any = b"", *encoding: str) -> bytearray:
    return bytearray(_bytes(value, *encoding))


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _dtype,
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy.core.numeric", "_frombuffer"): _array_from_buffer,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "deque"): collections.deque,
    ("_codecs", "encode"): _encode,
    ("builtins", "bytes"): _bytes,
    ("builtins", "bytearray"): _bytearray,
    ("builtins", "long"): int,
}
# Not `str` and not `range`: a short pickle could build an endless text or list with them.
_PLAIN: tuple[Callable[..., Any], ...] = (list, tuple, dict, set, frozenset, int, float, complex, bool)
_ALLOWED.update({("builtins", plain.__name__): plain for plain in _PLAIN})
