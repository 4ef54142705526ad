"""Trainers and parameter servers give the numbers of the real Fluid 1.8.5, and of one process on the joined batches."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.jobs import (
    SCRIPTS,
    Job,
    endpoints,
    fluidio_run,
    mpiexec,
    needs_mpi,
    needs_torch,
    paddle_variables,
)

pytestmark = pytest.mark.timeout(300)  # several processes, maybe on a busy machine
OPTIMIZERS = ("sgd", "momentum", "adam", "decay")
QUICK = [pytest.param(name, marks=[] if name == "adam" else [pytest.mark.slow]) for name in OPTIMIZERS]


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def check(found: Path, optimizer: str) -> None:
    """Compare two trainers with each other and, where there is one, with a run of the real framework."""
    trainers = [read(found / f"{optimizer}_trainer{rank}.json") for rank in (0, 1)]
    assert trainers[0]["params"] == trainers[1]["params"]
    for rank, trainer in enumerate(trainers):
        golden = SCRIPTS / f"{optimizer}_trainer{rank}.json"
        if golden.exists():
            expected = read(golden)
            np.testing.assert_allclose(trainer["losses"], expected["losses"], atol=2e-6)
            for name, value in expected["params"].items():
                if value:  # the real trainer has no copy of its sparse table
                    np.testing.assert_allclose(trainer["params"][name], value, atol=2e-6, err_msg=name)


@needs_torch
@pytest.mark.parametrize("optimizer", QUICK)
def test_two_trainers_and_two_servers_started_by_hand_equal_fluid(optimizer: str, tmp_path: Path) -> None:
    servers = endpoints(2)
    with Job() as job:
        for index, server in enumerate(servers):
            job.start(fluidio_run("dist_mlp.py", "pserver", str(index), "2", ",".join(servers), server, "-", optimizer))
        for rank in (0, 1):
            out = tmp_path / f"{optimizer}_trainer{rank}.json"
            job.start(
                fluidio_run("dist_mlp.py", "trainer", str(rank), "2", ",".join(servers), servers[0], out, optimizer)
            )
        for ended in job.wait():
            assert ended.status == 0, ended.output
    check(tmp_path, optimizer)


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_trainers_and_servers_of_mpiexec_equal_fluid(optimizer: str, tmp_path: Path) -> None:
    servers = ",".join(endpoints(2))
    words: list[str] = []
    for role, rank in (("pserver", 0), ("trainer", 0), ("trainer", 1)):
        out = tmp_path / f"{optimizer}_trainer{rank}.json"
        own = servers.split(",")[0]
        command = fluidio_run("dist_mlp.py", role, str(rank), "2", servers, own, out, optimizer)
        words += [":"] * bool(words) + ["-n", "1", *command]
    with Job() as job:
        job.start([*mpiexec(), *words])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    check(tmp_path, optimizer)


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_trainers_of_torchrun_equal_fluid(optimizer: str, tmp_path: Path) -> None:
    out = tmp_path / f"{optimizer}_trainer$RANK.json"
    run = fluidio_run("dist_mlp.py", "trainer", "$RANK", "2", "127.0.0.1:1", "127.0.0.1:1", out, optimizer)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    with Job() as job:
        job.start([*launcher, "sh", "-c", f"exec {' '.join(run)}"])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    check(tmp_path, optimizer)


def joined(tmp_path: Path, parts: int, *seed: str) -> dict[str, Any]:
    """Train one process on the batches of all trainers, with a seed in another order of their rows."""
    alone = tmp_path / f"alone-{parts}{''.join(seed)}"
    alone.mkdir()
    with Job() as job:
        job.start(fluidio_run("cases.py", alone, str(parts), *seed))
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    return dict(np.load(alone / "trainer-0.npz"))


def compare(found: Path, trainers: int, expected: dict[str, Any]) -> None:
    for trainer in range(trainers):
        values = np.load(found / f"trainer-{trainer}.npz")
        assert set(values.files) == set(expected)
        for name in expected:
            largest = abs(expected[name]).max()
            np.testing.assert_allclose(values[name], expected[name], rtol=0, atol=1e-6 * largest, err_msg=name)


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("trainers", [2, 3, 4])
def test_many_trainers_equal_one_process_on_the_joined_batches(trainers: int, tmp_path: Path) -> None:
    names = endpoints(trainers)
    with Job() as job:
        for trainer in range(trainers):
            job.start(fluidio_run("cases.py", tmp_path, str(trainers)), paddle_variables(trainer, names))
        for ended in job.wait():
            assert ended.status == 0, ended.output
    compare(tmp_path, trainers, joined(tmp_path, trainers))


def strays(found: Mapping[str, Any], expected: dict[str, Any]) -> int:
    """Return how many values are more than one millionth of themselves away."""
    return sum(int((abs(found[name] - value) > 1e-6 * abs(value)).sum()) for name, value in expected.items())


@needs_torch
@pytest.mark.slow
def test_two_trainers_are_as_close_to_one_process_as_it_is_to_itself_with_its_rows_in_another_order(
    tmp_path: Path,
) -> None:
    names = endpoints(2)
    with Job() as job:
        for trainer in (0, 1):
            job.start(fluidio_run("cases.py", tmp_path, "2"), paddle_variables(trainer, names))
        for ended in job.wait():
            assert ended.status == 0, ended.output
    expected = joined(tmp_path, 2)
    reordered = [strays(joined(tmp_path, 2, seed), expected) for seed in ("1", "2", "3")]
    assert 0 < strays(np.load(tmp_path / "trainer-0.npz"), expected) <= max(reordered) < 60


@needs_torch
@pytest.mark.slow
def test_runs_repeat_bit_for_bit(tmp_path: Path) -> None:
    for again in ("first", "second"):
        names = endpoints(3)
        (tmp_path / again).mkdir()
        with Job() as job:
            for trainer in range(3):
                job.start(fluidio_run("cases.py", tmp_path / again, "3"), paddle_variables(trainer, names))
            for ended in job.wait():
                assert ended.status == 0, ended.output
    first, second = (np.load(tmp_path / again / "trainer-1.npz") for again in ("first", "second"))
    for name in first.files:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@needs_mpi
@pytest.mark.slow
def test_trainers_of_mpiexec_equal_one_process_on_the_joined_batches(tmp_path: Path) -> None:
    with Job() as job:
        job.start([*mpiexec(), "-n", "2", *fluidio_run("cases.py", tmp_path, "2")])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    compare(tmp_path, 2, joined(tmp_path, 2))


@needs_torch
@pytest.mark.slow
def test_trainers_of_torchrun_equal_one_process_on_the_joined_batches(tmp_path: Path) -> None:
    run = fluidio_run("cases.py", tmp_path, "2")[1:]
    with Job() as job:
        job.start([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *run])
        (ended,) = job.wait()
    assert ended.status == 0, ended.output
    compare(tmp_path, 2, joined(tmp_path, 2))
