"""The kernels that Fluid 1.8.5 registers, which test harnesses inspect, from one table."""

from __future__ import annotations

import functools
from pathlib import Path

__all__ = ["registered_kernels"]

_LIBRARIES = {"plain": ("ANY_LAYOUT", "PLAIN"), "mkldnn": ("MKLDNNLAYOUT", "MKLDNN")}


def registered_kernels() -> dict[str, list[str]]:
    """Return {op type: descriptions of its kernels} of 1.8.5 on the CPU."""
    return {op: list(kernels) for op, kernels in _table().items()}


@functools.cache
def _table() -> dict[str, list[str]]:
    text = Path(__file__).with_name("op_kernels.txt").read_text("utf-8")
    found: dict[str, list[str]] = {}
    kernels: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            found.update((op, kernels) for op in line.split())
            continue
        plain, _, mkldnn = line.rstrip(":").partition("+")
        kernels = [_kernel(word, "plain") for word in plain.split()] + [
            _kernel(word, "mkldnn") for word in mkldnn.split()
        ]
    return found


def _kernel(word: str, library: str) -> str:
    layout, name = _LIBRARIES[library]
    dtype = "::paddle::platform::float16" if word == "float16" else word
    return f"data_type[{dtype}]:data_layout[{layout}]:place[CPUPlace]:library_type[{name}]"
