"""Choose the backend of a place."""

from __future__ import annotations

from fluidio.ops.kernel import Backend, NumpyBackend
from fluidio.places import CUDAPlace, cuda_means_cpu, unwrap
from fluidio.tensor.transfer import require_cupy

__all__ = ["backend_for"]

_HOST = NumpyBackend()


def backend_for(place: object) -> Backend:
    """Return the backend of a place; CuPy is imported only for a CUDA place."""
    concrete = unwrap(place)
    if isinstance(concrete, CUDAPlace) and not cuda_means_cpu():
        require_cupy(concrete.device)
        from fluidio.executor.devices.cupy_backend import cupy_backend

        backend: Backend = cupy_backend(concrete.device)
        return backend
    return _HOST
