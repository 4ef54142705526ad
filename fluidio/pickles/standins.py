"""Everything a data pickle may name, as objects of ours that the pickle cannot manipulate.

An opcode of a pickle may call any object it has named and hand any object it has made a state. NumPy's own dtype and
array believe such a state: a dtype of objects over plain bytes is a pointer of the author's choice. So the unpickler
only ever sees stand-ins. They check their arguments and hide the result, which `unwrapping.py` takes out when the
unpickler is done.
"""

from __future__ import annotations

import codecs
import collections
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from fluidio.errors import UnsafePickleError
from fluidio.pickles.dtypes import DtypeCode, dtype_of

__all__ = ["ArrayStandIn", "Budget", "DtypeStandIn", "Names", "OrderedStandIn", "StandIn", "TypeStandIn", "refuse"]

_MOST_EMPTY_ITEMS = 1 << 20


class Budget:
    """How many elements a pickle may copy.

    Every element stands in the pickle, and what is told as text becomes bytes and then an array. Without a bound a
    few bytes each would copy one long list again and again.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = 0

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise UnsafePickleError("the pickle copies more than it holds")


class StandIn:
    """An object that a pickle has named: it accepts no state and cannot be a dict key."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")

    def __setstate__(self, state: Any) -> None:
        raise UnsafePickleError("the pickle changes something that it may only name")


class TypeStandIn(StandIn):
    """A class, as a value or for calling it."""

    __slots__ = ("budget", "make", "real")

    def __init__(self, real: type, make: Callable[..., Any] | None, budget: Budget) -> None:
        self.real = real
        self.make = make
        self.budget = budget

    def __call__(self, *args: Any) -> Any:
        if self.make is None:
            raise UnsafePickleError(f"the pickle calls {self.real.__name__}")
        return self.make(self.budget, *args)


class FunctionStandIn(StandIn):
    """A function, for calling it."""

    __slots__ = ("budget", "make")

    def __init__(self, make: Any, budget: Budget) -> None:
        self.make = make
        self.budget = budget

    def __call__(self, *args: Any) -> Any:
        return self.make(self.budget, *args)


