"""Bad input to dense layers: errors name the op, the variable and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers as L
from fluidio.errors import EnforceNotMet

HERE = "test_dense_errors.py"


def data(name: str, *shape: int, dtype: str = "float32") -> Any:
    return L.data(name, list(shape), append_batch_size=False, dtype=dtype)


def run(out: Any, **feed: Any) -> Any:
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out])


BUILD: list[tuple[str, Callable[[], Any], str]] = [
    ("mul", lambda: L.mul(data("x", 2, 3), data("y", 4, 5)), "flattens to 3 columns"),
    ("matmul", lambda: L.matmul(data("x", 2, 3), data("y", 4, 5)), "3 columns.*4 rows"),
    ("elementwise_add", lambda: L.elementwise_add(data("x", 2, 3), data("y", 2, 4)), "cannot be broadcast together"),
    ("reshape2", lambda: L.reshape(data("x", 2, 3), [4, 2]), "cannot become"),
    ("concat", lambda: L.concat([data("x", 2, 3), data("y", 4, 5)]), "must be equal in all dims but 0"),
    ("split", lambda: L.split(data("x", 2, 5), 2, dim=1), "cannot be divided into 2"),
    ("stack", lambda: L.stack([data("x", 2, 3), data("y", 2, 4)]), "must have the same shape"),
    ("squeeze2", lambda: L.squeeze(data("x", 2, 3), [0]), "cannot be squeezed"),
    ("transpose2", lambda: L.transpose(data("x", 2, 3), [0, 0]), "each of the 2 dims of X once"),
    ("slice", lambda: L.slice(data("x", 2, 3), [4], [0], [1]), "no dim 4"),
    ("cross_entropy2", lambda: L.cross_entropy(data("x", 2, 3), data("l", 2, 2, dtype="int64")), "last dim of Label"),
    (
        "softmax_with_cross_entropy",
        lambda: L.softmax_with_cross_entropy(data("x", 2, 3), data("l", 3, 1, dtype="int64")),
        "equal in dim 0",
    ),
    ("conv2d", lambda: L.conv2d(data("x", 2, 3, 2, 2), 4, 5), "too small"),
    ("pool2d", lambda: L.pool2d(data("x", 2, 3, 2, 2), 3), "too small"),
    ("lookup_table", lambda: L.embedding(data("x", 2, 3, dtype="int64"), [5, 4]), "last dim of Ids must be 1"),
    ("one_hot", lambda: L.one_hot(data("x", 2, 3, dtype="int64"), 5), "last dim of X must be 1"),
    ("top_k", lambda: L.topk(data("x", 2, 3), 0), "k must be at least 1"),
    ("dropout", lambda: L.dropout(data("x", 2, 3), 1.5), "must lie in 0 ... 1"),
    ("group_norm", lambda: L.group_norm(data("x", 2, 3, 2, 2), 4), "groups must lie in 1 ... 3, got 4"),
    ("layer_norm", lambda: L.layer_norm(data("x", 2, 3), begin_norm_axis=2), "begin_norm_axis .* got 2"),
]


@pytest.mark.parametrize(("op", "build", "problem"), BUILD, ids=[b[0] for b in BUILD])
def test_a_wrong_shape_is_refused_when_the_layer_is_built(op: str, build: Callable[[], Any], problem: str) -> None:
    with pytest.raises(EnforceNotMet, match=rf"(?s)op {op}: .*{problem}.*inputs: .*built at .*{HERE}"):
        build()


RUN: list[tuple[str, Callable[[], Any], dict[str, Any], str, str]] = [
    (
        "cross_entropy2",
        lambda: L.cross_entropy(L.data("x", [3]), L.data("l", [1], dtype="int64")),
        {"x": np.full((2, 3), 0.3, "f4"), "l": np.array([[1], [3]])},
        "label 3 is out of range: the input has 3 classes",
        "l",
    ),
    (
        "softmax_with_cross_entropy",
        lambda: L.softmax_with_cross_entropy(L.data("x", [3]), L.data("l", [1], dtype="int64")),
        {"x": np.zeros((2, 3), "f4"), "l": np.array([[-1], [2]])},
        "label -1 is out of range",
        "l",
    ),
    (
        "lookup_table",
        lambda: L.embedding(L.data("l", [1], dtype="int64"), [5, 2], param_attr="w"),
        {"l": np.array([[5]])},
        "id 5 is out of range: the input has 5 rows",
        "l",
    ),
    (
        "one_hot",
        lambda: L.one_hot(L.data("l", [1], dtype="int64"), 4),
        {"l": np.array([[4]])},
        "index 4 is out of range: depth is 4",
        "l",
    ),
    (
        "gather",
        lambda: L.gather(L.data("x", [2]), L.data("l", [1], dtype="int64")),
        {"x": np.zeros((3, 2), "f4"), "l": np.array([[3]])},
        "index 3 is out of range: the input has 3 rows",
        "l",
    ),
    (
        "reshape2",
        lambda: L.reshape(L.data("x", [3]), [-1, 4]),
        {"x": np.zeros((3, 3), "f4")},
        "9 elements cannot become",
        "x",
    ),
    (
        "elementwise_add",
        lambda: L.elementwise_add(L.data("x", [3]), L.data("y", [3])),
        {"x": np.zeros((3, 3), "f4"), "y": np.zeros((2, 3), "f4")},
        "cannot be broadcast together",
        "y",
    ),
]


@pytest.mark.parametrize(("op", "build", "feed", "problem", "name"), RUN, ids=[r[0] for r in RUN])
def test_bad_data_are_refused_when_the_program_runs(
    op: str, build: Callable[[], Any], feed: dict[str, Any], problem: str, name: str
) -> None:
    out = build()
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    with pytest.raises(EnforceNotMet, match=rf"(?s)op {op} failed: .*{problem}.* = {name} .*built at .*{HERE}"):
        run(out, **feed)


@pytest.mark.parametrize("layer", [L.relu, L.sigmoid, L.softmax, L.reduce_sum, L.transpose, L.cross_entropy])
def test_what_is_no_variable_is_refused(layer: Callable[..., Any]) -> None:
    arguments = {L.transpose: ([0],), L.cross_entropy: (None,)}.get(layer, ())
    with pytest.raises((TypeError, AttributeError), match=r"Variable|numpy"):
        layer(np.zeros(3), *arguments)
