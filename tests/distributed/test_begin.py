"""Trainers that begin with different parameters go on with those of the first one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.distributed.jobs import Job, endpoints, fluidio_run, needs_torch, paddle_variables

pytestmark = [pytest.mark.timeout(300), needs_torch]


@pytest.mark.parametrize("how", [pytest.param("early", marks=pytest.mark.slow), "load"])
def test_trainers_that_begin_differently_agree_after_the_first_step(how: str, tmp_path: Path) -> None:
    names = endpoints(2)
    with Job() as job:
        for trainer in (0, 1):
            job.start(fluidio_run("begin.py", tmp_path, how), paddle_variables(trainer, names))
        for ended in job.wait():
            assert ended.status == 0, ended.output
    found = [np.load(tmp_path / f"trainer-{trainer}.npy") for trainer in (0, 1)]
    np.testing.assert_array_equal(*found)
    if how == "load":
        assert found[0].min() > 3  # it began with 7
