"""Compile CuPy's CUDA C++ for the host: what stands in for NVRTC.

CuPy generates its kernels as source text and hands them to NVRTC at Python level. Here g++ compiles them; the "cubin"
that goes back to CuPy is a shared object with a small header, which the simulated driver loads.

Compiled kernels are kept by their text. CuPy's own cache is switched off: its keys hold the path where CuPy is
installed, so that it would be of no use in a fresh environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import itertools
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from .build import NATIVE

_KERNEL = re.compile(r'(?:extern\s+"C"\s+)?__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(')
_DYNAMIC_SHARED = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w ]+?)\s+(\w+)\s*\[\s*\]\s*;")
_FLAGS = ("-std=c++17", "-O1", "-w", "-fpermissive", "-fPIC")
_MAGIC = b"CUDASIM1"
_HEADERS = ('"device.h"', "<cupy/complex.cuh>", "<cupy/carray.cuh>", "<cupy/atomics.cuh>", "<cupy/math_constants.h>")


class CompileError(RuntimeError):
    """Carry g++'s message; takes the place of NVRTCError."""

    status = 6


def parameters(source: str, start: int) -> list[str]:
    """Split the parameter list that begins at `start`, just after its opening parenthesis."""
    depth, found, current = 0, [], ""
    for char in itertools.islice(source, start, None):
        if char == ")" and depth == 0:
            break
        depth += (char in "(<") - (char in ")>")
        if char == "," and depth == 0:
            found.append(current)
            current = ""
        else:
            current += char
    return [text.strip() for text in [*found, current] if text.strip()]


def exports(source: str) -> Iterator[str]:
    """Yield the macro call that publishes each kernel, with 1 for each parameter that it may write."""
    barriers = int("__sync" in source or "__shfl" in source)
    for match in _KERNEL.finditer(source):
        writes = [str(int(not text.startswith("const "))) for text in parameters(source, match.end())]
        yield f"SIM_EXPORT({match.group(1)}, {barriers}, {', '.join(writes) or '0'})"


def _run_gxx(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["g++", *_FLAGS, f"-I{NATIVE / 'kernel'}", *arguments], capture_output=True, text=True)


def _made_once(place: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder, filled by `make` if it is not there; safe between processes."""
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            made = Path(scratch, "made")
            made.mkdir()
            make(made)
            with contextlib.suppress(OSError):  # another process was faster
                made.rename(place)
    return place


def _prelude(options: Sequence[str], folder: Path) -> list[str]:
    """Return options for CuPy's headers, precompiled: they are most of a kernel's compile time.

    They are copied first, because a precompiled header remembers where it came from.
    """
    core = Path(str(importlib.import_module("cupy._core").__file__)).parent
    headers = _made_once(folder / "include", lambda made: shutil.copytree(core / "include", made, dirs_exist_ok=True))
    found = [option.removeprefix("-I") for option in options if option.startswith(f"-I{core / 'include'}")]
    flags = [f"-I{headers / Path(path).relative_to(core / 'include')}" for path in found]
    flags += [option for option in options if option.startswith("-D")]

    def compile_(made: Path) -> None:
        header = made / "prelude.h"
        header.write_text("".join(f"#include {name}\n" for name in _HEADERS))
        done = _run_gxx([*flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"])
        if done.returncode:
            raise CompileError(f"g++ cannot compile CuPy's headers:\n{done.stderr[:3000]}")

    name = f"prelude-{hashlib.sha256(repr(flags).encode()).hexdigest()[:12]}"
    return [f"-I{_made_once(folder / name, compile_)}", *flags]


def compile_kernel(source: str, options: Sequence[str], folder: Path) -> bytes:
    """Return the module image of CUDA C++, compiled with g++ unless it is in the folder."""
    options = [option.replace("--include-path=", "-I") for option in options]
    defined = [option for option in options if option.startswith("-D")]
    place = folder / f"{hashlib.sha256(repr((defined, source)).encode()).hexdigest()[:40]}.kernel"
    if place.exists():
        return place.read_bytes()
    body = _DYNAMIC_SHARED.sub(r"\1 *\2 = (\1 *)sim_shared();", source)
    text = "\n".join(['#include "prelude.h"', body, *exports(source), ""])
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        cpp, library, made = Path(scratch, "kernel.cpp"), Path(scratch, "kernel.so"), Path(scratch, "made")
        cpp.write_text(text)
        done = _run_gxx(["-shared", *_prelude(options, folder), "-o", str(library), str(cpp)])
        if done.returncode:
            keep = folder / "failed.cpp"
            keep.write_text(text)
            raise CompileError(f"g++ cannot compile a kernel (kept as {keep}):\n{done.stderr[:3000]}")
        image = library.read_bytes()
        made.write_bytes(_MAGIC + struct.pack("<Q", len(image)) + image)
        made.replace(place)
    return place.read_bytes()


class _Program:
    def __init__(self, source: str) -> None:
        self.source, self.log, self.image = source, "", b""


def install(nvrtc: ModuleType, folder: Path) -> None:
    """Put g++ in the place of NVRTC in CuPy's module `nvrtc`."""
    folder.mkdir(parents=True, exist_ok=True)
    programs: dict[int, _Program] = {}
    numbers = itertools.count(1)

    def create(source: str | bytes, name: str, headers: object, include_names: object) -> int:
        number = next(numbers)
        programs[number] = _Program(source.decode() if isinstance(source, bytes) else source)
        return number

    def compile_(number: int, options: Sequence[str]) -> None:
        program = programs[number]
        if not program.source.strip():  # CuPy asks for the compiler's name in the first lines of an empty program
            program.image = b"// cudasim\n"
            return
        try:
            program.image = compile_kernel(program.source, options, folder)
        except CompileError as error:
            program.log = str(error)
            raise

    def refuse(*args: object) -> None:
        raise NotImplementedError(
            "cudasim compiles only kernels with plain names: no templates by name expression, no LTO"
        )

    replaced = {
        "NVRTCError": CompileError,
        "createProgram": create,
        "destroyProgram": lambda number: programs.pop(number, None),
        "compileProgram": compile_,
        "getProgramLog": lambda number: programs[number].log,
        "getCUBIN": lambda number: programs[number].image,
        "getPTX": lambda number: programs[number].image,
        "getVersion": lambda: (12, 9),
        "getSupportedArchs": lambda: (80, 90),
        "addNameExpression": refuse,
        "getLoweredName": refuse,
        "getLTOIR": refuse,
    }
    for name, function in replaced.items():
        if not hasattr(nvrtc, name) and name not in ("getLTOIR", "getSupportedArchs"):
            raise RuntimeError(f"cudasim: this CuPy's nvrtc module has no {name}")
        setattr(nvrtc, name, function)
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
