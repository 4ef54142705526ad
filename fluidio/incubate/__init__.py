"""`fluid.incubate`: fleet, and the generators of slot data.

Both are imported on demand: a generator that a data set starts as a process needs no executor.
"""

import importlib
import types

__all__ = ["data_generator", "fleet"]


def __getattr__(name: str) -> types.ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
