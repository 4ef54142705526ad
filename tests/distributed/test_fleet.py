"""Fleet's roles, strategies and checkpoints, in one process."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidio as fluid
from fluidio.distributed import membership
from fluidio.incubate.fleet import collective
from fluidio.incubate.fleet.base import role_maker as roles
from fluidio.incubate.fleet.parameter_server import distribute_transpiler as servers

Role = roles.Role
TWO = "1.1.1.1:6000,2.2.2.2:6001"


def describe(role: roles.RoleMakerBase) -> tuple[Any, ...]:
    return role.is_worker(), role.is_first_worker(), role.worker_num(), role.worker_index(), role.server_num()


@pytest.mark.parametrize(
    ("env", "is_collective", "expected"),
    [
        ({}, True, (True, True, 1, 0, 0)),
        ({}, False, (True, True, 1, 0, 0)),
        ({"PADDLE_TRAINER_ID": "1", "PADDLE_TRAINER_ENDPOINTS": "a:1,b:2"}, True, (True, False, 2, 1, 0)),
        ({"RANK": "2", "WORLD_SIZE": "3", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, True, (True, False, 3, 2, 0)),
        (
            {
                "TRAINING_ROLE": "TRAINER",
                "PADDLE_TRAINER_ID": "0",
                "PADDLE_TRAINERS_NUM": "2",
                "PADDLE_PSERVERS_IP_PORT_LIST": TWO,
            },
            False,
            (True, True, 2, 0, 2),
        ),
        (
            {
                "TRAINING_ROLE": "PSERVER",
                "POD_IP": "2.2.2.2",
                "PADDLE_PORT": "6001",
                "PADDLE_TRAINERS_NUM": "2",
                "PADDLE_PSERVERS_IP_PORT_LIST": TWO,
            },
            False,
            (False, False, 2, 1, 2),
        ),
    ],
)
def test_the_environment_says_who_is_who(
    env: dict[str, str], is_collective: bool, expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert describe(roles.PaddleCloudRoleMaker(is_collective)) == expected


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: roles.UserDefinedRoleMaker(server_endpoints="a:1"), TypeError, "list of strings"),
        (lambda: roles.UserDefinedRoleMaker(-1, Role.WORKER, 1, ["a:1"]), ValueError, "must not be negative"),
        (lambda: roles.UserDefinedRoleMaker(0, 7, 1, ["a:1"]), TypeError, "role must be"),
        (lambda: roles.UserDefinedRoleMaker(0, Role.WORKER, 0, ["a:1"]), ValueError, "worker_num"),
        (lambda: roles.UserDefinedCollectiveRoleMaker(0, "a:1"), TypeError, "list of strings"),
        (lambda: servers.DistributedTranspiler().init("worker"), TypeError, "takes a role maker"),
        (lambda: servers.DistributedTranspiler().worker_num(), RuntimeError, "fleet.init"),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


@given(st.integers(1, 7), st.integers(0, 30))
def test_files_are_divided_without_loss(workers: int, files: int) -> None:
    names = [f"part-{i}" for i in range(files)]
    found = []
    for worker in range(workers):
        fleet = collective.Collective()
        fleet._role_maker = roles.UserDefinedCollectiveRoleMaker(worker, [f"w:{i}" for i in range(workers)])
        found.append(fleet.split_files(names))
    assert list(itertools.chain(*found)) == names
    assert max(map(len, found)) - min(map(len, found)) <= 1
    assert sorted(map(len, found), reverse=True) == list(map(len, found))


def build() -> fluid.Variable:
    return fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [2]), 1))


def test_a_worker_of_a_fleet_exchanges_gradients() -> None:
    fleet = servers.DistributedTranspiler()
    fleet.init(roles.UserDefinedRoleMaker(1, Role.WORKER, 3, ["127.0.0.1:6174"]))
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(build())
    assert "exchange_start" in [op.type for op in fleet.main_program.global_block().ops]
    told = membership()
    assert told is not None and (told.trainer, told.trainers, told.endpoints) == (1, 3, ("127.0.0.1:6174",))
    with pytest.raises(RuntimeError, match="is not a server"):
        fleet.run_server()


def test_a_server_of_a_fleet_only_waits() -> None:
    fleet = servers.DistributedTranspiler()
    fleet.init(roles.UserDefinedRoleMaker(1, Role.SERVER, 3, ["127.0.0.1:6174", "127.0.0.1:6175"]))
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(build())
    (op,) = fleet.main_program.global_block().ops
    assert op.type == "listen_and_serv" and op.attr("endpoint") == "127.0.0.1:6175"
    fleet.init_server()
    assert op.attr("model") == ""


@pytest.mark.parametrize("name", ["async", "half_async", "geo"])
def test_strategies_that_do_not_wait_run_in_sync_and_say_so(name: str) -> None:
    strategy = getattr(servers.StrategyFactory, f"create_{name}_strategy")()
    fleet = servers.DistributedTranspiler()
    fleet.init(roles.UserDefinedRoleMaker(0, Role.WORKER, 2, ["127.0.0.1:6174"]))
    with pytest.warns(UserWarning, match="as sync"):
        fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(build())
    with pytest.raises(TypeError, match="strategy must be"):
        fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), {"sync": True})


def test_a_strategy_takes_its_parts_whole_or_by_field() -> None:
    strategy = servers.StrategyFactory.create_sync_strategy()
    strategy.set_program_config({"min_block_size": 1})
    assert strategy.get_program_config().min_block_size == 1
    with pytest.raises(ValueError, match="'speed'"):
        strategy.set_build_strategy({"speed": 1})
    with pytest.raises(TypeError, match="must be a dict or ExecutionStrategy"):
        strategy.set_execute_strategy(3)


def test_checkpoints_of_a_fleet_are_numbered_and_resume(tmp_path: Path) -> None:
    fleet = collective.Collective()
    fleet.init()
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(build())
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    assert fleet.load_check_point(exe, str(tmp_path), 0) is None
    bias = fluid.global_scope().find_var("fc_0.b_0")
    assert bias is not None
    for epoch in range(3):
        bias.get_tensor().set(np.array([float(epoch)], "float32"), fluid.CPUPlace())
        fleet.save_check_point(exe, str(tmp_path), collective.TrainStatus(epoch))
    bias.get_tensor().set(np.array([-1.0], "float32"), fluid.CPUPlace())
    status = fleet.load_check_point(exe, str(tmp_path), 0)
    assert status is not None and status == collective.TrainStatus(2) and status.next() == 3
    assert np.array(bias.get_tensor())[0] == 2.0
    fleet.clean_redundant_check_points(str(tmp_path), checkpoint_num=2)
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        fleet.load_check_point(exe, str(tmp_path / "none"), 0, ignore_empty=False)
