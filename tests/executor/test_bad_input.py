"""Bad input to `exe.run` is an error that names variable, op and the user's line; nothing is half-applied."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import EnforceNotMet, OpError

HERE = __file__.rpartition("/")[2]


def _line() -> int:
    """Return the number of the caller's next line."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno + 1


def _regression() -> tuple[Any, Any]:
    """Build y = fc(x) with a loss; return the loss and the parameter."""
    x = fluid.layers.data("x", shape=[3])
    label = fluid.layers.data("label", shape=[1])
    y = fluid.layers.fc(x, size=1)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(y, label))
    fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
    return loss, fluid.default_main_program().global_block().var("fc_0.w_0")


def _feed(rows: int = 2) -> dict[str, Any]:
    return {"x": np.ones((rows, 3), np.float32), "label": np.ones((rows, 1), np.float32)}


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


@pytest.mark.parametrize("fetch", ["nowhere", ["nowhere"]])
def test_an_unknown_fetch_is_named(exe: fluid.Executor, fetch: Any) -> None:
    _regression()
    exe.run(fluid.default_startup_program())
    before = np.array(fluid.global_scope().var("fc_0.w_0").get_tensor())
    with pytest.raises((ValueError, EnforceNotMet, KeyError), match="nowhere"):
        exe.run(feed=_feed(), fetch_list=fetch)
    np.testing.assert_array_equal(np.array(fluid.global_scope().var("fc_0.w_0").get_tensor()), before)


def test_fed_shapes_that_do_not_fit_name_op_inputs_and_line(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[3])
    line = _line()
    y = fluid.layers.fc(x, size=2)
    exe.run(fluid.default_startup_program())
    with pytest.raises(OpError) as caught:
        exe.run(feed={"x": np.ones((2, 4), np.float32)}, fetch_list=[y])
    text = str(caught.value)
    assert re.search(r"op mul failed", text)
    assert "x [2, 4] float32" in text and "fc_0.w_0 [3, 2] float32" in text
    assert f"{HERE}:{line}" in text
    assert caught.value.op_type == "mul"
    assert caught.value.__cause__ is not None


def test_mismatched_shapes_are_found_when_the_op_is_built() -> None:
    a = fluid.layers.data("a", shape=[2, 3], append_batch_size=False)
    b = fluid.layers.data("b", shape=[2, 4], append_batch_size=False)
    before = len(fluid.default_main_program().global_block().ops)
    with pytest.raises((ValueError, EnforceNotMet), match=r"elementwise_add") as caught:
        fluid.layers.elementwise_add(a, b)
    text = str(caught.value)
    assert "3" in text and "4" in text
    assert len(fluid.default_main_program().global_block().ops) == before


BAD_FEEDS: list[tuple[Any, type[Exception], str]] = [
    ({"x": [[1.0, 2.0, 3.0]]}, RuntimeError, "'x'"),
    ({"x": "abc"}, TypeError, "'x' got a value of type str"),
    ({"x": None}, TypeError, "'x'"),
    ({"x": fluid.LoDTensor()}, ValueError, "the LoDTensor for 'x' is empty"),
    ({3: np.ones(3)}, TypeError, "names must be str, got int 3"),
    ([{}, {}], AssertionError, "with_data_parallel"),
    (np.ones(3), TypeError, "feed must be a dict"),
    ("x", TypeError, "feed must be a dict"),
]


@pytest.mark.parametrize(("feed", "kind", "text"), BAD_FEEDS, ids=[text for _, _, text in BAD_FEEDS])
def test_what_cannot_be_fed_is_refused(exe: fluid.Executor, feed: Any, kind: type[Exception], text: str) -> None:
    y = fluid.layers.abs(fluid.layers.data("x", shape=[3]))
    with pytest.raises(kind, match=re.escape(text)):
        exe.run(feed=feed, fetch_list=[y])


