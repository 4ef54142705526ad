"""The programs that the real Fluid 1.8.5 ran give its numbers on a GPU, too: every executor is put on CUDAPlace(0)."""

from __future__ import annotations

import itertools
import json
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
import fluidio.executor.executor as executor
import fluidio.executor.parallel as parallel
from fluidio.era import keep_era
from fluidio.executor.devices import backend_for
from fluidio.places import CPUPlace, CUDAPlace, unwrap
from fluidio.testing import fresh

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]  # the first run compiles a few hundred kernels

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("*.npz"))


@pytest.fixture
def legacy(cupy: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let a script say `import paddle.fluid`, write into a folder of its own, and run on the GPU."""

    def on_gpu(place: Any) -> Any:
        return backend_for(CUDAPlace(0) if isinstance(unwrap(place), CPUPlace) else place)

    paddle: Any = ModuleType("paddle")
    paddle.fluid, paddle.batch = fluid, fluid.io.batch
    monkeypatch.setitem(sys.modules, "paddle", paddle)
    monkeypatch.setitem(sys.modules, "paddle.fluid", fluid)
    devices = itertools.cycle(range(min(2, cupy.cuda.runtime.getDeviceCount())))  # of programs on two places
    monkeypatch.setitem(vars(executor), "backend_for", on_gpu)
    monkeypatch.setitem(vars(parallel), "backend_for", lambda place: backend_for(CUDAPlace(next(devices))))
    monkeypatch.setenv("GOLDEN_OUT", str(tmp_path))
    monkeypatch.setenv("CPU_NUM", "1")  # data_parallel sets it for itself; the tests after it are to find it as it was
    monkeypatch.syspath_prepend(GOLDEN)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_a_program_gives_the_numbers_of_fluid_1_8_5(legacy: Path, case: str) -> None:
    with keep_era(), fresh():
        fluid.use_era("1.8")
        runpy.run_path(str(GOLDEN / f"{case}.py"), run_name="__main__")
    meta = json.loads((GOLDEN / f"{case}.json").read_text())
    with np.load(GOLDEN / f"{case}.npz") as wanted, np.load(legacy / f"{case}.npz") as found:
        assert sorted(found.files) == sorted(wanted.files)
        for key in wanted.files:
            a, b = wanted[key], found[key]
            assert (b.dtype, b.shape) == (a.dtype, a.shape), key
            if a.dtype.kind == "f":
                np.testing.assert_allclose(b, a, rtol=meta["rtol"], atol=meta["atol"], err_msg=key)
            else:
                np.testing.assert_array_equal(b, a, err_msg=key)
