"""`basic_lstm` and `basic_gru` drop their outputs as 1.8.5 does, each in its own way."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.layers import basic_gru, basic_lstm


@pytest.mark.parametrize(("kind", "expected", "output"), [("lstm", 2.244864, 11.613478), ("gru", 8.660769, None)])
def test_the_loss_is_that_of_the_original(kind: str, expected: float, output: float | None) -> None:
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup):
        x = fluid.layers.data("x", [4, 5, 6], append_batch_size=False)
        h = fluid.layers.data("h", [2, 4, 6], append_batch_size=False)
        c = fluid.layers.data("c", [2, 4, 6], append_batch_size=False)
        if kind == "lstm":
            weights = fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.5, 0.5))
            bias = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.0))
            out = basic_lstm(
                x, h, c, 6, num_layers=2, dropout_prob=0.2, param_attr=weights, bias_attr=bias, forget_bias=0.0
            )[0]
        else:
            out = basic_gru(x, h, 6, num_layers=2, dropout_prob=0.2)[0]
        loss = fluid.layers.reduce_sum(out * out)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    rng = np.random.RandomState(0)
    feed = {"x": rng.rand(4, 5, 6), "h": rng.rand(2, 4, 6), "c": rng.rand(2, 4, 6)}
    found, values = exe.run(main, feed={k: v.astype("float32") for k, v in feed.items()}, fetch_list=[loss, out])
    assert float(found[0]) == pytest.approx(expected, rel=1e-5)
    if output is not None:
        assert float(np.abs(values).sum()) == pytest.approx(output, rel=1e-5)


def test_the_cells_of_an_lstm_come_first_and_are_named_as_in_the_original() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        x = fluid.layers.data("x", [4, 5, 6], append_batch_size=False)
        h = fluid.layers.data("h", [2, 4, 6], append_batch_size=False)
        _, last, _ = basic_lstm(x, h, h, 6, num_layers=2)
        block = fluid.default_main_program().global_block()
    assert [op.type for op in block.ops] == (
        ["fill_constant"] * 2
        + ["transpose2"]
        + ["reshape2"] * 2
        + ["slice"] * 4
        + ["recurrent"]
        + ["slice"] * 4
        + ["concat", "reshape2"] * 2
        + ["transpose2"]
    )
    assert last.name == "reshape2_2.tmp_0"


def test_a_batch_may_be_padded_beyond_its_longest_sequence() -> None:
    fluid.default_startup_program().random_seed = 1
    x = fluid.data("x", [None, None, 4])
    lengths = fluid.data("lengths", [None], dtype="int32")
    out, last, _ = basic_lstm(x, None, None, 3, num_layers=2, bidirectional=True, sequence_length=lengths)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((2, 5, 4), "float32"), "lengths": np.array([2, 3], "int32")}
    found, final = exe.run(feed=feed, fetch_list=[out, last])
    assert found.shape == (2, 5, 6)
    np.testing.assert_allclose(found[0, 2], [0.02054, 0.07717, 0.03733, 0, 0, 0], atol=1e-5)
    np.testing.assert_allclose(final[1, 1], [0.24993, 0.33487, -0.09099], atol=1e-5)


@pytest.mark.parametrize(
    ("weights", "bias", "expected"),
    [(2.0, None, 2.0), (None, 7.0, 0.0), (2.0, 7.0, 2.0)],
    ids=["weights", "bias", "both"],
)
@pytest.mark.filterwarnings("ignore:basic_lstm")
def test_a_backward_bias_without_a_name_takes_param_attr(
    weights: float | None, bias: float | None, expected: float
) -> None:
    def attr(value: float | None) -> fluid.ParamAttr | None:
        return None if value is None else fluid.ParamAttr(initializer=fluid.initializer.Constant(value))

    x = fluid.data("x", [None, None, 4])
    basic_lstm(x, None, None, 3, bidirectional=True, param_attr=attr(weights), bias_attr=attr(bias))
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    scope = fluid.global_scope()
    found = [
        float(np.array(scope.var(f"basic_lstm{way}_layers_0/BasicLSTMUnit_0.b_0").get_tensor()).mean())
        for way in ("", "_reverse")
    ]
    assert found == [bias or 0.0, expected]


def test_a_backward_bias_with_a_name_keeps_it() -> None:
    x = fluid.data("x", [None, None, 4])
    bias = fluid.ParamAttr(name="b", initializer=fluid.initializer.Constant(7.0))
    basic_lstm(x, None, None, 3, bidirectional=True, bias_attr=bias)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names[1::2] == ["b_fw_b_0", "b_bw_b_0"]
