"""Without CuPy or a GPU, a CUDA place says what to do. (Copies themselves are tested with the devices.)"""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from fluidio.errors import DeviceError, MissingDependencyError
from fluidio.places import CUDAPlace, get_cuda_device_count, is_compiled_with_cuda
from fluidio.tensor import LoDTensor
from fluidio.tensor.transfer import require_cupy


class _CUDARuntimeError(RuntimeError):
    pass


def _cupy(monkeypatch: pytest.MonkeyPatch, devices: int | None) -> None:
    """Put a module in cupy's place that sees `devices` GPUs, or finds no driver."""

    def count() -> int:
        if devices is None:
            raise _CUDARuntimeError("cudaErrorInsufficientDriver")
        return devices

    runtime = types.SimpleNamespace(getDeviceCount=count, CUDARuntimeError=_CUDARuntimeError)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime)))


def test_without_cupy_the_error_names_the_pip_line_and_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert (get_cuda_device_count(), is_compiled_with_cuda()) == (0, False)
    with pytest.raises(MissingDependencyError, match=r"CUDAPlace\(0\).*pip install 'fluidio\[cuda12\]'.*--device cpu"):
        LoDTensor().set(np.zeros(3), CUDAPlace(0))


def test_without_a_driver_the_error_names_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    _cupy(monkeypatch, None)
    assert get_cuda_device_count() == 0
    with pytest.raises(DeviceError, match=r"no CUDA driver or device \(cudaErrorInsufficientDriver\).*--device cpu"):
        require_cupy()


def test_a_device_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _cupy(monkeypatch, 2)
    assert is_compiled_with_cuda()
    assert require_cupy(1) is sys.modules["cupy"]
    with pytest.raises(DeviceError, match=r"CUDAPlace\(2\): .* 0 \.\.\. 1"):
        require_cupy(2)
