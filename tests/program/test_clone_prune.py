"""Cloning for test and pruning, as each era does it."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio.dtypes import VarType
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
    prediction, _ = classifier()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    before = fluid.fetch_var("fc_0.w_0")
    exe.run(feed={"x": batch()["x"]}, fetch_list=[prediction], use_prune=True)
    np.testing.assert_array_equal(fluid.fetch_var("fc_0.w_0"), before)


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
