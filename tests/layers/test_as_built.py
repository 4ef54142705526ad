"""What 1.8.5 builds and refuses, down to names, shapes and exception classes; all observed on the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.contrib import layers as contrib_layers
from fluidio.era import use_era
from fluidio.layers import arguments


@pytest.fixture(autouse=True)
def _fresh_program() -> Iterator[None]:
    with use_era("1.8"), fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield


_ARRAYS: Any = [np.ones((2, 2), "float32")]


def _x(name: str = "x", shape: Any = (4, 6), dtype: str = "float32") -> Any:
    return fluid.data(name, list(shape), dtype)


def _op_types(block: int = 0) -> list[str]:
    return [op.type for op in fluid.default_main_program().block(block).ops]


def test_print_names_its_output_after_the_input() -> None:
    assert layers.Print(_x()).name == "print_x_0.tmp_0"


def _memory_without_update() -> None:
    rnn = layers.StaticRNN()
    with rnn.step():
        rnn.step_output(rnn.memory(init=rnn.step_input(_x(shape=(3, 4, 6)))))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: layers.tensor_array_to_tensor(_ARRAYS), TypeError),
        (lambda: layers.lstm_unit(_x("a", (3, 6)), _x("b"), _x("c")), ValueError),
        (_memory_without_update, AssertionError),
        (lambda: contrib_layers.partial_sum(_ARRAYS), TypeError),
        (lambda: contrib_layers.partial_concat([_x(dtype="int8")]), TypeError),
    ],
)
def test_wrong_arguments_are_refused_as_by_the_original(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_a_static_rnn_without_outputs_builds_and_runs() -> None:
    x = layers.data("steps", [3, 2, 2], append_batch_size=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        step = rnn.step_input(x)
        before = rnn.memory(shape=[-1, 2], batch_ref=step)
        rnn.update_memory(before, layers.elementwise_add(step, before))
    with pytest.raises(ValueError, match="no results"):
        rnn()
    total = layers.reduce_sum(x)
    ran = fluid.Executor().run(feed={"steps": np.ones((3, 2, 2), "float32")}, fetch_list=[total])
    assert float(ran[0]) == 12


def test_first_states_take_no_gradient_until_rnn_takes_them() -> None:
    cell = layers.GRUCell(4)
    states = cell.get_initial_states(_x())
    assert states.stop_gradient
    layers.rnn(cell, _x("steps", (4, 3, 6)), initial_states=states)
    assert not states.stop_gradient


def test_a_training_helper_cuts_the_next_step_out() -> None:
    helper = layers.TrainingHelper(_x("t", (2, 5, 6)), _x("l", (2,), "int64"))
    decoder = layers.BasicDecoder(layers.GRUCell(4), helper)
    layers.dynamic_decode(decoder, inits=_x("h", (2, 4)), max_step_num=3)
    assert "slice" in _op_types(1)
    assert "gather" not in _op_types(1)
    assert [name for name in fluid.default_main_program().global_block().vars if name.startswith("transpose")] == [
        "transpose_0.tmp_0",
        "transpose_0.tmp_1",
        "transpose_1.tmp_0",
        "transpose_1.tmp_1",
    ]


def test_basic_gru_takes_the_last_step_without_its_dim() -> None:
    contrib_layers.basic_gru(_x(shape=(2, 4, 3)), None, 5, num_layers=2)
    block = fluid.default_main_program().global_block()
    assert block.var("static_rnn_0.tmp_0_slice_0").shape == (2, 5)
    assert block.var("concat_4.tmp_0").shape == (4, 5)


def test_ctr_metrics_start_their_sums_and_those_of_the_batch() -> None:
    contrib_layers.ctr_metric_bundle(_x(shape=(4, 1)), _x("y", (4, 1)))
    ops = fluid.default_startup_program().global_block().ops
    assert len(ops) == 12
    assert all(op.attr("force_cpu") for op in ops)


def test_states_of_split_and_merged_rows_have_no_lod_when_built() -> None:
    x, mask = fluid.data("x", [None, 2], "float32", lod_level=1), fluid.data("m", [None, 1], "bool")
    parts = layers.control_flow.split_lod_tensor(input=x, mask=mask)
    merged = layers.control_flow.merge_lod_tensor(in_true=parts[0], in_false=parts[1], x=x, mask=mask)
    assert [v.lod_level for v in (*parts, merged)] == [0, 0, 0]


def test_an_update_op_describes_accumulators_of_longer_names() -> None:
    block = fluid.default_main_program().global_block()
    names = ("Param", "SquaredAccumulator", "LinearAccumulator", "Grad")
    inputs = {name: [_x(name, (3, 2))] for name in names} | {"LearningRate": [_x("rate", (1,))]}
    outs = ("ParamOut", "SquaredAccumOut", "LinearAccumOut")
    block.append_op(
        type="ftrl", inputs=inputs, outputs={out: [block.create_var(name=out, dtype="float32")] for out in outs}
    )
    assert [block.var(out).shape for out in outs] == [(3, 2)] * 3


def test_fetching_what_an_op_leaves_out_gives_none() -> None:
    block = fluid.default_main_program().global_block()
    x = fluid.data("x", [None, 2], "float32", lod_level=1)
    outs = {slot: [block.create_var(name=slot, dtype="float32")] for slot in ("Out", "MaxIndex")}
    block.append_op(type="sequence_pool", inputs={"X": [x]}, outputs=outs, attrs={"pooltype": "SUM"})
    feed = {"x": fluid.create_lod_tensor(np.ones((3, 2), "float32"), [[1, 2]], fluid.CPUPlace())}
    out, index = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=["Out", "MaxIndex"])
    assert out.tolist() == [[1, 1], [2, 2]]
    assert index is None


def test_auc_has_one_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "_WARNED", set())
    with pytest.warns(UserWarning, match="ROC, although PR"):
        metric = fluid.metrics.Auc("auc", curve="PR", num_thresholds=10)
    metric.update(np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0], [1]]))
    assert metric.eval() == 1.0


def test_states_of_evaluators_are_ordinary_variables() -> None:
    ids = [fluid.data(name, [None, 1], "int64", lod_level=1) for name in "ab"]
    assert [state.stop_gradient for state in fluid.evaluator.EditDistance(*ids).states] == [False] * 3


def test_pyramid_hash_has_its_lists_of_words() -> None:
    words = fluid.data("x", [None, 1], "int32", lod_level=1)
    attrs: dict[str, Any] = {
        f"param_attr{end}": fluid.ParamAttr(name=name) for end, name in (("", "W"), ("_wl", "white"), ("_bl", "b"))
    }
    out = contrib_layers.search_pyramid_hash(words, 16, 100, 3, 8, 0.0, True, True, 50, 0, 3, 0.002, **attrs)
    block = fluid.default_main_program().global_block()
    assert [block.var(name).shape for name in ("W", "white", "b")] == [(108, 1), (50, 1), (0, 1)]
    assert (out.name, out.shape) == ("search_pyramid_hash_0.tmp_0", (-1, 16))
    with pytest.raises(ValueError, match="names 'other'"):
        contrib_layers.search_pyramid_hash(
            words, 16, 100, 3, 8, 0.0, True, True, 50, 0, 3, 0.002, distribute_update_vars=["other"], **attrs
        )


def test_ssd_loss_flattens_what_was_predicted_before_its_targets() -> None:
    boxes = _x("boxes", (-1, 3, 4)), _x("scores", (-1, 3, 2))
    truth = fluid.data("truth", [-1, 4], lod_level=1), fluid.data("classes", [-1, 1], "int32", lod_level=1)
    layers.ssd_loss(*boxes, *truth, _x("priors", (3, 4)), _x("spread", (3, 4)))
    (smooth,) = (op for op in fluid.default_main_program().global_block().ops if op.type == "smooth_l1_loss")
    assert (smooth.input("X"), smooth.input("Y")) == (["flatten_4.tmp_0"], ["flatten_5.tmp_0"])


def test_the_gradient_of_a_reshape_in_place_has_the_shape_from_before() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.data("x", [None, None, 16])
        hidden = fluid.layers.fc(x, 16, num_flatten_dims=2)
        heads = fluid.layers.reshape(hidden, [0, 0, 2, 8], inplace=True)
        fluid.backward.append_backward(fluid.layers.mean(fluid.layers.transpose(heads, [0, 2, 1, 3])))
        assert heads.shape == (-1, -1, 2, 8)
        assert x.block.var(hidden.name + "@GRAD").shape == (-1, -1, 16)


@pytest.mark.parametrize("shape", [(3,), (-1,), (-1, 4), (-1, -1)])
def test_probabilities_at_the_labels_have_a_last_dim_whether_labels_have_one_or_not(shape: tuple[int, ...]) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x, label = fluid.data("x", [*shape, 5]), fluid.data("label", shape, "int64")
        loss = layers.cross_entropy(x, label)
        op = x.block.ops[-1]
        assert (op.type, loss.shape) == ("cross_entropy2", shape)
        assert x.block.var(op.output("MatchX")[0]).shape == (*shape, 1)