class OrderedStandIn(collections.OrderedDict[Any, Any]):
    """An OrderedDict that takes no attributes."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        raise UnsafePickleError("the pickle gives a dict attributes")


class DtypeStandIn(StandIn):
    """A dtype: `code.real` is made from codes that were checked."""

    __slots__ = ("code",)

    def __init__(self, code: DtypeCode) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        self.code = self.code.with_state(state, _code_of)


class ArrayStandIn(StandIn):
    """An array.

    Attributes:
        array: None until it is filled.
        objects: for an array of Python objects, an empty array and the state to fill it from later.
    """

    __slots__ = ("array", "budget", "objects")

    def __init__(self, budget: Budget, array: Any = None) -> None:
        self.array = array
        self.budget = budget
        self.objects: tuple[Any, tuple[Any, ...]] | None = None

    def __setstate__(self, state: Any) -> None:
        if self.array is not None or self.objects is not None:
            raise UnsafePickleError("the pickle fills an array twice")
        shape, dtype, fortran, raw = state[-4:]
        if type(dtype) is not DtypeStandIn:
            raise ValueError("an array has no dtype")
        real = dtype.code.real
        if real.hasobject:
            self._take_objects(shape, bool(fortran), raw)
            return
        if type(raw) is str:  # Python 2's bytes
            raw = raw.encode("latin1")
        _check_size(shape, real.itemsize, raw)
        self.budget.spend(len(raw))
        self.array = _ndarray(0, np.int8)
        self.array.__setstate__((1, shape, real, bool(fortran), raw))  # takes over the bytes and is writable

    def _take_objects(self, shape: Any, fortran: bool, items: Any) -> None:
        if type(items) is not list or _count(shape) != len(items):
            raise ValueError("an array of objects has no list of them")
        self.budget.spend(len(items))
        self.objects = np.empty(0, np.int8), (1, shape, np.dtype(object), fortran, items)


_ndarray: Any = np.ndarray  # the type stubs want to know the dtype


def _array(shape: tuple[int, ...], dtype: np.dtype[Any], buffer: bytes | bytearray, order: str) -> Any:
    """Return an array over bytes of just its size."""
    if dtype.itemsize:
        return _ndarray(shape, dtype, buffer, 0, None, order)
    found = _ndarray(0, np.int8)  # NumPy makes items of one byte if none is requested
    found.__setstate__((1, shape, dtype, order == "F", b""))
    return found


def _code_of(value: Any) -> DtypeCode:
    if type(value) is not DtypeStandIn:
        raise ValueError("a field has no dtype")
    return value.code


def _count(shape: Any) -> int:
    """Return the number of items of a shape; its size must be possible even without the zeros in it."""
    if type(shape) is not tuple or len(shape) > 32:
        raise ValueError("an array has no shape")
    count = whole = 1
    for dim in shape:
        if type(dim) is not int or dim < 0:
            raise ValueError("an array has no shape")
        count *= dim
        whole *= dim or 1
    if whole >= 1 << 55:
        raise ValueError("the shape of an array is far too large")
    return count


def _check_size(shape: Any, item_size: int, raw: Any) -> None:
    if type(shape) is tuple and len(shape) == 1 and type(shape[0]) is int and 0 <= shape[0] < 1 << 55:
        count = shape[0]
    else:
        count = _count(shape)
    if type(raw) is not bytes and type(raw) is not bytearray:
        raise ValueError("an array has no bytes")
    if count * item_size != len(raw):
        raise ValueError(f"an array of {count} items of {item_size} bytes has {len(raw)} bytes")
    if not item_size and count > _MOST_EMPTY_ITEMS:
        raise UnsafePickleError(f"the pickle asks for {count} items of no bytes")


class Reconstruct(StandIn):
    """Makes an array that its state will fill. Like the next two, it runs once per array, so it is short."""

    __slots__ = ("budget",)

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def __call__(self, kind: Any, shape: Any = None, code: Any = None) -> ArrayStandIn:
        if type(kind) is not TypeStandIn or kind.real is not np.ndarray:
            raise UnsafePickleError("the pickle asks for a subclass of ndarray")
        return ArrayStandIn(self.budget)


class ArrayFromBuffer(StandIn):
    """Makes an array from its bytes."""

    __slots__ = ("budget",)

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def __call__(self, buffer: Any, dtype: Any, shape: Any, order: Any, axis_order: Any = None) -> ArrayStandIn:
        if type(dtype) is not DtypeStandIn or dtype.code.real.hasobject:
            raise ValueError("an array has no dtype, or one of objects")
        if order != "C" and order != "F":
            raise ValueError("an array has no order")
        real, budget = dtype.code.real, self.budget
        _check_size(shape, real.itemsize, buffer)
        budget.left -= len(buffer)
        if budget.left < 0:
            budget.spend(0)
        if axis_order is not None:
            return ArrayStandIn(budget, _array(shape, real, buffer, "C").transpose(axis_order))
        return ArrayStandIn(budget, _array(shape, real, buffer, order))


class DtypeType(TypeStandIn):
    """The class of dtypes, which makes a dtype from a code."""

    __slots__ = ()

    def __call__(self, *args: Any) -> DtypeStandIn:
        return DtypeStandIn(dtype_of(args[0]))  # the others are flags of the constructor


def _scalar(budget: Budget, dtype: Any, value: Any = b"") -> Any:
    if type(dtype) is not DtypeStandIn or dtype.code.real.hasobject:
        raise UnsafePickleError("the pickle holds a numpy scalar of Python objects")
    real = dtype.code.real
    if type(value) is str:
        value = value.encode("latin1")
    if type(value) is not bytes or len(value) != real.itemsize:
        raise ValueError(f"a numpy scalar of {real.itemsize} bytes has other bytes")
    budget.spend(len(value))
    return np.frombuffer(value, real)[0] if real.itemsize else real.type()


def _encode(budget: Budget, text: str, encoding: str = "latin1") -> bytes:
    if type(text) is not str or type(encoding) is not str:
        raise ValueError("only text has an encoding")
    if encoding not in _CODECS and codecs.lookup(encoding).name not in _CODECS:
        raise UnsafePickleError(f"the pickle asks for the codec {encoding!r}")
    budget.spend(len(text))
    return text.encode(encoding)


def _bytes(budget: Budget, value: Any = b"", *encoding: str) -> bytes:
    if type(value) is str:
        return _encode(budget, value, *encoding)
    if type(value) is not bytes and type(value) is not bytearray:
        raise UnsafePickleError("the pickle makes bytes of something other than bytes or text")
    budget.spend(len(value))
    return bytes(value)


def _bytearray(budget: Budget, value: Any = b"", *encoding: str) -> bytearray:
    return bytearray(_bytes(budget, value, *encoding))


_CODECS = frozenset(["latin1", "iso8859-1", "utf-8", "ascii"])
_ITERABLES = frozenset([list, tuple, set, frozenset, dict, OrderedStandIn, collections.deque])


def _collection(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    def make(budget: Budget, items: Any = ()) -> Any:
        if type(items) not in _ITERABLES:
            raise UnsafePickleError(
                f"the pickle makes a {getattr(kind, '__name__', kind)} of something other than a list"
            )
        budget.spend(len(items))
        return kind(items)

    return make


def _deque(budget: Budget, items: Any = (), length: int | None = None) -> Any:
    return _collection(lambda items: collections.deque(items, length))(budget, items)


def _default_dict(budget: Budget, factory: Any = None, items: Any = ()) -> Any:
    if factory is not None and (type(factory) is not TypeStandIn or factory.real not in _FACTORIES):
        raise UnsafePickleError("the pickle holds a defaultdict of something other than numbers and containers")
    make = None if factory is None else factory.real
    return _collection(lambda items: collections.defaultdict(make, items))(budget, items)


def _number(kind: Callable[..., Any]) -> Callable[..., Any]:
    def make(budget: Budget, *values: Any) -> Any:
        if any(type(value) not in (int, float, bool) for value in values):
            raise UnsafePickleError("the pickle makes a number of something other than numbers")
        return kind(*values)

    return make


_FACTORIES = frozenset([int, float, complex, bool, list, dict, set, tuple, bytes])
_Entry = tuple[type | None, Any]
# Nothing makes `str`, `range` or a tuple: a short pickle could build an endless text or list with the first two, and
# hide from the scan how deep its tuples are with the third.
_ALLOWED: dict[tuple[str, str], _Entry] = {
    ("numpy", "ndarray"): (np.ndarray, None),
    ("numpy", "dtype"): (np.dtype, DtypeType),
    ("_codecs", "encode"): (None, _encode),
    ("collections", "OrderedDict"): (collections.OrderedDict, _collection(OrderedStandIn)),
    ("collections", "defaultdict"): (collections.defaultdict, _default_dict),
    ("collections", "deque"): (collections.deque, _deque),
}
for _core in ("numpy.core", "numpy._core"):
    _ALLOWED[f"{_core}.multiarray", "_reconstruct"] = (None, Reconstruct)
    _ALLOWED[f"{_core}.multiarray", "scalar"] = (None, _scalar)
    _ALLOWED[f"{_core}.numeric", "_frombuffer"] = (None, ArrayFromBuffer)
_BUILTINS: dict[str, _Entry] = {
    "list": (list, _collection(list)),
    "dict": (dict, _collection(dict)),
    "set": (set, _collection(set)),
    "frozenset": (frozenset, _collection(frozenset)),
    "bytes": (bytes, _bytes),
    "bytearray": (bytearray, _bytearray),
    "int": (int, _number(int)),
    "long": (int, _number(int)),
    "float": (float, _number(float)),
    "bool": (bool, _number(bool)),
    "complex": (complex, _number(complex)),
    "tuple": (tuple, None),
}
for _module in ("builtins", "__builtin__"):
    _ALLOWED.update({(_module, name): entry for name, entry in _BUILTINS.items()})
_SCALARS = ["bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"] + [
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
_ALLOWED.update({("numpy", name): (vars(np).get(name, np.bool_), None) for name in _SCALARS})


class Names(threading.local):
    """The stand-ins of a thread by module and name; all share one budget, which each pickle resets."""

    def __init__(self) -> None:
        budget = Budget()
        self.both = budget, {key: _stand_in(*entry, budget) for key, entry in _ALLOWED.items()}


def _stand_in(real: type | None, make: Any, budget: Budget) -> StandIn:
    if make is DtypeType:
        return DtypeType(np.dtype, None, budget)
    if make is Reconstruct or make is ArrayFromBuffer:
        return Reconstruct(budget) if make is Reconstruct else ArrayFromBuffer(budget)
    return FunctionStandIn(make, budget) if real is None else TypeStandIn(real, make, budget)


def refuse(module: str, name: str) -> NoReturn:
    """Refuse a name that data do not need."""
    raise UnsafePickleError(
        f"the pickle asks for {module}.{name}; only numpy arrays, numbers, text and builtin containers are "
        "read without consent. If you trust where it comes from, pass allow_pickle=True "
        "(reading it can then run any code), or save it again as plain arrays"
    )
