"""Hold NumPy's BLAS to one thread while steps run: kernels share their work among threads of their own.

OpenBLAS's threads look out for more work for some 25 milliseconds before they sleep. They keep the cores busy from
which the kernels' threads should help, so that after one small product in the BLAS a second core was worth nothing.

Between `enter()` and `leave()` the BLAS has one thread, in all threads of the process. Both do nothing for other
libraries than OpenBLAS, and where products could not be built in C: then the BLAS needs its threads.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from fluidio.ops.compiled import products

compiled: Any
try:
    from fluidio.ops.compiled import _blas as compiled
except ImportError:
    compiled = None

__all__ = ["enter", "functions", "leave"]

_MODULES = "numpy._core._multiarray_umath", "numpy.core._multiarray_umath"
_NAMES = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
)


def functions() -> tuple[Any, Any] | None:
    """Return the functions of NumPy's OpenBLAS that tell and set the number of its threads; None if it is another."""
    files = [sys.modules[name].__file__ for name in _MODULES if name in sys.modules]
    try:
        library = ctypes.CDLL(files[0])  # its symbols include those of the libraries that it needs
    except (OSError, IndexError):
        return None
    for names in _NAMES:
        found = [getattr(library, name, None) for name in names]
        if None not in found:
            return found[0], found[1]
    return None


def _nothing() -> None:
    """Leave the BLAS as it is."""


def _prepared() -> tuple[Callable[[], None], Callable[[], None]]:
    found = functions() if products.compiled is not None else None
    if compiled is None or found is None:
        return _nothing, _nothing
    compiled.use(*(ctypes.cast(function, ctypes.c_void_p).value for function in found))
    return compiled.enter, compiled.leave


enter, leave = _prepared()
