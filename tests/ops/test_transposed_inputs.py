"""Gradients do not depend on how the memory of an input is laid out: a transposed view is one value like any other."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.program.variable import Variable
from tests.house.repository import ROOT

_LENGTHS = [4, 5]


def _unpadded(x: Variable) -> Variable:
    return layers.sequence_unpad(x, layers.assign(np.array(_LENGTHS, "int64")))


def _rows(x: Variable) -> Variable:
    return layers.lod_reset(layers.reshape(x, [10, 24]), target_lod=[0, 4, 10])


def _gru(x: Variable) -> Variable:
    return layers.dynamic_gru(_rows(x), 8, bias_attr=False)


def _lstm(x: Variable) -> Variable:
    return layers.dynamic_lstm(_rows(x), 24, use_peepholes=False)[0]


def _largest(x: Variable) -> Variable:
    return layers.sequence_pool(layers.lod_reset(x, target_lod=[0, 1, 2]), "max")


def _gradient(build: Any, transposed: bool) -> Any:
    """Return the gradient of a sum of squares, through a transposed view of the input or the numbers as they are."""
    numbers = np.random.RandomState(0).rand(2, 5, 24).astype("float32")
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        fluid.default_startup_program().random_seed = 1
        x = layers.data("x", [24, 5, 2] if transposed else [2, 5, 24], append_batch_size=False, stop_gradient=False)
        out = build(layers.transpose(x, [2, 1, 0]) if transposed else layers.scale(x, 1.0))
        (slope,) = fluid.gradients([layers.reduce_sum(out * out)], [x])
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        (found,) = exe.run(feed={"x": numbers.T.copy() if transposed else numbers}, fetch_list=[slope])
    return np.asarray(found).T if transposed else np.asarray(found)


@pytest.mark.parametrize("build", [_unpadded, _largest, _gru, _lstm], ids=lambda build: build.__name__.strip("_"))
def test_a_gradient_is_the_same_for_a_transposed_view(build: Any) -> None:
    expected = _gradient(build, transposed=False)
    assert np.abs(expected).sum() > 0
    np.testing.assert_allclose(_gradient(build, transposed=True), expected, rtol=1e-5, atol=1e-6)


def test_no_kernel_writes_into_the_flat_copy_of_a_like_array() -> None:
    """`zeros_like` keeps the layout of a transposed view; its `reshape` is then a copy, and what is written is lost."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "fluidio" / "ops").rglob("*.py"))
        for line in _lost_writes(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []


def _lost_writes(tree: ast.AST) -> list[int]:
    """Return the lines `x.reshape(...)[...] = ...` where x came from `..._like`."""
    lines = []
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        nodes = list(ast.walk(function))
        likes = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and _called(node.value).endswith("_like")
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        stored = (node for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
        lines += [node.lineno for node in stored if _flattened(node.value) in likes]
    return lines


def _flattened(node: ast.AST) -> str:
    """Return the name of what is reshaped here."""
    if _called(node) not in ("reshape", "ravel"):
        return ""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    return node.func.value.id if isinstance(node.func.value, ast.Name) else ""


def _called(node: ast.AST) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
