"""What the simulator cannot do, it refuses loudly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import cudasim
from tests.cudasim import kernels, signatures


def test_unknown_function_stops_the_installation() -> None:
    with pytest.raises(cudasim.UnknownCuPyError, match=r"CuPy 99\.0.*\n.*streamTeleport: unknown function"):
        signatures.check({"streamTeleport": "int (intptr_t)"}, "99.0")


def test_changed_signature_stops_the_installation() -> None:
    with pytest.raises(cudasim.UnknownCuPyError, match="malloc: signature `intptr_t \\(int\\)`, expected `intptr_t "):
        signatures.check({"malloc": "intptr_t (int)"}, "99.0")


def test_known_signatures_and_constants_pass() -> None:
    signatures.check({**signatures.SIMULATED, "errorInvalidValue": "int", "make_Pos": "cudaPos (size_t)"}, "14.2.0")


def test_parameters_that_a_kernel_may_write_are_told_apart() -> None:
    source = 'extern "C" __global__ void k(const CArray<float, 1, 1> x, CArray<int, 2, 0> y, const float a, int *z) {}'
    assert list(kernels.exports(source)) == ["SIM_EXPORT(k, 0, 0, 1, 0, 1)"]


@pytest.mark.gpu
@pytest.mark.parametrize("call", ["default_rng", "rand", "seed", "RandomState"])
def test_random_numbers_raise_instead_of_returning_garbage(cupy: Any, call: str) -> None:
    with pytest.raises(NotImplementedError, match="Draw on the host"):
        getattr(cupy.random, call)(3)


@pytest.mark.gpu
def test_graphs_raise(cupy: Any) -> None:
    with pytest.raises(NotImplementedError, match="streamBeginCapture"):
        cupy.cuda.Stream(non_blocking=True).begin_capture()


@pytest.mark.gpu
def test_broken_kernel_shows_the_compilers_message(cupy: Any) -> None:
    broken = cupy.RawKernel('extern "C" __global__ void f(float *x) { x[0] = nonsense; }', "f")
    with pytest.raises(cupy.cuda.compiler.CompileException, match="nonsense"):
        broken((1,), (1,), (cupy.zeros(1, "float32"),))


@pytest.mark.gpu
def test_compiled_kernels_come_from_the_cache_wherever_cupy_is_installed(
    cupy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_kernel, given = kernels.compile_kernel, []

    def recorded(source: str, options: Sequence[str], folder: Path) -> bytes:
        given.append((source, options, folder))
        return compile_kernel(source, options, folder)

    def refuse(arguments: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(kernels, "compile_kernel", recorded)
    code = 'extern "C" __global__ void cached(float *x) { x[0] = 3; }'
    cupy.RawModule(code=code).get_function("cached")
    ((source, options, folder),) = given
    elsewhere = [option.replace(str(Path(cupy.__file__).parent), "/elsewhere") for option in options]
    assert elsewhere != list(options)
    monkeypatch.setattr(kernels, "_run_gxx", refuse)
    assert compile_kernel(source, elsewhere, folder)
    with pytest.raises(AssertionError, match="compiled again"):
        compile_kernel(source + "// changed", options, folder)


@pytest.mark.gpu
def test_installing_again_changes_nothing(cupy: Any) -> None:
    cudasim.install(devices=5)
    assert cupy.cuda.runtime.getDeviceCount() == 2
    assert cudasim.why_not() is None
