"""Collective ops, fleet, ParallelExecutor, batch norm over all trainers, float16 gradients: between real processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.distributed.jobs import Job, endpoints, fluidio_run, mpiexec, needs_mpi, needs_torch, paddle_variables

pytestmark = pytest.mark.timeout(300)  # several processes, maybe on a busy machine


@needs_torch
@pytest.mark.parametrize("trainers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_trainers_of_gloo_work_together(trainers: int, tmp_path: Path) -> None:
    names = endpoints(trainers)
    with Job() as job:
        for trainer in range(trainers):
            job.start(fluidio_run("together.py", tmp_path), paddle_variables(trainer, names))
        for trainer, ended in enumerate(job.wait()):
            assert ended.status == 0 and f"done {trainer}" in ended.output, ended.output


@needs_torch
def test_collective_ops_of_a_script_that_declares_no_job_work_between_launched_trainers(tmp_path: Path) -> None:
    script, names = tmp_path / "sum.py", endpoints(2)
    script.write_text(
        "import numpy as np\nimport paddle.fluid as fluid\n"
        "x = fluid.data('x', [2], 'float32')\n"
        "total = fluid.layers.collective._c_allreduce(x)\n"
        "print(fluid.Executor(fluid.CPUPlace()).run(feed={'x': np.ones(2, 'f4')}, fetch_list=[total])[0].sum())\n"
    )
    with Job() as job:
        for trainer in range(2):
            job.start(fluidio_run(script), paddle_variables(trainer, names))
        for ended in job.wait():
            assert ended.status == 0 and "4.0" in ended.output, ended.output


@needs_mpi
@pytest.mark.slow
def test_trainers_of_mpi_work_together(tmp_path: Path) -> None:
    with Job() as job:
        job.start([*mpiexec(), "-n", "2", *fluidio_run("together.py", tmp_path)])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output


@needs_torch
@pytest.mark.slow
def test_trainers_of_torchrun_work_together(tmp_path: Path) -> None:
    run = fluidio_run("together.py", tmp_path)[1:]
    with Job() as job:
        job.start([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *run])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
