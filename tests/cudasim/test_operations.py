"""The real CuPy gives NumPy's results on the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import cudasim

pytestmark = pytest.mark.gpu
_A = np.random.RandomState(0).randn(6, 8).astype("float32")
_B = np.random.RandomState(1).rand(3, 4, 5)


def _scatter(xp: Any, a: Any, b: Any) -> Any:
    target = xp.zeros(5, "float32")
    xp.add.at(target, xp.asarray([0, 1, 1, 4]), xp.asarray([1, 2, 3, 4], dtype="float32"))
    return target


def _softmax(xp: Any, a: Any, b: Any) -> Any:
    e = xp.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _windows(xp: Any, a: Any, b: Any) -> Any:
    return xp.lib.stride_tricks.as_strided(a, (4, 6, 2), (4, 32, 4)).sum(axis=2)


_CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "arange": lambda xp, a, b: xp.arange(10, dtype="float32"),
    "arithmetic": lambda xp, a, b: a + a * 2,
    "transcendental": lambda xp, a, b: xp.tanh(xp.exp(-abs(a))),
    "transposed copy": lambda xp, a, b: xp.ascontiguousarray(a.T),
    "sum of all": lambda xp, a, b: a.sum(),
    "sum of columns": lambda xp, a, b: a.sum(axis=0),
    "mean of rows": lambda xp, a, b: a.mean(axis=1, keepdims=True),
    "argmax": lambda xp, a, b: a.argmax(axis=1),
    "where": lambda xp, a, b: xp.where(a > 0, a, 0),
    "concatenate": lambda xp, a, b: xp.concatenate([a, a], axis=1),
    "take": lambda xp, a, b: a[xp.asarray([3, 1])],
    "boolean index": lambda xp, a, b: a[a > 0],
    "scatter add": _scatter,
    "cast to int64": lambda xp, a, b: a.astype("int64"),
    "cast to float16": lambda xp, a, b: a.astype("float16"),
    "cumulative sum": lambda xp, a, b: a.cumsum(),
    "sort": lambda xp, a, b: xp.sort(a, axis=1),
    "sort of int8": lambda xp, a, b: xp.sort((a * 50).astype("int8"), axis=0),
    "sort of float16": lambda xp, a, b: xp.sort(a.astype("float16"), axis=1),
    "argsort": lambda xp, a, b: xp.argsort(a, axis=1),
    "lexsort": lambda xp, a, b: xp.lexsort(xp.asarray([[3, 1, 2, 1], [0, 1, 0, 0]])),
    "unique": lambda xp, a, b: xp.unique(xp.asarray([3, 1, 1, 2])),
    "matmul": lambda xp, a, b: a @ a.T,
    "matmul of float16": lambda xp, a, b: a.astype("float16") @ a.T.astype("float16"),
    "matrix times vector": lambda xp, a, b: a @ a[0],
    "batched matmul": lambda xp, a, b: b @ b.transpose(0, 2, 1),
    "tensordot": lambda xp, a, b: xp.tensordot(b, b, axes=([1, 2], [1, 2])),
    "einsum": lambda xp, a, b: xp.einsum("ij,kj->ik", a, a),
    "softmax": _softmax,
    "strided windows": _windows,
    "pad": lambda xp, a, b: xp.pad(a, ((1, 1), (0, 2))),
    "zero-size": lambda xp, a, b: a[:0].sum(axis=0) + xp.zeros((0, 8), "float32").sum(axis=0),
}


@pytest.mark.parametrize("name", _CASES)
def test_result_equals_numpys(cupy: Any, name: str) -> None:
    expected = _CASES[name](np, _A, _B)
    found = _CASES[name](cupy, cupy.asarray(_A), cupy.asarray(_B)).get()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-3 if expected.dtype == np.float16 else 1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [1, 31, 32, 65, 90, 200, 512, 513, 5000])
def test_scans_and_masks_of_any_size(cupy: Any, count: int) -> None:
    random = np.random.RandomState(count)
    mask, rows = random.rand(count) > 0.5, random.rand(count, 5).astype("float32")
    np.testing.assert_array_equal(cupy.asarray(mask).cumsum().get(), mask.cumsum())
    np.testing.assert_array_equal(cupy.flatnonzero(cupy.asarray(mask)).get(), np.flatnonzero(mask))
    np.testing.assert_array_equal(cupy.asarray(rows)[cupy.asarray(mask)].get(), rows[mask])


@pytest.mark.parametrize("shape", [(1, 1000), (700, 3), (3, 700), (40, 40, 40)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reductions_of_any_size(cupy: Any, shape: tuple[int, ...], axis: int | None) -> None:
    x = np.random.RandomState(0).rand(*shape).astype("float32")
    for name in ("sum", "max", "argmin", "mean"):
        found = getattr(cupy.asarray(x), name)(axis=axis)
        np.testing.assert_allclose(found.get(), getattr(x, name)(axis=axis), rtol=1e-4)


def test_raw_kernel_with_dynamic_shared_memory_and_barriers(cupy: Any) -> None:
    reverse = cupy.RawKernel(
        'extern "C" __global__ void reverse(const float *x, float *y) { extern __shared__ float tile[];'
        " tile[threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x]; }",
        "reverse",
    )
    x = cupy.arange(64, dtype="float32")
    y = cupy.empty_like(x)
    reverse((1,), (64,), (x, y), shared_mem=256)
    assert y.get().tolist() == list(range(63, -1, -1))


def test_elementwise_kernel_of_our_own(cupy: Any) -> None:
    axpy = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "cudasim_axpy")
    x = cupy.asarray(_A)
    np.testing.assert_allclose(axpy(np.float32(2), x, x).get(), 3 * _A, rtol=1e-6)


def test_work_on_the_second_device_stays_there(cupy: Any) -> None:
    with cupy.cuda.Device(1):
        x = cupy.asarray(_A) * 2
        assert x.device.id == 1
        np.testing.assert_allclose(x.get(), _A * 2)


def test_copy_between_devices(cupy: Any) -> None:
    x = cupy.asarray(_A)
    with cupy.cuda.Device(1):
        y = cupy.asarray(x)
        np.testing.assert_array_equal(y.get(), _A)


@pytest.mark.parametrize("ordered", [False, True])
def test_copy_between_devices_in_a_stream_of_its_own_waits_for_nothing(cupy: Any, ordered: bool) -> None:
    x = cupy.asarray(_A) * 2
    ready = cupy.cuda.get_current_stream().record(cupy.cuda.Event(disable_timing=True))
    with cupy.cuda.Device(1):
        y, stream = cupy.empty_like(x), cupy.cuda.Stream(non_blocking=True)
        if ordered:
            stream.wait_event(ready)
        y.data.copy_from_device_async(x.data, x.nbytes, stream)
        stream.synchronize()
    found = [text for text in cudasim.violations() if text.startswith("race")]
    cudasim.reset()
    assert bool(found) is not ordered


def test_host_function_runs_in_stream_order(cupy: Any) -> None:
    seen: list[str] = []
    stream = cupy.cuda.Stream(non_blocking=True)
    stream.launch_host_func(seen.append, "first")
    stream.launch_host_func(seen.append, "second")
    stream.synchronize()
    assert seen == ["first", "second"]


def test_dlpack_and_the_array_interface_share_memory(cupy: Any) -> None:
    x = cupy.asarray(_A)
    assert cupy.from_dlpack(x).data.ptr == x.data.ptr
    np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), _A)
    assert x.__cuda_array_interface__["data"][0] == x.data.ptr
