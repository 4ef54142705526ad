"""Names that legacy programs use and no other test runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import paddle
from fluidio.clip import GradientClipByValue, append_gradient_clip_ops, error_clip_callback


def run(*outs: Any, **feed: Any) -> list[Any]:
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=list(outs))


def test_comparisons_and_logic() -> None:
    x, y = fluid.layers.data("x", [3]), fluid.layers.data("y", [3])
    L = fluid.layers
    outs = run(
        L.greater_than(x, y),
        L.greater_equal(x, y),
        L.less_equal(x, y),
        L.not_equal(x, y),
        L.logical_or(L.equal(x, y), L.less_than(x, y)),
        L.logical_and(L.equal(x, y), L.less_than(x, y)),
        x=np.array([[1, 2, 3]], "float32"),
        y=np.array([[2, 2, 2]], "float32"),
    )
    wanted = [[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 0]]
    assert [out.astype(int)[0].tolist() for out in outs] == wanted


def test_beams_are_tiled_into_the_batch() -> None:
    x = fluid.layers.data("x", [2])
    tiled = fluid.layers.BeamSearchDecoder.tile_beam_merge_with_batch(x, 2)
    (got,) = run(tiled, x=np.array([[1, 2], [3, 4]], "float32"))
    assert got.tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]


def test_a_cell_of_ones_own_runs_in_rnn() -> None:
    class Sum(fluid.layers.RNNCell):
        hidden_size = 3

        def call(self, inputs: Any, states: Any, **_: Any) -> Any:
            total = inputs + states
            return total, total

        @property
        def state_shape(self) -> list[int]:
            return [3]

    x = fluid.layers.data("x", [4, 3])
    out, last = fluid.layers.rnn(Sum(), x)
    value = np.arange(12, dtype="float32").reshape(1, 4, 3)
    sums, final = run(out, last, x=value)
    np.testing.assert_allclose(sums, np.cumsum(value, axis=1))
    np.testing.assert_allclose(final, value.sum(1))


def test_structures_are_mapped_leaf_by_leaf() -> None:
    assert fluid.layers.map_structure(lambda a, b: a + b, [1, (2, 3)], [10, (20, 30)]) == [11, (22, 33)]


def test_print_shows_a_variable(capfd: pytest.CaptureFixture[str]) -> None:
    x = fluid.layers.data("x", [2])
    run(fluid.layers.Print(x, message="look here", summarize=2), x=np.array([[7.0, 8.0]], "float32"))
    captured = capfd.readouterr()
    assert "look here" in captured.out + captured.err


def test_boxes_are_cut_to_their_image() -> None:
    boxes = fluid.layers.data("boxes", [4], lod_level=1)
    info = fluid.layers.data("info", [3])
    out = fluid.layers.box_clip(boxes, info)
    tensor = fluid.create_lod_tensor(np.array([[-5, 2, 50, 8]], "float32"), [[1]], fluid.CPUPlace())
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"boxes": tensor, "info": np.array([[10, 20, 1.0]], "float32")}
    (got,) = exe.run(feed=feed, fetch_list=[out], return_numpy=False)
    assert np.array(got).tolist() == [[0, 2, 19, 8]]


def test_a_tensor_provider_of_2018_feeds_a_py_reader() -> None:
    reader: Any = fluid.layers.py_reader(capacity=2, shapes=[[-1, 2]], dtypes=["float32"])
    total = fluid.layers.reduce_sum(fluid.layers.read_file(reader))

    def provider() -> Any:
        yield [np.ones((3, 2), "float32")]

    reader.decorate_tensor_provider(provider)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    reader.start()
    assert float(exe.run(fetch_list=[total])[0]) == 6.0
    with pytest.raises(fluid.core.EOFException):
        exe.run(fetch_list=[total])
    reader.reset()


def test_blocks_and_variables_tell_what_they_are() -> None:
    fluid.layers.fc(fluid.layers.data("x", [2]), 1)
    main = fluid.default_main_program()
    assert main.current_block() is main.global_block()
    assert fluid.io.is_parameter(main.global_block().var("fc_0.w_0"))
    assert not fluid.io.is_parameter(main.global_block().var("x"))
    strategy = fluid.ExecutionStrategy()
    strategy.num_threads = 4
    assert strategy.num_threads == 4


def test_static_mode_can_be_asked_for() -> None:
    paddle.enable_static()
    assert not paddle.in_dynamic_mode()


def test_text_and_messages_of_python_2_and_3() -> None:
    assert paddle.compat.to_text(b"text") == "text"
    assert paddle.compat.get_exception_message(ValueError("why")) == "why"


def test_clip_functions_called_by_hand() -> None:
    loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [2]), 1, bias_attr=False))
    ((param, grad),) = fluid.backward.append_backward(loss)
    assert append_gradient_clip_ops([(param, grad)]) == [(param, grad)]
    param.gradient_clip_attr = GradientClipByValue(0.1)
    ((_, clipped),) = append_gradient_clip_ops([(param, grad)])
    assert clipped is not None and clipped.name == "clip_0.tmp_0"
    param.error_clip = fluid.clip.ErrorClipByValue(0.5)
    block = fluid.default_main_program().global_block()
    block.append_op(type="scale", inputs={"X": [grad]}, outputs={"Out": [grad]}, attrs={"scale": 2.0})
    error_clip_callback(block, None)
    assert block.ops[-1].type == "clip" and block.ops[-1].output_arg_names == [grad.name]


def test_curves_are_kept_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_PLOT", "True")
    from fluidio.paddle.v2.plot import Ploter

    plot = Ploter("train", "test")
    plot.append("train", 0, 1.5)
    plot.append("train", 1, 1.0)
    plot.plot()
    assert plot.__plot_data__["train"].value == [1.5, 1.0]
    plot.reset()
    assert plot.__plot_data__["train"].value == []


def test_numbers_of_types() -> None:
    from fluidio.proto import framework_pb2

    kinds: Any = framework_pb2.VarType
    assert (kinds.INT8, kinds.INT64, kinds.INT32, kinds.FP32) == (21, 3, 2, 5)
    precision = fluid.core.AnalysisConfig.Precision
    assert (int(precision.Float32), int(precision.Int8), int(precision.Half)) == (0, 1, 2)
