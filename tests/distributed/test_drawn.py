"""Programs drawn at random give the numbers that the real Fluid 1.8.5 gave with two trainers and two servers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.distributed.jobs import SCRIPTS, Job, endpoints, fluidio_run, needs_torch

pytestmark = pytest.mark.timeout(300)  # several processes, maybe on a busy machine


@needs_torch
@pytest.mark.parametrize("family", ["drawn", pytest.param("drawn_attributes", marks=pytest.mark.slow)])
def test_optimizers_schedules_decay_clipping_and_sparse_tables_equal_fluid(family: str, tmp_path: Path) -> None:
    (server,) = endpoints(1)
    golden = json.loads((SCRIPTS / f"{family}.json").read_text())
    cases = ",".join(golden)
    with Job() as job:
        for role, rank in (("pserver", 0), ("trainer", 0), ("trainer", 1)):
            out = tmp_path / f"{rank}.json"
            job.start(fluidio_run(f"{family}.py", role, str(rank), "2", server, server, out, cases))
        for ended in job.wait():
            assert ended.status == 0, ended.output
    trainers = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    for case, expected in golden.items():
        for trainer, losses in zip(trainers, expected["losses"]):
            np.testing.assert_allclose(trainer[case]["losses"], losses, atol=2e-6, err_msg=case)
            for name, value in expected["params"].items():
                found = trainer[case]["params"][name]
                np.testing.assert_allclose(found, value, atol=2e-6, err_msg=f"{case}: {name}")
