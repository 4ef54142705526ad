"""A model loaded on parameter servers, which hold nothing, reaches the trainers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.distributed import Membership, serve
from fluidio.distributed.communicator import Done
from fluidio.errors import DistributedError, EnforceNotMet
from fluidio.incubate.fleet.base.role_maker import Role, UserDefinedRoleMaker
from fluidio.incubate.fleet.parameter_server.distribute_transpiler import DistributedTranspiler
from fluidio.ops.trainers import exchange
from tests.distributed.jobs import Job, endpoints, fluidio_run, needs_torch


def build() -> Any:
    x, y = fluid.layers.data("x", [4]), fluid.layers.data("y", [1])
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    return loss


def saved(folder: Path) -> dict[str, Any]:
    """Save a model and return its values."""
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
        build()
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        values = {}
        for number, variable in enumerate(v for v in main.list_vars() if v.persistable):
            tensor = scope.var(variable.name).get_tensor()
            values[variable.name] = np.full(tensor.shape(), number + 1, np.float32)
            tensor.set(values[variable.name], fluid.CPUPlace())
        fluid.io.save_persistables(exe, str(folder), main)
    return values


def begin(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, Any]:
    """Return the values of the first of two trainers after its startup program."""
    two = SimpleNamespace(members=[0, 1], rank=0, take_model=lambda: str(folder), broadcast=lambda array, root: Done())
    monkeypatch.setattr(exchange, "group", lambda: SimpleNamespace(meet=lambda intent, signature: two))
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
        build()
        fluid.DistributeTranspiler().transpile(0, main, "127.0.0.1:6174", 2, startup_program=startup)
        fluid.Executor(fluid.CPUPlace()).run(startup)
        names = [v.name for v in main.list_vars() if v.persistable]
        return {name: np.array(scope.var(name).get_tensor()) for name in names}


def test_the_first_trainer_loads_what_the_servers_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = saved(tmp_path)
    found = begin(monkeypatch, tmp_path)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_what_fluids_servers_did_not_save_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = saved(tmp_path)
    (tmp_path / "learning_rate_0").unlink()
    with pytest.warns(UserWarning, match="has no learning_rate_0: .* startup program"):
        found = begin(monkeypatch, tmp_path)
    assert found["learning_rate_0"] == np.float32(0.1)
    np.testing.assert_array_equal(found["fc_0.w_0"], expected["fc_0.w_0"])


def test_a_folder_that_the_trainer_does_not_have_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnforceNotMet, match="put the folder where both can read it"):
        begin(monkeypatch, tmp_path / "elsewhere")


def test_values_of_another_shape_and_damaged_files_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path)
    whole = (tmp_path / "fc_0.w_0").read_bytes()
    (tmp_path / "fc_0.w_0").write_bytes((tmp_path / "fc_0.b_0").read_bytes())
    with pytest.raises(EnforceNotMet, match=r"shape \(1,\); the program has float32 of shape \(4, 1\)"):
        begin(monkeypatch, tmp_path)
    (tmp_path / "fc_0.w_0").write_bytes(whole[:-3])
    with pytest.raises(EnforceNotMet, match="damaged or cut"):
        begin(monkeypatch, tmp_path)


def test_a_server_notes_what_is_loaded_on_it(tmp_path: Path) -> None:
    fleet = DistributedTranspiler()
    fleet.init(UserDefinedRoleMaker(0, Role.SERVER, 3, ["127.0.0.1:6174"]))
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.layers.data("x", [4])
        fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(fluid.layers.mean(fluid.layers.fc(x, 1)))
    fleet.init_server(str(tmp_path))
    (op,) = fleet.main_program.global_block().ops
    assert op.attr("model") == str(tmp_path)
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(EnforceNotMet, match="it is not a folder"):
        fluid.io.load_persistables(exe, str(tmp_path / "none"), fleet.main_program)
    with pytest.raises(NotImplementedError, match="load it in the trainers"):
        fluid.io.load_params(exe, str(tmp_path), fleet.main_program, filename="all")


def test_the_server_of_one_trainer_cannot_pass_a_model_on() -> None:
    with pytest.raises(DistributedError, match="load it in the trainers"):
        serve(Membership(-1, 1, ("127.0.0.1:6174",), "127.0.0.1:6174", 0), "model")


@needs_torch
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_trainers_begin_with_the_model_of_their_servers(tmp_path: Path) -> None:
    expected = saved(tmp_path / "model")
    names = endpoints(2)
    with Job() as job:
        for role in ("pserver", "trainer"):
            for rank in (0, 1):
                words = (role, str(rank), ",".join(names), names[rank], tmp_path / "model", tmp_path)
                job.start(fluidio_run("served.py", *words))
        for ended in job.wait():
            assert ended.status == 0, ended.output
    for rank in (0, 1):
        found = np.load(tmp_path / f"trainer-{rank}.npz")
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=name)
