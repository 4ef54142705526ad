"""The engine follows from how a process was started."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fluidio as fluid
from fluidio.distributed import Membership, describe_launch, export_paddle_variables, find_launch, trainer_count
from fluidio.distributed.limits import step_limit
from fluidio.distributed.membership import parse_endpoints
from fluidio.program import Program
from tests.house.repository import ROOT

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "head", "MASTER_PORT": "29500"}
AGENT = {"TORCHELASTIC_RUN_ID": "x", "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "2"}
MPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}
GLOO = "engine torch.distributed (Gloo), meeting at"
PADDLE = {"PADDLE_TRAINER_ID": "1", "PADDLE_TRAINER_ENDPOINTS": "a:1,b:2"}


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({}, "started alone"),
        (MPI, "process 3 of 4, started by mpiexec: engine MPI (mpi4py)"),
        (
            {**TORCHRUN, **AGENT},
            f"process 1 of 4, started by torchrun: {GLOO} head",
        ),
        (
            PADDLE,
            f"process 1 of 2, started by PADDLE_TRAINER_ENDPOINTS: {GLOO} a:1",
        ),
        (
            {"JOB_COMPLETION_INDEX": "2", "MASTER_ADDR": "job-0.svc", "WORLD_SIZE": "3"},
            f"process 2 of 3, started by a Kubernetes indexed job: {GLOO} job-0.svc",
        ),
        ({**MPI, "FLUIDIO_DISTRIBUTED": "off"}, "every process trains alone"),
        ({**TORCHRUN, "RANK": "one"}, "started in an unknown way: RANK='one' in the environment: expected a number"),
    ],
)
def test_the_doctor_says_who_started_the_process(env: dict[str, str], text: str) -> None:
    assert describe_launch(env).startswith(text)


def test_the_agent_of_torchrun_holds_the_meeting_point_and_counts_restarts() -> None:
    launch = find_launch({**TORCHRUN, **AGENT})
    assert launch is not None and launch.hosted and launch.attempt == 2
    by_hand = find_launch(TORCHRUN)
    assert by_hand is not None and not by_hand.hosted and by_hand.attempt == 0


@pytest.mark.parametrize("env", [{**TORCHRUN, "RANK": "one"}, {**MPI, "OMPI_COMM_WORLD_SIZE": "-4"}])
def test_a_number_that_is_none_is_named(env: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="RANK='one'|SIZE='-4'"):
        find_launch(env)


@pytest.mark.parametrize("env", [MPI, TORCHRUN])
def test_scripts_find_paddles_variables_whoever_started_them(env: dict[str, str]) -> None:
    told = dict(env)
    export_paddle_variables(told)
    assert told["PADDLE_TRAINERS_NUM"] == told["PADDLE_TRAINERS"] == "4"
    assert told["PADDLE_CURRENT_ENDPOINT"] in told["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert trainer_count(told) == trainer_count(env)
    assert find_launch(told) == find_launch(env)


def test_one_process_of_a_launcher_has_an_endpoint_and_no_role() -> None:
    told = {**TORCHRUN, "RANK": "0", "WORLD_SIZE": "1"}
    export_paddle_variables(told)
    assert told["PADDLE_TRAINERS_NUM"] == "1" and told["PADDLE_TRAINER_ENDPOINTS"] == "trainer-0:0"
    assert "TRAINING_ROLE" not in told and "PADDLE_TRAINING_ROLE" not in told


def test_the_guides_variables_say_which_trainer_this_is() -> None:
    assert trainer_count({}) == (0, 1)
    assert trainer_count({"PADDLE_TRAINERS": "3", "PADDLE_TRAINER_ID": "2"}) == (2, 3)
    assert trainer_count(PADDLE) == (1, 2)


@pytest.mark.parametrize("text", ["localhost", "host:port", ":80", "host:70000"])
def test_an_endpoint_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="expected host:port"):
        parse_endpoints(f"127.0.0.1:6174,{text}")


def test_a_trainer_beyond_the_number_of_trainers_is_refused() -> None:
    with pytest.raises(ValueError, match="trainer_id 2 of 2 trainers"):
        Membership(2, 2, ("a:1",))


@pytest.mark.parametrize("text", ["-1", "soon", "inf", "0"])
def test_a_time_limit_is_a_number_of_seconds(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDIO_TIMEOUT", text)
    with pytest.raises(ValueError, match="FLUIDIO_TIMEOUT"):
        step_limit()


def test_a_single_process_never_imports_an_engine() -> None:
    script = """
import sys
import numpy as np
import fluidio as fluid
x = fluid.layers.data("x", [2])
loss = fluid.layers.mean(fluid.layers.fc(x, 1))
fluid.optimizer.SGD(0.1).minimize(loss)
t = fluid.DistributeTranspiler()
t.transpile(0, trainers=1)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
exe.run(t.get_trainer_program(), feed={"x": np.ones((2, 2), "float32")}, fetch_list=[loss])
exe.close()
assert not {"torch", "mpi4py"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


@pytest.mark.parametrize(("package", "extra"), [("torch", "torch"), ("mpi4py", "mpi")])
def test_without_the_extra_one_line_names_the_pip_command(
    package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(sys, "argv", ["train.py", "--trainer_id", "0"])
    if package == "mpi4py":
        for name, value in MPI.items():
            monkeypatch.setenv(name, value)
    startup = Program()
    with fluid.program_guard(Program(), startup):
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [2]), 1))
        fluid.optimizer.SGD(0.1).minimize(loss)
        fluid.DistributeTranspiler().transpile(0, trainers=2)
    with pytest.raises(Exception, match=rf"pip install 'fluidio\[{extra}\]'"):
        fluid.Executor(fluid.CPUPlace()).run(startup)