@pytest.mark.parametrize("fetch", [3, [3], [None], {"a": 1}])
def test_what_is_no_fetch_is_a_type_error(exe: fluid.Executor, fetch: Any) -> None:
    with pytest.raises((TypeError, AssertionError), match=r"[Ff]etch"):
        exe.run(fetch_list=fetch)


def test_what_is_no_place_is_a_type_error() -> None:
    bad: Any = "nowhere"
    with pytest.raises(TypeError, match="expected a place"):
        fluid.Executor(bad)


def test_a_failed_run_leaves_the_executor_and_the_parameters_usable(exe: fluid.Executor) -> None:
    loss, weight = _regression()
    exe.run(fluid.default_startup_program())
    before = np.array(fluid.global_scope().var(weight.name).get_tensor())
    with pytest.raises(OpError):
        exe.run(feed={**_feed(), "x": np.ones((2, 5), np.float32)}, fetch_list=[loss])
    np.testing.assert_array_equal(np.array(fluid.global_scope().var(weight.name).get_tensor()), before)
    losses = [float(exe.run(feed=_feed(), fetch_list=[loss])[0]) for _ in range(20)]
    assert losses[-1] < losses[0]


BAD_OPS: list[tuple[Callable[[Any], object], str]] = [
    (lambda block: block.append_op(type="no_such_op"), 'Operator "no_such_op" has not been registered'),
    (lambda block: block.append_op(type=None), "can not be None"),
    (lambda block: block.append_op(type="mean", inputs={}, outputs={}), "X"),
    (lambda block: block.var("nothing"), "no variable 'nothing'"),
    (lambda block: block.create_parameter(name="p", shape=[-1, 2], dtype="float32"), "fixed shape"),
]


@pytest.mark.parametrize(("build", "text"), BAD_OPS, ids=[text for _, text in BAD_OPS])
def test_a_wrong_op_leaves_the_block_as_it_was(build: Callable[[Any], object], text: str) -> None:
    block = fluid.default_main_program().global_block()
    with pytest.raises((ValueError, AssertionError), match=re.escape(text)):
        build(block)
    assert (block.ops, dict(block.vars)) == ([], {})


def test_a_feed_of_another_shape_or_dtype_is_refused_in_fluids_words() -> None:
    x = fluid.data("x", [None, 3])
    y = fluid.layers.scale(x, 2.0)
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(ValueError, match=r"shape \(-1, 3\), .* has shape \(2, 4\)"):
        exe.run(feed={"x": np.ones((2, 4), "float32")}, fetch_list=[y])
    with pytest.raises(ValueError, match="declared as float32, but the array is float64"):
        exe.run(feed={"x": np.ones((2, 3))}, fetch_list=[y])


