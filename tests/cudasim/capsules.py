"""Put the simulated CUDA under the real CuPy of this process.

CuPy's compiled modules find each other's C functions in `__pyx_capi__` dictionaries. The one of
`cupy_backends.cuda.api.runtime` holds all of cudart: with its capsules replaced before `import cupy`, every module of
CuPy binds to the simulator. The driver library is looked up by name, so a `libcuda.so.1` that is loaded already wins.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from . import build, kernels, libraries, signatures

_C_TYPES: dict[str, Any] = {
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
    "intptr_t": ctypes.c_ssize_t,
    "float": ctypes.c_float,
    "PyObject *": ctypes.py_object,
}
_PROPERTIES = {
    "name": b"cudasim: host memory as a CUDA device",
    "major": 8,
    "minor": 0,
    "multiProcessorCount": 4,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiProcessor": 2048,
    "maxThreadsDim": (1024, 1024, 64),
    "maxGridSize": (2**31 - 1, 65535, 65535),
    "sharedMemPerBlock": 49152,
    "sharedMemPerMultiprocessor": 65536,
    "regsPerBlock": 65536,
    "regsPerMultiprocessor": 65536,
    "warpSize": 32,
    "totalGlobalMem": 4 << 30,
    "l2CacheSize": 1 << 20,
    "managedMemory": 0,
}
_library: ctypes.PyDLL | None = None
_kept: list[Any] = []  # names and functions that C code points to


def cupy_version() -> str | None:
    """Return the version of the CuPy wheel that is installed, without importing it."""
    for name in ("cupy-cuda12x", "cupy-cuda13x", "cupy"):
        try:
            return importlib.metadata.version(name) if importlib.util.find_spec("cupy_backends") else None
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def why_not() -> str | None:
    """Return why the simulator cannot be installed here, or None when it can (or is)."""
    if _library is not None:
        return None
    if sys.platform != "linux":
        return "cudasim: needs Linux"
    if cupy_version() is None:
        return "cudasim: CuPy is not installed (pip install cupy-cuda12x)"
    if tools := build.missing_tools():
        return f"cudasim: {' and '.join(tools)} not found"
    if importlib.util.find_spec("cupy_backends") and _is_wheel_for("cupy-cuda13x"):
        return "cudasim: knows the cupy-cuda12x wheels only"
    if "cupy" in sys.modules:
        return "cudasim: cupy was imported before the simulator was installed"
    return None


def _is_wheel_for(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def installed() -> bool:
    """Return whether this process runs on the simulator."""
    return _library is not None


def library() -> ctypes.PyDLL:
    """Return the simulator's library."""
    if _library is None:
        raise RuntimeError("cudasim.install() has not been called in this process")
    return _library


def install(devices: int = 2) -> None:
    """Let CuPy run on `devices` simulated GPUs for the rest of this process; a second call does nothing."""
    global _library
    if _library is not None:
        return
    if reason := why_not():
        raise RuntimeError(reason)
    os.environ["CUPY_ACCELERATORS"] = ""  # CUB is prebuilt device code
    runtime = importlib.import_module("cupy_backends.cuda.api.runtime")
    version = cupy_version() or "?"
    found = capsule_signatures(runtime.__pyx_capi__)
    signatures.check(found, version)
    folder = build.cache_dir(version)
    lib = ctypes.PyDLL(str(build.driver_library(folder, found)), mode=ctypes.RTLD_GLOBAL)
    _start(lib, runtime, devices)
    _replace_capsules(lib, runtime, found)
    cublas = next(Path(str(runtime.__file__)).parent.parent.joinpath("libs").glob("cublas*.so"))
    for path in build.side_libraries(folder, cublas):
        _kept.append(ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL))
    kernels.install(importlib.import_module("cupy_backends.cuda.libs.nvrtc"), build.kernel_dir(version))
    _library = lib
    libraries.install(importlib.import_module("cupy"), lib)


def _start(lib: ctypes.PyDLL, runtime: ModuleType, devices: int) -> None:
    def properties(device: int) -> dict[str, Any]:
        return dict(_PROPERTIES)

    lib.sim_python.argtypes = [ctypes.py_object] * 3
    lib.sim_python(runtime.CUDARuntimeError, runtime.PointerAttributes, properties)
    lib.sim_devices(devices)


def capsule_signatures(capi: dict[str, Any]) -> dict[str, str]:
    """Return the signature written on each capsule."""
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return {name: get_name(capsule).decode() for name, capsule in capi.items()}


def _replace_capsules(lib: ctypes.PyDLL, runtime: ModuleType, found: dict[str, str]) -> None:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for name, signature in found.items():
        if name not in signatures.SIMULATED and name not in signatures.NOT_SIMULATED:
            continue
        address = ctypes.cast(getattr(lib, f"rt_{name}"), ctypes.c_void_p).value
        text = signature.encode()
        _kept.append(text)  # a capsule borrows its name
        runtime.__pyx_capi__[name] = new(address, text, None)
        if hasattr(runtime, name):
            setattr(runtime, name, _python_twin(name, signature, address))


def _python_twin(name: str, signature: str, address: int | None) -> Callable[..., Any]:
    """Return the function as Python code calls it; optional arguments of CuPy's own are accepted and ignored."""
    result, arguments = signature[:-1].split("(", 1)
    names = [part for part in arguments.split(", ") if not part.startswith(("int __pyx", "struct __pyx_opt", "void"))]
    if name in signatures.NOT_SIMULATED:

        def refuse(*args: object, **kwargs: object) -> None:
            raise NotImplementedError(f"cudasim does not simulate {name}")

        return refuse
    c_result = ctypes.py_object if result.startswith("struct") else _C_TYPES[result.strip()]
    kinds = [_C_TYPES[part] for part in names]
    function = ctypes.PYFUNCTYPE(c_result, *kinds, ctypes.c_int, ctypes.c_void_p)(address or 0)
    _kept.append(function)

    def twin(*args: Any) -> Any:
        if len(args) < len(kinds):
            raise TypeError(f"{name}() takes {len(kinds)} arguments, got {len(args)}")
        return function(*args[: len(kinds)], 0, None)

    twin.__name__ = name
    return twin
