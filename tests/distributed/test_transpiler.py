"""DistributeTranspiler rewrites programs so that trainers exchange gradients before they use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.distributed import membership
from fluidio.distributed.rewrite import gradients_of
from fluidio.transpiler.distribute import slice_variable
from fluidio.transpiler.geo_sgd_transpiler import GeoSgdTranspiler

L = fluid.layers


def build(*, sparse: bool = False, clip: str = "") -> fluid.Variable:
    ids = L.data("ids", [1], dtype="int64")
    hidden = L.fc(L.embedding(ids, [11, 4], is_sparse=sparse), 8, act="tanh")
    loss = L.mean(L.fc(hidden, 1))
    limit = fluid.clip.GradientClipByGlobalNorm(1.0) if clip else None
    if clip == "set":
        fluid.clip.set_gradient_clip(limit)
    own = limit if clip == "argument" else None
    fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L2Decay(0.1), grad_clip=own).minimize(loss)
    return loss


def transpile(mode: str = "pserver", trainers: object = 2, **options: object) -> fluid.DistributeTranspiler:
    config = fluid.DistributeTranspilerConfig()
    config.mode = mode
    transpiler = fluid.DistributeTranspiler(config=config)
    transpiler.transpile(0, trainers=trainers, **options)  # type: ignore[arg-type]
    return transpiler


def types() -> list[str]:
    return [op.type for op in fluid.default_main_program().global_block().ops]


def test_one_trainer_has_the_program_as_it_was() -> None:
    build()
    before = types()
    t = fluid.DistributeTranspiler()
    with pytest.raises(RuntimeError, match="transpile"):
        t.get_trainer_program()
    t.transpile(0, trainers=1)
    assert t.get_trainer_program() is fluid.default_main_program() and types() == before


# Trainers of parameter servers clip before the exchange with `set_gradient_clip`.
_CLIPS = [("nccl2", ""), ("nccl2", "set"), ("nccl2", "argument"), ("pserver", ""), ("pserver", "argument")]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("mode", "clip"), _CLIPS)
def test_every_gradient_is_exchanged_before_it_is_clipped_decayed_or_used(sparse: bool, clip: str, mode: str) -> None:
    build(sparse=sparse, clip=clip)
    block = fluid.default_main_program().global_block()
    wanted = set(gradients_of(block))
    assert len(wanted) == 5
    trainers: object = 2 if mode == "pserver" else "127.0.0.1:6174,127.0.0.1:6175"
    transpile(mode, trainers)
    arrived = [op for op in block.ops if op.type in ("exchange_wait", "exchange_rows")]
    assert {name for op in arrived for name in op.output_arg_names} == wanted
    for name in wanted:
        last = max(block.ops.index(op) for op in arrived if name in op.output_arg_names)
        uses = [op for op in block.ops if op.attrs["op_role"] & 2 and name in op.input_arg_names]
        assert last < min(block.ops.index(op) for op in uses if not op.type.startswith("exchange"))
    assert types().count("exchange_rows") == sparse
    transpile(mode, trainers)
    assert types().count("exchange_wait") == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_trainers_of_parameter_servers_clip_their_own_gradients_as_in_fluid(sparse: bool) -> None:
    build(sparse=sparse, clip="set")
    block = fluid.default_main_program().global_block()
    with pytest.warns(UserWarning, match="set_gradient_clip to the gradients of each trainer"):
        transpile()
    exchanged = [op for op in block.ops if op.type in ("exchange_start", "exchange_rows")]
    first = min(block.ops.index(op) for op in exchanged)
    clipped = {name for op in exchanged for name in op.input_arg_names}
    makers = [op for op in block.ops if clipped & set(op.output_arg_names) and not op.type.startswith("exchange")]
    makers = [op for op in makers if op.type != "sum"]  # decay adds to the mean, in place
    assert len(clipped) == 5 and {op.type for op in makers} <= {"elementwise_mul", "scale"}
    assert max(block.ops.index(op) for op in makers) < first
    assert all(
        block.ops.index(op) > first
        for op in block.ops
        if op.type in ("sum", "sgd") and clipped & set(op.input_arg_names)
    )


def test_trainers_of_parameter_servers_clip_the_mean_on_request() -> None:
    build(clip="set")
    config = fluid.DistributeTranspilerConfig()
    config.clip_mean = True
    fluid.DistributeTranspiler(config).transpile(0, trainers=2)
    (start,) = [op for op in fluid.default_main_program().global_block().ops if op.type == "exchange_start"]
    assert all(name.endswith("@GRAD") for name in start.input_arg_names)


def test_large_gradients_travel_while_backward_goes_on() -> None:
    hidden = L.data("x", [600])
    for _ in range(4):
        hidden = L.fc(hidden, 600)
    fluid.optimizer.SGD(0.1).minimize(L.mean(hidden))
    transpile()
    found = types()
    starts = [i for i, kind in enumerate(found) if kind == "exchange_start"]
    assert len(starts) > 1 and "mul_grad" in found[starts[0] : starts[-1]]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["pserver", "nccl2"])
def test_a_program_that_is_minimised_twice_exchanges_each_gradient_between_its_last_op_and_its_use(
    mode: str, sparse: bool
) -> None:
    ids = L.data("ids", [1], dtype="int64")
    embedded = L.embedding(ids, [11, 4], is_sparse=sparse, param_attr="table")
    wide, deep = L.fc(embedded, 1, param_attr="wide"), L.fc(L.fc(embedded, 300, param_attr="one"), 1, param_attr="deep")
    loss = L.mean(L.square(wide + deep))
    fluid.optimizer.Ftrl(0.1).minimize(loss, parameter_list=["wide"])
    fluid.optimizer.Adam(0.1).minimize(loss, parameter_list=["one", "deep", "table"])
    block = fluid.default_main_program().global_block()
    wanted = set(gradients_of(block))
    assert len(wanted) == 4
    transpile(mode, 2 if mode == "pserver" else "127.0.0.1:6174,127.0.0.1:6175")
    place = {op: index for index, op in enumerate(block.ops)}
    exchanges = [op for op in block.ops if op.type in ("exchange_start", "exchange_rows", "exchange_wait")]
    assert [op.attrs.get("is_first") for op in exchanges if op.type != "exchange_wait"].count(True) == 1
    assert exchanges[0].attrs["is_first"]
    for name in wanted:
        begun = min(place[op] for op in exchanges if name in op.input_arg_names)
        arrived = max(place[op] for op in exchanges if name in op.output_arg_names)
        made = [i for op, i in place.items() if name in op.output_arg_names and op not in exchanges]
        used = [i for op, i in place.items() if name in op.input_arg_names and op not in exchanges]
        assert max(made) < begun <= arrived < min(used)


_CHANGES: dict[str, Callable[[Any], list[tuple[Any, Any]]]] = {
    "scaled": lambda pairs: [(p, L.scale(g, 0.5)) for p, g in pairs],
    "one scaled": lambda pairs: [(p, L.scale(g, 0.5) if p.name == "one" else g) for p, g in pairs],
    "of length 1": lambda pairs: [(p, L.elementwise_div(g, L.sqrt(L.reduce_sum(L.square(g))))) for p, g in pairs],
    "accumulated": lambda pairs: [
        (p, L.sums([g, sums], out=sums))
        for p, g in pairs
        for sums in [L.create_global_var(list(p.shape), 0.0, "float32", persistable=True)]
    ],
}


@pytest.mark.parametrize("change", _CHANGES)
@pytest.mark.parametrize("mode", ["pserver", "nccl2"])
def test_gradients_that_a_script_changes_are_exchanged(mode: str, change: str) -> None:
    """As in Fluid: servers get what each trainer makes of its own gradients; without them, trainers change the mean."""
    hidden = L.fc(L.data("x", [4]), 3, param_attr="one", bias_attr=False)
    optimizer = fluid.optimizer.Momentum(0.1, 0.9)
    computed = optimizer.backward(L.mean(L.fc(hidden, 2, param_attr="two", bias_attr=False)))
    used = _CHANGES[change](computed)
    optimizer.apply_gradients(used)
    transpile(mode, 2 if mode == "pserver" else "127.0.0.1:6174,127.0.0.1:6175")
    ops = fluid.default_main_program().global_block().ops
    exchanged = [name for op in ops if op.type == "exchange_wait" for name in op.output_arg_names]
    assert set(exchanged) == {g.name for _, g in (used if mode == "pserver" else computed)}
    kinds = [op.type for op in ops]
    place = kinds.index("exchange_wait")
    assert kinds.index("exchange_start") < place < kinds.index("momentum")
    changing = [i for i, op in enumerate(ops) if op.type in ("scale", "sum", "elementwise_div")]
    assert all((i < place) == (mode == "pserver") for i in changing)


def test_what_is_made_of_gradients_of_data_is_no_gradient_to_exchange() -> None:
    x = L.data("x", [4], stop_gradient=False)
    penalty = fluid.gradients(L.square(L.fc(x, 3, param_attr="one", bias_attr=False)), x)[0]
    fluid.optimizer.SGD(0.1).minimize(L.mean(L.square(penalty)))
    transpile("nccl2", "127.0.0.1:6174,127.0.0.1:6175")
    block = fluid.default_main_program().global_block()
    (update,) = [op for op in block.ops if op.type == "sgd"]
    waits = [op.output_arg_names for op in block.ops if op.type == "exchange_wait"]
    assert waits == [update.input("Grad")]


def test_the_startup_program_ends_with_the_parameters_of_the_first_trainer() -> None:
    build()
    transpile()
    last = fluid.default_startup_program().global_block().ops[-1]
    assert last.type == "exchange_first"
    parameters = {p.name for p in fluid.default_main_program().all_parameters()}
    assert parameters < set(last.input_arg_names)


def test_a_clone_for_test_exchanges_nothing() -> None:
    loss = build()
    transpile()
    test = fluid.default_main_program().clone(for_test=True)
    assert not [op.type for op in test.global_block().ops if op.type.startswith("exchange")]
    exe = fluid.Executor(fluid.CPUPlace())
    startup = fluid.default_startup_program()
    startup.global_block()._remove_op(len(startup.global_block().ops) - 1)
    exe.run(startup)
    assert exe.run(test, feed={"ids": np.zeros((2, 1), "int64")}, fetch_list=[loss])[0].shape == (1,)


@pytest.mark.parametrize("mode", ["nccl2", "collective"])
def test_trainers_without_servers_meet_at_the_first_of_them(mode: str) -> None:
    build()
    transpile(mode, "10.0.0.1:7000,10.0.0.2:7000", current_endpoint="10.0.0.1:7000")
    told = membership()
    assert told is not None and told.trainers == 2 and told.holds_the_meeting
    assert "exchange_start" in types()


def test_servers_hold_nothing_and_wait() -> None:
    build()
    t = transpile(pservers="127.0.0.1:6174,127.0.0.1:6175")
    program, startup = t.get_pserver_programs("127.0.0.1:6175")
    assert [op.type for op in program.global_block().ops] == ["listen_and_serv"]
    assert startup.global_block().ops == []
    with pytest.raises(fluid.core.EnforceNotMet, match="no parameter server has the endpoint"):
        fluid.Executor(fluid.CPUPlace()).run(t.get_pserver_program("127.0.0.1:9"))


def test_the_server_of_one_trainer_ends_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    build()
    t = transpile(trainers=1)
    fluid.Executor(fluid.CPUPlace()).run(t.get_pserver_program("127.0.0.1:6174"))
    assert "one trainer needs no parameter server" in capsys.readouterr().err


def test_asynchronous_mode_says_that_it_runs_in_sync() -> None:
    build()
    with pytest.warns(UserWarning, match="runs asynchronous mode as sync"):
        transpile(sync_mode=False)


def test_geo_mode_says_that_it_runs_in_sync() -> None:
    build()
    config = fluid.DistributeTranspilerConfig()
    config.geo_sgd_mode = True
    with pytest.warns(UserWarning, match="runs geo mode as sync"):
        fluid.DistributeTranspiler(config).transpile(0, trainers=2)


def test_trainers_that_are_switched_off_train_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDIO_DISTRIBUTED", "off")
    build()
    before = types()
    with pytest.warns(UserWarning, match="trains alone .* asks for 2 trainers"):
        transpile()
    assert types() == before


def test_a_mode_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="one of pserver, nccl2, collective"):
        transpile("ring")


def test_variables_are_divided_by_rows_as_in_fluid() -> None:
    block = fluid.Program().global_block()
    shapes = {"small": [3, 5], "long": [1024], "wide": [28, 784], "flat": [8, 1020], "high": [800, 10]}
    variables = [block.create_var(name=name, shape=shape, persistable=True) for name, shape in shapes.items()]
    parts = [part.split(":") for part in slice_variable(variables, 10, 1024)]
    assert [int(size) for name, _, size in parts if name == "wide"] == [2352] * 9 + [784]
    assert [int(size) for name, _, size in parts if name == "flat"] == [2040] * 4
    assert [int(size) for name, _, size in parts if name == "high"] == [1150] * 6 + [1100]
    assert parts[:2] == [["small", "0", "15"], ["long", "0", "1024"]]


def test_the_transpiler_of_geo_mode_runs_in_sync_and_names_the_parameters_of_each_server() -> None:
    loss = L.mean(L.fc(L.data("x", [5]), 1))
    fluid.optimizer.SGD(0.1).minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    transpiler = GeoSgdTranspiler(config)
    with pytest.warns(UserWarning, match="fluidio runs geo mode as sync"):
        transpiler.transpile(0, pservers="127.0.0.1:1,127.0.0.1:2", trainers=2)
    assert not config.geo_sgd_mode  # the script's own
    assert transpiler.vars_info == {
        "fc_0.b_0": {"var_names": ["fc_0.b_0"], "sections": ["1"], "epmap": ["127.0.0.1:1"], "is_sparse": ["False"]},
        "fc_0.w_0": {"var_names": ["fc_0.w_0"], "sections": ["5"], "epmap": ["127.0.0.1:2"], "is_sparse": ["False"]},
    }
    assert "exchange_start" in types()


def test_the_transpiler_chooses_how_parameters_are_placed() -> None:
    config = fluid.DistributeTranspilerConfig()
    assert config.split_method is None
    assert fluid.DistributeTranspiler(config).config.split_method is fluid.transpiler.RoundRobin