def test_sequences_are_not_held_to_a_declared_number_of_rows() -> None:
    x = fluid.data("x", [2, 3], lod_level=1)
    y = fluid.layers.scale(x, 2.0)
    words = fluid.create_lod_tensor(np.ones((5, 3), "float32"), [[2, 3]], fluid.CPUPlace())
    (out,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": words}, fetch_list=[y], return_numpy=False)
    assert out.shape() == [5, 3]


WRONG_LAYERS: list[tuple[Callable[[Any, Any], object], str]] = [
    (lambda x, y: x + y, "op elementwise_add"),
    (lambda x, y: fluid.layers.elementwise_mul(x, y), "op elementwise_mul"),
    (lambda x, y: fluid.layers.cross_entropy(x, y), "op cross_entropy2"),
    (lambda x, y: fluid.layers.concat([x, y], axis=0), "op concat"),
    (lambda x, y: fluid.layers.embedding(x, [10, 3]), "op lookup_table"),
]


@pytest.mark.parametrize(("build", "text"), WRONG_LAYERS, ids=[text for _, text in WRONG_LAYERS])
def test_a_layer_that_cannot_be_built_leaves_both_programs_as_they_were(
    build: Callable[[Any, Any], object], text: str
) -> None:
    x, y = fluid.layers.data("x", shape=[3]), fluid.layers.data("y", shape=[4])
    fluid.layers.fc(x, size=2)
    before = str(fluid.default_main_program()), str(fluid.default_startup_program())
    with pytest.raises(EnforceNotMet, match=text) as caught:
        build(x, y)
    assert HERE in str(caught.value)
    assert (str(fluid.default_main_program()), str(fluid.default_startup_program())) == before


def test_what_was_whole_before_the_failing_op_of_a_layer_stays(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[3])
    with pytest.raises(ValueError, match='"no_such_activation" has not been registered'):
        fluid.layers.fc(x, size=2, act="no_such_activation")
    block = fluid.default_main_program().global_block()
    assert [op.type for op in block.ops] == ["mul", "elementwise_add"]
    assert sorted(block.vars) == ["fc_0.b_0", "fc_0.tmp_0", "fc_0.tmp_1", "fc_0.w_0", "x"]
    exe.run(fluid.default_startup_program())
    (out,) = exe.run(feed={"x": np.zeros((2, 3), np.float32)}, fetch_list=["fc_0.tmp_1"])
    assert out.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("attrs", "text"),
    [
        ({"axes": 1}, None),  # an attribute of slice
        ({"axsi": 1}, r"op softmax has no attribute 'axsi': it is ignored; did you mean axis\?"),
        ({"flavour": 1}, r"op softmax has no attribute 'flavour': it is ignored; it has axis, "),
    ],
)
def test_an_attribute_that_the_op_does_not_have_is_dropped(attrs: dict[str, Any], text: str | None) -> None:
    x = fluid.layers.data("x", [4])
    block = fluid.default_main_program().global_block()
    out = block.create_var(name="out", dtype="float32")
    with pytest.warns(UserWarning, match=text) if text else contextlib.nullcontext():
        op = block.append_op(type="softmax", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={**attrs, "axis": 1})
    assert op.attr("axis") == 1
    assert not op.has_attr(next(iter(attrs))) and not set(attrs) & set(op.attr_names)


def test_text_for_a_number_is_told_with_op_variable_and_line() -> None:
    x = fluid.layers.data("x", [4])
    block = fluid.default_main_program().global_block()
    out = block.create_var(name="out", dtype="float32")
    text = r"op softmax: attribute axis must be a number, got 'two'"
    with pytest.raises(fluid.core.EnforceNotMet, match=text) as caught:
        block.append_op(type="softmax", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"axis": "two"})
    assert "X=x [-1, 4] FP32" in str(caught.value) and "test_bad_input.py" in str(caught.value)
    assert block.ops == []


def test_what_is_no_scope_is_refused(exe: fluid.Executor) -> None:
    with pytest.raises(TypeError, match=r"scope must be a fluid.Scope\(\) or None, got str 'a'"):
        exe.run(fluid.default_startup_program(), scope="a")  # type: ignore[arg-type]


def test_fewer_dims_than_declared_are_taken_as_they_are() -> None:
    label = fluid.data("label", [None, 1], "int64")
    ones = fluid.one_hot(label, 3)
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.warns(UserWarning, match=r"declared with shape \(-1, 1\), but the array has shape \[2\]"):
        (value,) = exe.run(feed={"label": np.array([2, 0])}, fetch_list=[ones])
    assert value.tolist() == [[0, 0, 1], [1, 0, 0]]  # the value of 1.8.5


@pytest.mark.parametrize("shape", [(5,), (4, 1, 1), (1, 4), ()])
def test_other_dims_than_declared_are_refused(shape: tuple[int, ...]) -> None:
    x = fluid.data("x", [4, 1])
    with pytest.raises(ValueError, match=r"declared with shape \(4, 1\)"):
        fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones(shape, "float32")}, fetch_list=[x * 2])
