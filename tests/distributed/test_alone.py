"""A script that names other trainers, run by itself, trains alone after some seconds, and says so."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading

import numpy as np
import pytest

import fluidio as fluid
from fluidio.distributed import limits, process
from fluidio.distributed.alone import is_told_its_part
from fluidio.distributed.meeting import Meeting
from fluidio.errors import NobodyCame
from fluidio.incubate.fleet.base.role_maker import PaddleCloudRoleMaker
from tests.distributed.jobs import endpoints, needs_torch


@pytest.mark.parametrize(
    ("env", "words", "told"),
    [
        ({}, [], False),
        ({"HOME": "/root", "PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0"}, [], False),
        ({}, ["--batch_size", "32", "--use_cuda=0", "--lr", "0.1", "-v"], False),
        ({}, ["--trainer_id", "0"], True),
        ({}, ["--is_local=0"], True),
        ({}, ["--use_cuda=0", "trainer"], True),
        ({}, ["0"], True),
        ({"PADDLE_TRAINER_ID": "0"}, [], True),
        ({"TRAINING_ROLE": "TRAINER"}, [], True),
        ({"PSERVERS": "a:1"}, [], True),
        ({"CUR_ENDPOINT": "a:1"}, [], True),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, [], True),
    ],
)
def test_variables_and_arguments_say_which_process_this_is(env: dict[str, str], words: list[str], told: bool) -> None:
    assert is_told_its_part(env, words) is told


@pytest.fixture
def by_itself(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make this process one that was started without arguments, and its patience short."""
    monkeypatch.setattr(process, "goes_alone", lambda: True)
    monkeypatch.setattr(limits, "goes_alone", lambda: True)
    monkeypatch.setattr(limits, "_NOBODY", 0.3)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    return monkeypatch


def train(mode: str) -> float:
    """Train one step as trainer 0 of 3, which nobody joins."""
    servers = ",".join(endpoints(3))
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        x = fluid.layers.data("x", [2])
        loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        fluid.optimizer.SGD(0.1).minimize(loss)
        config = fluid.DistributeTranspilerConfig()
        config.mode = mode
        transpiler = fluid.DistributeTranspiler(config)
        if mode == "pserver":
            transpiler.transpile(0, main, pservers=servers, trainers=3, startup_program=startup)
        else:
            transpiler.transpile(0, main, trainers=servers, startup_program=startup)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        found = exe.run(main, feed={"x": np.ones((2, 2), "float32")}, fetch_list=[loss])[0]
        exe.close()
    return float(found)


@needs_torch
@pytest.mark.parametrize("mode", ["pserver", "nccl2"])
def test_a_script_that_is_just_run_trains_alone(
    mode: str, by_itself: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert np.isfinite(train(mode))
    said = capsys.readouterr().err
    assert "no other of 3 trainers came within 0.3 s" in said and "trains alone, as trainer 0" in said


def test_without_torch_it_does_so_at_once_and_names_the_pip_command(
    by_itself: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    by_itself.setitem(sys.modules, "torch", None)
    assert np.isfinite(train("pserver"))
    said = capsys.readouterr().err
    assert "pip install 'fluidio[torch]'" in said and "trains alone, as trainer 0" in said


@needs_torch
def test_a_process_that_knows_its_part_does_not(by_itself: pytest.MonkeyPatch) -> None:
    by_itself.setattr(process, "goes_alone", lambda: False)
    with pytest.raises(NobodyCame, match="no process answers at the meeting point"):
        train("pserver")


@pytest.mark.parametrize("is_collective", [False, True])
@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"PADDLE_TRAINERS_NUM": "2"}, "PADDLE_TRAINERS_NUM=2 but no PADDLE_TRAINER_ID"),
        ({"PADDLE_TRAINER_ENDPOINTS": "a:1,b:1"}, "PADDLE_TRAINER_ENDPOINTS but no"),
        ({"PADDLE_TRAINER_ID": "1"}, "PADDLE_TRAINER_ID=1, but neither"),
        ({"PADDLE_TRAINERS_NUM": "1"}, ""),
        ({"PADDLE_TRAINER_ID": "0"}, ""),
        ({"PADDLE_TRAINER_ID": "1", "PADDLE_TRAINERS_NUM": "2"}, ""),
    ],
)
def test_variables_that_are_half_set_are_an_error(
    variables: dict[str, str], problem: str, is_collective: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINERS_NUM", "TRAINING_ROLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=problem) if problem else contextlib.nullcontext():
        PaddleCloudRoleMaker(is_collective).generate_role()


@needs_torch
def test_a_program_that_does_not_answer_at_the_meeting_point_is_named_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(NobodyCame, match=f"answers at the meeting point {address} is neither a trainer"):
            Meeting(address, hold=False, prefix="x", limit=1)


@needs_torch
def test_another_program_at_the_meeting_point_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDIO_START_TIMEOUT", "20")
    with socket.create_server(("127.0.0.1", 0)) as server:
        answer = threading.Thread(target=answer_like_a_web_server, args=(server,), daemon=True)
        answer.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(NobodyCame, match=f"answers at the meeting point {address} is neither a trainer"):
            Meeting(address, hold=False, prefix="x", limit=2)
        server.shutdown(socket.SHUT_RDWR)  # ends accept()
    answer.join(20)


def answer_like_a_web_server(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(1000)
