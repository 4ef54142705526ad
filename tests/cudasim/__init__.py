"""Run the real CuPy without a GPU, on a CUDA that lives in host memory and watches the order of things.

    from tests import cudasim
    cudasim.install()            # before the first `import cupy` of the process
    import cupy
    ...
    assert not cudasim.violations()

What it sees: races between streams (by vector clocks, whatever the timing), pinned memory overwritten under a copy,
accesses out of bounds, memory of the wrong side or device. What it can do: delay copies and kernels, run everything as
late as possible, let allocations, copies and launches fail, count, and draw a timeline. What it cannot: GPU speed, GPU
rounding, races inside a kernel, and the parts of CuPy that are prebuilt device code (CUB, cuRAND, cuFFT, cuSOLVER).
"""

from .capsules import cupy_version, install, installed, why_not
from .control import (
    Span,
    counters,
    delays,
    drain,
    fail,
    hidden,
    leave_memory,
    reset,
    schedule,
    timeline,
    usual_delays,
    violations,
)
from .signatures import UnknownCuPyError

__all__ = [
    "Span",
    "UnknownCuPyError",
    "counters",
    "cupy_version",
    "delays",
    "drain",
    "fail",
    "hidden",
    "install",
    "installed",
    "leave_memory",
    "reset",
    "schedule",
    "timeline",
    "usual_delays",
    "violations",
    "why_not",
]
