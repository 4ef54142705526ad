"""Compile the simulator's libraries, once per machine, into a cache outside the clone."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from . import signatures

NATIVE = Path(__file__).with_name("native")
_SOURCES = ("report", "memory", "streams", "events", "transfers", "sort", "runtime", "driver")
_C_FLAGS = ("-D_GNU_SOURCE", "-O2", "-std=gnu11", "-w", "-shared", "-fPIC", "-pthread")
_ERROR_VALUES = {"int": "-1", "PyObject *": "0", "intptr_t": "0", "size_t": "0", "uintmax_t": "0"}
_STUBS = """
#include <stddef.h>
#include <stdint.h>
typedef struct _object PyObject;
extern PyObject *PyExc_NotImplementedError;
extern PyObject *PyErr_Format(PyObject *, const char *, ...);
"""
_NVRTC = """
int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 9; return 0; }
const char *nvrtcGetErrorString(int result) { return "g++"; }
"""


def missing_tools() -> list[str]:
    """Return the compilers that are not on the path."""
    return [tool for tool in ("gcc", "g++") if shutil.which(tool) is None]


def cache_root() -> Path:
    """Return where compiled things live: FLUIDIO_CUDASIM_CACHE, or a folder of the user's cache."""
    if given := os.environ.get("FLUIDIO_CUDASIM_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fluidio-cudasim"


def cache_dir(cupy_version: str) -> Path:
    """Return the folder of the libraries for these sources, this compiler and this CuPy: never out of date."""
    here = Path(__file__).parent
    sources = [*sorted(NATIVE.rglob("*.[ch]")), here / "build.py", here / "signatures.py"]
    return _folder("libraries", cupy_version, sources)


def kernel_dir(cupy_version: str) -> Path:
    """Return the folder of the compiled kernels; they outlive changes of the simulator that do not concern them."""
    sources = [*sorted((NATIVE / "kernel").glob("*.h")), NATIVE / "half.h", Path(__file__).with_name("kernels.py")]
    return _folder("kernels", cupy_version, sources)


def _folder(what: str, cupy_version: str, sources: Iterable[Path]) -> Path:
    digest = hashlib.sha256(cupy_version.encode())
    digest.update(subprocess.run(["g++", "--version"], capture_output=True, check=True).stdout)
    for path in sources:
        digest.update(path.read_bytes())
    folder = cache_root() / f"cupy-{cupy_version}-{what}-{digest.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compile_c(output: Path, sources: Iterable[Path | str], *flags: str) -> Path:
    """Compile C files, or C text, into the shared library `output` unless it is there; safe between processes."""
    if output.exists():
        return output
    own = output.with_name(f"{output.name}.{os.getpid()}")
    paths: list[Path] = []
    for number, source in enumerate(sources):
        if isinstance(source, str):
            text = own.with_name(f"{own.name}.{number}.c")
            text.write_text(source)
            source = text
        paths.append(source)
    options = [f"-I{NATIVE}", f"-Wl,-soname,{output.name}", "-o", str(own), *map(str, paths), "-ldl", "-lm", *flags]
    done = subprocess.run(["gcc", *_C_FLAGS, *options], capture_output=True, text=True)
    for path in paths:
        if path.name.startswith(own.name):
            path.unlink()
    if done.returncode:
        raise RuntimeError(f"cudasim: {output.name} does not compile:\n{done.stderr}")
    own.replace(output)
    return output


def driver_library(folder: Path, found: dict[str, str]) -> Path:
    """Build libcuda.so.1: the simulator itself, with a raising stub for each function it does not simulate."""
    stubs = [_STUBS]
    for name in sorted(signatures.NOT_SIMULATED & found.keys()):
        result = found[name].split("(", 1)[0].strip()
        stubs.append(
            f"{result} rt_{name}() {{ PyErr_Format(PyExc_NotImplementedError, "
            f'"cudasim does not simulate {name}"); return {_ERROR_VALUES[result]}; }}'
        )
    exported = folder / "libcuda.map"
    exported.write_text("{ global: rt_*; sim_*; cu*; local: *; };\n")
    sources: list[Path | str] = [*(NATIVE / f"{name}.c" for name in _SOURCES), "\n".join(stubs)]
    return compile_c(folder / "libcuda.so.1", sources, f"-Wl,--version-script={exported}")


def side_libraries(folder: Path, cublas_module: Path) -> list[Path]:
    """Build the libraries that CuPy finds by name because they are loaded already: NVRTC, cuBLAS, NCCL."""
    text = (NATIVE / "blas.c").read_text()
    wanted = {name.decode() for name in re.findall(rb"\0(cublas[A-Z]\w+)(?=\0)", cublas_module.read_bytes())}
    have = set(re.findall(r"^int (cublas\w+)\(", text, re.MULTILINE))
    stubs = "".join(f"int {name}() {{ return 15; }}\n" for name in sorted(wanted - have))
    versions = folder / "cublas.map"
    versions.write_text("libcublas.so.12 { global: cublas*; local: *; };\n")
    return [
        compile_c(folder / "libnvrtc.so.12", [_NVRTC]),
        compile_c(folder / "libcublasLt.so.12", ["\n"]),
        compile_c(folder / "libcublas.so.12", [NATIVE / "blas.c", stubs], "-O3", f"-Wl,--version-script={versions}"),
        compile_c(folder / "libnccl.so.2", [NATIVE / "nccl.c"]),
    ]
