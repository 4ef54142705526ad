"""Cloning for test and pruning, as each era does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.dtypes import VarType
from fluidio.executor.pruned import PrunedParts
from tests.io.networks import batch, classifier


def types(program: fluid.Program) -> list[str]:
    return [op.type for op in program.global_block().ops]


def test_a_clone_is_independent() -> None:
    classifier(train=False)
    main = fluid.default_main_program()
    twin = main.clone()
    assert types(twin) == types(main) and str(twin) == str(main)
    twin.global_block().var("x").persistable = True
    twin.global_block()._remove_op(0)
    assert len(types(main)) == len(types(twin)) + 1
    assert not main.global_block().var("x").persistable


def test_parameters_stay_parameters_in_a_clone() -> None:
    classifier()
    main = fluid.default_main_program()
    attr = main.global_block().var("fc_0.w_0")
    twin = main.clone().global_block().var("fc_0.w_0")
    assert isinstance(twin, fluid.Parameter)
    assert twin.optimize_attr == attr.optimize_attr and twin.trainable  # type: ignore[attr-defined]


def test_a_clone_for_test_sets_is_test_everywhere() -> None:
    x = fluid.layers.data("x", [4])
    out = fluid.layers.dropout(x, 0.5)
    test = fluid.default_main_program().clone(for_test=True)
    feed = {"x": np.ones((3, 4), "float32")}
    (got,) = fluid.Executor(fluid.CPUPlace()).run(test, feed=feed, fetch_list=[out.name])
    np.testing.assert_allclose(got, 0.5)
    assert fluid.default_main_program().global_block().ops[0].attr("is_test") is False


def test_in_1_8_a_clone_for_test_drops_training_after_minimize() -> None:
    classifier()
    with fluid.use_era("1.8"):
        test = fluid.default_main_program().clone(for_test=True)
    assert not {"adam", "mul_grad", "scale"} & set(types(test))
    assert types(test)[-1] == "mean"


def test_pruning_keeps_what_the_targets_need() -> None:
    prediction, loss = classifier()
    main = fluid.default_main_program()
    pruned = main._prune([prediction])
    assert types(pruned) == ["mul", "elementwise_add", "relu", "mul", "elementwise_add", "softmax"]
    assert "y" not in pruned.global_block().vars
    assert types(main._prune(loss))[-1] == "mean"
    with pytest.raises(ValueError, match="targets"):
        main._prune([3])


def test_pruning_stops_at_the_feeds() -> None:
    prediction, _ = classifier(train=False)
    hidden = fluid.default_main_program().global_block().ops[2].output_arg_names[0]
    pruned = fluid.default_main_program()._prune_with_input([hidden], [prediction])
    assert types(pruned) == ["mul", "elementwise_add", "softmax"]
    assert "fc_0.w_0" not in pruned.global_block().vars


def test_a_run_can_prune_what_is_not_fetched() -> None:
    prediction, _ = classifier(train=False)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    with pytest.raises(fluid.core.EnforceNotMet, match="has no value yet"):
        exe.run(feed={"x": batch()["x"]}, fetch_list=[prediction])  # the loss needs y
    (found,) = exe.run(feed={"x": batch()["x"]}, fetch_list=[prediction], use_prune=True)
    assert found.shape == (len(batch()["x"]), prediction.shape[1])


def _two_losses() -> list[Any]:
    """Return two losses with optimizers of their own, on parameters w and v that start at 1."""
    x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [1])
    one = fluid.initializer.Constant(1.0)
    first, second = (
        fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name=name, initializer=one), bias_attr=False) for name in "wv"
    )
    l1, l2 = fluid.layers.mean(fluid.layers.square_error_cost(first, y)), fluid.layers.mean(second)
    rate = fluid.layers.exponential_decay(0.1, 2, 0.5, staircase=True)
    return [l1, fluid.optimizer.SGD(0.1).minimize(l1), l2, fluid.optimizer.Adam(rate).minimize(l2)]


def test_a_pruned_run_trains_as_fluid_does() -> None:
    l1, r1, l2, r2 = _two_losses()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    x, y = np.ones((2, 2), "float32"), np.zeros((2, 1), "float32")
    main = fluid.default_main_program()
    one, two = (
        fluid.CompiledProgram(main).with_data_parallel(loss_name=l2.name, places=fluid.cpu_places(n)) for n in (1, 2)
    )
    # (program, feed, fetch_list, use_prune) and Fluid 1.8.5's fetched values, w and v
    steps: list[tuple[Any, Any, Any, bool, Any, Any]] = [
        (main, {"x": x, "y": y}, [l1, r1], False, [4.0], [0.6, 1.0]),
        (main, {"x": x}, [l2, r2], False, [2.0], [0.6, 0.9]),
        (main, {"x": x}, [r2], False, [], [0.6, 0.8]),
        (main, {"x": x, "y": y}, [l1, r1[0][0]], False, [1.44], [0.36, 0.8]),
        (main, {"x": x, "y": y}, [l1, r1, l2, r2], False, [0.5184, 1.6], [0.216, 0.75]),
        (main, {"x": x, "y": y}, None, True, [], [0.1296, 0.7]),
        (main, {"x": x, "y": y}, [l1], True, [0.06718], [0.07776, 0.675]),
        (one, {"x": x}, [l2, r2], False, [1.35], [0.07776, 0.65]),
        (two, {"x": x}, [l2, r2], False, [1.3, 1.3], [0.07776, 0.6375]),
        (two, {"x": x}, [l2, r2], False, [1.275, 1.275], [0.07776, 0.625]),
    ]
    for program, feed, fetch_list, use_prune, wanted, parameters in steps:
        found = exe.run(program, feed=feed, fetch_list=fetch_list, use_prune=use_prune)
        np.testing.assert_allclose(np.concatenate([np.empty(0), *found]), wanted, rtol=1e-4)
        np.testing.assert_allclose([fluid.fetch_var(name).ravel()[0] for name in "wv"], parameters, rtol=1e-4)


def test_a_pruned_run_needs_what_the_updates_need() -> None:
    _, _, l2, _ = _two_losses()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    with pytest.raises(fluid.core.EnforceNotMet, match="has no value yet"):
        exe.run(feed={"x": np.ones((2, 2), "float32")}, fetch_list=[l2], use_prune=True)
    with pytest.raises(TypeError, match="op increment: put its output"):
        exe.run(fetch_list=[l2, fluid.default_main_program().global_block().ops[0]])


def test_the_pruned_program_is_made_once() -> None:
    l1, r1, _, _ = _two_losses()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((2, 2), "float32"), "y": np.zeros((2, 1), "float32")}
    parts: list[Any] = []
    for _ in range(2):
        exe.run(feed=feed, fetch_list=[l1, r1])
        parts.append(*fluid.default_main_program().attached.get(PrunedParts).parts.values())
    assert parts[0][1] is parts[1][1]
    fluid.layers.relu(l1)  # the program has changed
    exe.run(feed=feed, fetch_list=[l1, r1])
    (part,) = fluid.default_main_program().attached.get(PrunedParts).parts.values()
    assert part[1] is not parts[0][1]


def test_inference_optimize_drops_readers() -> None:
    reader = fluid.layers.py_reader(capacity=2, shapes=[[-1, 4]], dtypes=["float32"])
    x = fluid.layers.read_file(reader)
    fluid.layers.dropout(x, 0.5)
    pruned = fluid.default_main_program()._inference_optimize(prune_read_op=True)
    assert types(pruned) == ["dropout"]
    assert pruned.global_block().ops[0].attr("is_test") is True
    assert not [v for v in pruned.list_vars() if v.type is VarType.READER]
    kept = fluid.default_main_program()._inference_optimize(prune_read_op=False)
    assert "read" in types(kept)


def test_a_program_with_a_loop_is_pruned_with_what_the_loop_reads() -> None:
    limit = fluid.layers.fill_constant([1], "int64", 3)
    i = fluid.layers.fill_constant([1], "int64", 0)
    factor = fluid.layers.fill_constant([1], "float32", 2.0)
    total = fluid.layers.fill_constant([1], "float32", 1.0)
    condition = fluid.layers.less_than(i, limit)
    loop = fluid.layers.While(cond=condition)
    with loop.block():
        fluid.layers.assign(total * factor, total)
        fluid.layers.increment(i, 1, in_place=True)
        fluid.layers.less_than(i, limit, cond=condition)
    fluid.layers.fill_constant([1], "float32", 9.0)
    pruned = fluid.default_main_program()._prune([total])
    assert types(pruned).count("fill_constant") == 4
    (got,) = fluid.Executor(fluid.CPUPlace()).run(pruned, fetch_list=[total.name])
    assert float(got) == 8.0
    again = fluid.Program.parse_from_string(pruned.desc.serialize_to_string())
    (got,) = fluid.Executor(fluid.CPUPlace()).run(again, fetch_list=[total.name])
    assert float(got) == 8.0
