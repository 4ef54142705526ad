"""paddle.distributed.launch and launch_ps start jobs, and end them when a process fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fluidio.paddle.distributed.launch import launch
from tests.distributed.jobs import Job, endpoints, fluidio_run, needs_torch

pytestmark = pytest.mark.timeout(300)  # several processes, maybe on a busy machine

VARIABLES = "import os, sys; open(sys.argv[1] + os.environ['PADDLE_TRAINER_ID'], 'w').write(repr(dict(os.environ)))"


def test_each_trainer_learns_who_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(VARIABLES)
    words = ["--cluster_node_ips", "10.0.0.1,10.0.0.2", "--node_ip", "10.0.0.2", "--selected_gpus", "0,3"]
    assert launch([*words, str(script), f"{tmp_path}/env-"]) == 0
    assert "4 trainers at 10.0.0.1:6170,10.0.0.1:6171,10.0.0.2:6170,10.0.0.2:6171" in capsys.readouterr().out
    for trainer, gpu in ((2, "0"), (3, "3")):
        env = eval((tmp_path / f"env-{trainer}").read_text())
        assert env["FLAGS_selected_gpus"] == gpu and env["PADDLE_TRAINERS_NUM"] == "4"
        assert env["PADDLE_CURRENT_ENDPOINT"] == f"10.0.0.2:{6168 + trainer}"


def test_a_trainer_that_fails_ends_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys, time\nif os.environ['PADDLE_TRAINER_ID'] == '1': sys.exit(7)\ntime.sleep(50)")
    assert launch(["--nproc_per_node", "3", "--log_dir", str(tmp_path / "logs"), str(script)]) == 7
    error = capsys.readouterr().err
    assert "trainer 1 ended with status 7" in error and "workerlog.1" in error


def test_a_node_that_is_not_in_the_cluster_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert launch(["--node_ip", "10.0.0.9", "x.py"]) == 2
    assert "--node_ip 10.0.0.9 is not in" in capsys.readouterr().err


@needs_torch
def test_a_fleet_of_servers_and_workers_trains_and_ends(tmp_path: Path) -> None:
    servers = ",".join(endpoints(2))
    script = fluidio_run("fleet_ps.py", tmp_path)[-2:]
    with Job() as job:
        run = [sys.executable, "-m", "fluidio", "run", "--fluid", "1.8", "-m", "paddle.distributed.launch_ps"]
        job.start([*run, "--endpoints", servers, "--log_dir", tmp_path / "logs", *script])
        (ended,) = job.wait()
    logs = "\n".join(path.read_text() for path in sorted((tmp_path / "logs").iterdir()))
    assert ended.status == 0, ended.output + logs
    assert (tmp_path / "worker-0.txt").exists() and (tmp_path / "worker-1.txt").exists()
    assert (tmp_path / "model" / "__model__").exists()
