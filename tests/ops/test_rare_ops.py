"""Ops that no layer of Fluid 1.8 appends, but saved programs may hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from tests.ops.gradcheck import check_gradient, run_op

_RANDOM = np.random.RandomState(3)


def _run(op_type: str, inputs: Mapping[str, Any], outputs: Sequence[str], attrs: Any = None) -> dict[str, Any]:
    return {name: np.array(value) for name, value in zip(outputs, run_op(op_type, inputs, outputs, attrs))}


def test_squared_l2_norm() -> None:
    x = _RANDOM.rand(3, 4)
    assert _run("squared_l2_norm", {"X": x}, ["Out"])["Out"] == pytest.approx((x * x).sum())
    check_gradient("squared_l2_norm", {"X": x}, ["Out"], wrt=["X"])


@pytest.mark.parametrize(("far", "close"), [(1e-7, True), (1e-3, False)])
def test_allclose(far: float, close: bool) -> None:
    x = np.ones((2, 3), "float32")
    found = _run("allclose", {"Input": x, "Other": x + np.float32(far)}, ["Out"])["Out"]
    assert found.tolist() == [close]


def test_multiclass_nms2_also_tells_the_number_of_each_box() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [3, 3, 4, 4]]], "float32")
    scores = np.array([[[0.1, 0.2, 0.1], [0.6, 0.9, 0.7]]], "float32")
    attrs = {"background_label": 0, "score_threshold": 0.3, "nms_top_k": 3, "nms_threshold": 0.5, "keep_top_k": 3}
    inputs = {"BBoxes": boxes, "Scores": scores}
    both = _run("multiclass_nms2", inputs, ["Out", "Index"], attrs)
    np.testing.assert_array_equal(both["Out"], _run("multiclass_nms", inputs, ["Out"], attrs)["Out"])
    np.testing.assert_allclose(both["Out"][:, 1], [0.9, 0.7])
    assert both["Index"].ravel().tolist() == [1, 2]


@pytest.mark.parametrize("chosen", [0, 1])
def test_select_output_writes_the_branch_of_the_mask(chosen: int) -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        block = main.global_block()
        mask = fluid.layers.fill_constant([1], "int32", chosen)
        branches = [fluid.layers.fill_constant([2], "float32", value) for value in (5.0, 6.0)]
        source = fluid.layers.fill_constant([2], "float32", 7.0)
        block.append_op("select_output", inputs={"X": source, "Mask": mask}, outputs={"Out": branches})
        found = fluid.Executor(fluid.CPUPlace()).run(main, fetch_list=branches)
    assert [float(value[0]) for value in found] == ([7.0, 6.0] if chosen == 0 else [5.0, 7.0])


def test_merge_lod_tensor_infer_merges_like_the_one_for_training() -> None:
    inputs = {
        "X": np.zeros((4, 1), "float32"),
        "Mask": np.array([[True], [False], [False], [True]]),
        "InTrue": np.array([[1.0], [4.0]], "float32"),
        "InFalse": np.array([[2.0], [3.0]], "float32"),
    }
    for name in ("merge_lod_tensor", "merge_lod_tensor_infer"):
        assert _run(name, inputs, ["Out"], {"level": 0})["Out"].ravel().tolist() == [1, 2, 3, 4]


def test_merging_takes_the_other_branch_when_one_has_no_rows() -> None:
    masks = np.arange(16.0, dtype="float32").reshape(2, 2, 2, 2)
    none = np.zeros((0, 6), "float32")
    inputs = {"X": np.zeros((1, 1), "float32"), "Mask": np.array([[False]]), "InTrue": none, "InFalse": masks}
    assert _run("merge_lod_tensor", inputs, ["Out"], {"level": 0})["Out"].tolist() == masks.tolist()
    inputs |= {"Mask": np.array([[True]]), "InTrue": masks, "InFalse": none}
    assert _run("merge_lod_tensor", inputs, ["Out"], {"level": 0})["Out"].tolist() == masks.tolist()


def test_merging_gives_all_rows_the_shape_of_the_true_branch() -> None:
    inputs = {
        "X": np.zeros((2, 1), "float32"),
        "Mask": np.array([[False], [True]]),
        "InTrue": np.arange(6.0, dtype="float32").reshape(1, 6),
        "InFalse": np.arange(6.0, 12.0, dtype="float32").reshape(1, 2, 3),
    }
    found = _run("merge_lod_tensor", inputs, ["Out"], {"level": 0})["Out"]
    assert found.tolist() == [[6, 7, 8, 9, 10, 11], [0, 1, 2, 3, 4, 5]]


def test_merging_takes_no_row_of_the_branch_that_the_mask_leaves_out() -> None:
    inputs = {
        "X": np.zeros((1, 1), "float32"),
        "Mask": np.array([[False]]),
        "InTrue": np.array([[1.0], [2.0]], "float32"),
        "InFalse": np.array([[3.0], [4.0]], "float32"),
    }
    assert _run("merge_lod_tensor", inputs, ["Out"], {"level": 0})["Out"].tolist() == [[3.0]]


@pytest.mark.parametrize("wanted", [True, False])
def test_conditional_block_infer_runs_its_block_if_the_condition_holds(wanted: bool) -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        condition = fluid.layers.fill_constant([1], "bool", wanted)
        out = fluid.layers.fill_constant([1], "float32", 1.0)
        inner = main._create_block()
        inner.append_op(type="scale", inputs={"X": out}, outputs={"Out": out}, attrs={"scale": 3.0})
        main._rollback()
        main.global_block().append_op(
            type="conditional_block_infer",
            inputs={"Cond": [condition], "Input": [out]},
            outputs={"Out": [out]},
            attrs={"sub_block": inner, "is_scalar_condition": True},
        )
        (found,) = fluid.Executor(fluid.CPUPlace()).run(main, fetch_list=[out])
    assert float(found) == (3.0 if wanted else 1.0)


@pytest.mark.parametrize(("number", "widths"), [(3, [2, 2, 2]), (0, [1, 2, 3])])
def test_split_takes_a_number_of_parts_before_sections(number: int, widths: list[int]) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.layers.fill_constant([2, 6], "float32", 1.0)
        parts = [x.block.create_var(name=f"part_{n}", dtype="float32") for n in range(3)]
        attrs = {"num": number, "sections": [1, 2, 3], "axis": 1}
        x.block.append_op(type="split", inputs={"X": x}, outputs={"Out": parts}, attrs=attrs)
        assert [part.shape for part in parts] == [(2, width) for width in widths]
        found = fluid.Executor(fluid.CPUPlace()).run(fetch_list=parts)
    assert [one.shape[1] for one in found] == widths


def test_fusion_lstm_starts_from_zeros_without_the_first_hidden_state() -> None:
    def hidden(first: Any) -> Any:
        inputs = {"WeightX": np.full((3, 8), 0.1), "WeightH": np.full((2, 8), 0.2), "Bias": np.full((1, 8), 0.3)}
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x = fluid.data("x", [None, 3], lod_level=1)
            block = x.block
            given = {
                name: fluid.layers.assign(np.asarray(value, "float32")) for name, value in {**inputs, **first}.items()
            }
            outs = {name: block.create_var(name=name, dtype="float32") for name in ("Hidden", "Cell", "XX")}
            block.append_op(type="fusion_lstm", inputs={"X": x, **given}, outputs=outs, attrs={"use_peepholes": False})
            feed = {"x": fluid.create_lod_tensor(np.ones((2, 3), "float32"), [[2]], fluid.CPUPlace())}
            (found,) = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[outs["Hidden"]], return_numpy=False)
        return np.array(found).tolist()

    ones, zeros = np.ones((1, 2)), np.zeros((1, 2))
    assert hidden({"C0": ones}) == hidden({})
    assert hidden({"C0": ones, "H0": zeros}) != hidden({})
