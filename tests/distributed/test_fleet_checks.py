"""What fleet's roles, strategies and optimizers refuse, and what strategies set, as in 1.8.5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fluidio as fluid
from fluidio.incubate.fleet import collective
from fluidio.incubate.fleet.base import role_maker as roles
from fluidio.incubate.fleet.parameter_server import distribute_transpiler as servers
from fluidio.transpiler.distribute import DistributedMode, DistributeTranspilerConfig, ServerRuntimeConfig

Role = roles.Role
TWICE = ["127.0.0.1:1", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"server_endpoints": []}, ValueError),
        ({"server_endpoints": TWICE}, ValueError),
        ({"server_endpoints": [3, []]}, TypeError),
        ({"current_id": "0"}, TypeError),
        ({"current_id": 1, "role": Role.SERVER}, ValueError),
        ({"worker_num": "1"}, TypeError),
    ],
)
def test_a_role_with_servers_checks_its_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with fluid.use_era("1.8"), pytest.raises(error):
        roles.UserDefinedRoleMaker(**{"worker_num": 1, "server_endpoints": ["127.0.0.1:1"], **arguments})


@pytest.mark.parametrize(("endpoints", "error"), [(TWICE, ValueError), ([3], TypeError), ([], ValueError)])
def test_a_role_without_servers_checks_its_endpoints(endpoints: Any, error: type[Exception]) -> None:
    with fluid.use_era("1.8"), pytest.raises(error):
        roles.UserDefinedCollectiveRoleMaker(0, endpoints)


def test_a_config_waits_or_divides_at_run_time() -> None:
    config = DistributeTranspilerConfig()
    with pytest.raises(ValueError, match="must not be None"):
        config.sync_mode = None  # type: ignore[assignment]
    with pytest.raises(ValueError, match="sync_mode = False first"):
        config.runtime_split_send_recv = True
    config.sync_mode = False
    config.runtime_split_send_recv = True
    with pytest.raises(ValueError, match="runtime_split_send_recv = False first"):
        config.sync_mode = True


# half_async, completely_not_async, geo_sgd_mode, use_thread_barrier, mode
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sync", (True, True, False, True, DistributedMode.SYNC)),
        ("async", (False, False, False, False, DistributedMode.ASYNC)),
        ("half_async", (True, False, False, True, DistributedMode.HALF_ASYNC)),
        ("geo", (False, False, True, False, DistributedMode.GEO)),
    ],
)
def test_a_strategy_sets_its_parts(name: str, expected: tuple[Any, ...]) -> None:
    strategy = getattr(servers.StrategyFactory, f"create_{name}_strategy")()
    config, runtime = strategy.get_program_config(), strategy.get_trainer_runtime_config()
    barrier = strategy.get_execute_strategy().use_thread_barrier
    found = (config.half_async, config.completely_not_async, config.geo_sgd_mode, barrier, runtime.mode)
    assert found == expected
    assert not config.sync_mode and config.runtime_split_send_recv
    assert strategy.get_build_strategy().async_mode
    assert strategy.get_server_runtime_config()._rpc_get_thread_num == 12


def test_options_of_trainers_are_set_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    strategy = servers.StrategyFactory.create_half_async_strategy()
    strategy.set_trainer_runtime_config({"communicator_send_queue_size": 7})
    flags = strategy.get_trainer_runtime_config().get_communicator_flags()
    assert flags == {
        "communicator_max_merge_var_num": "1",
        "communicator_send_wait_times": "5",
        "communicator_thread_pool_size": "5",
        "communicator_send_queue_size": "1",
    }
    assert "communicator_send_queue_size follows CPU_NUM, 1" in capsys.readouterr().out
    assert "communicator_thread_pool_size" in repr(strategy.get_trainer_runtime_config())
    with pytest.raises(ValueError, match="'speed'"):
        strategy.set_trainer_runtime_config({"speed": 1})
    with pytest.raises(TypeError, match="must be a dict or ServerRuntimeConfig"):
        strategy.set_server_runtime_config(None)
    config = ServerRuntimeConfig()
    strategy.set_server_runtime_config(config)
    assert strategy.get_server_runtime_config() is config


def test_a_strategy_of_no_mode_refuses_parts() -> None:
    with pytest.raises(NotImplementedError, match="StrategyFactory"):
        servers.DistributedStrategy().set_program_config({"min_block_size": 1})


def test_what_is_dumped_for_debugging_has_defaults() -> None:
    strategy = servers.StrategyFactory.create_sync_strategy()
    assert strategy.get_debug_opt() == {}
    strategy.set_debug_opt({"dump_slot": 1})
    assert strategy.get_debug_opt()["dump_slot"] is True
    assert strategy.get_debug_opt()["dump_file_num"] == 16


@pytest.mark.parametrize("wrap", [fluid.optimizer.RecomputeOptimizer, fluid.contrib.mixed_precision.decorate])
def test_an_optimizer_is_not_wrapped_twice(wrap: Any) -> None:
    strategy = collective.DistributedStrategy()
    strategy.forward_recompute, strategy.recompute_checkpoints = True, ["x"]
    optimizer = collective.CollectiveOptimizer(wrap(fluid.optimizer.Adam()), strategy)
    with pytest.raises(ValueError, match="DistributedStrategy.forward_recompute"):
        optimizer.minimize(None)
    strategy.recompute_checkpoints = []
    with pytest.raises(ValueError, match="recompute_checkpoints"):
        optimizer.minimize(None)
    strategy.recompute_checkpoints = "x"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="must be a list"):
        collective.CollectiveOptimizer(fluid.optimizer.Adam(), strategy)


def test_minimize_takes_the_names_of_every_version() -> None:
    fleet = servers.DistributedTranspiler()
    with pytest.raises(ValueError, match=r"fleet\.init"):
        fleet.distributed_optimizer(fluid.optimizer.SGD(0.1))
    fleet.init(roles.UserDefinedRoleMaker(0, Role.WORKER, 1, ["127.0.0.1:6174"]))
    for name in ("loss", "losses"):
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [2]), 1))
        arguments: dict[str, Any] = {name: loss}
        _, pairs = fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(**arguments)
        assert len(pairs) >= 2
    with fluid.use_era("1.8"), pytest.raises(TypeError, match="loss must not be a list"):
        fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(loss=[])


@pytest.mark.parametrize(("fleet", "error"), [(servers.fleet, TypeError), (collective.fleet, AssertionError)])
def test_only_an_executor_saves_programs(fleet: Any, error: type[Exception], tmp_path: Path) -> None:
    exe = fluid.Executor(fluid.CPUPlace())
    compiled = fluid.CompiledProgram(fluid.default_main_program())
    with pytest.raises(error, match="must be a fluid.Executor"):
        fleet.save_persistables("executor", str(tmp_path))
    with pytest.raises(error, match="must be a fluid.Program"):
        fleet.save_inference_model(exe, str(tmp_path), ["x"], [], main_program=compiled)
