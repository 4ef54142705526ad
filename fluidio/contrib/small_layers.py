"""`fluid.contrib.layers`: column slices, shuffled rows, summed embeddings, box suppression, sums for CTR models."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike
from fluidio.era import era
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.layers._shape.lookup import padding_row
from fluidio.param_attr import AttrLike
from fluidio.program import Variable, unique_name
from fluidio.program.type_checks import check_variable_and_dtype

__all__ = [
    "ctr_metric_bundle",
    "fused_embedding_seq_pool",
    "multiclass_nms2",
    "partial_concat",
    "partial_sum",
    "shuffle_batch",
]

_NUMBERS = ("float32", "float64", "int32", "int64")
_PARTIAL = {"partial_concat": ("float16", *_NUMBERS), "partial_sum": _NUMBERS}


def _partial(op_type: str, input: Variable | Sequence[Variable], start_index: int, length: int) -> Variable:
    parts: list[Any] = list(input) if isinstance(input, (list, tuple)) else [input]
    if era().checks_layer_arguments:
        for i, part in enumerate(parts):
            check_variable_and_dtype(part, f"input[{i}]", _PARTIAL[op_type], op_type)
    helper = LayerHelper(op_type)
    out = helper.create_variable_for_type_inference(parts[0].dtype)
    attrs = {"start_index": start_index, "length": length}
    helper.append_op(type=op_type, inputs={"X": parts}, outputs={"Out": [out]}, attrs=attrs)
    return out


def partial_concat(input: Variable | Sequence[Variable], start_index: int = 0, length: int = -1) -> Variable:
    """The same columns of several matrices, side by side."""
    return _partial("partial_concat", input, start_index, length)


def partial_sum(input: Variable | Sequence[Variable], start_index: int = 0, length: int = -1) -> Variable:
    """The sum of the same columns of several matrices."""
    return _partial("partial_sum", input, start_index, length)


def shuffle_batch(x: Variable, seed: object = None) -> Variable:
    """Rows in a random order that differs from run to run. As in Fluid, without a seed one is drawn now."""
    helper = LayerHelper("shuffle_batch")
    out = helper.create_variable_for_type_inference(x.dtype)
    where = helper.create_variable_for_type_inference("int64")
    attrs = {}
    if seed is None and helper.main_program.random_seed != 0:
        seed = helper.main_program.random_seed
    if seed is None:
        seed = int(np.random.randint(-65536, 65535))
    if isinstance(seed, int):
        attrs["startup_seed"] = seed
        seed = helper.create_variable(name=unique_name.generate("shuffle_batch_seed"), dtype="int64", persistable=True)
    helper.append_op(
        type="shuffle_batch",
        inputs={"X": [x], "Seed": [seed]},
        outputs={"Out": [out], "ShuffleIdx": [where], "SeedOut": [seed]},
        attrs=attrs,
    )
    return out


def fused_embedding_seq_pool(
    input: Variable,
    size: Sequence[int],
    is_sparse: bool = False,
    padding_idx: int | None = None,
    combiner: str = "sum",
    param_attr: AttrLike = None,
    dtype: DTypeLike = "float32",
) -> Variable:
    """The rows of a table at the ids of each sequence, summed."""
    helper = LayerHelper("fused_embedding_seq_pool", param_attr=param_attr)
    table = helper.create_parameter(helper.param_attr, list(size), dtype)
    out = helper.create_variable_for_type_inference(dtype)
    padding = padding_row(padding_idx, size[0])
    helper.append_op(
        type="fused_embedding_seq_pool",
        inputs={"Ids": [input], "W": [table]},
        outputs={"Out": [out]},
        attrs={"is_sparse": is_sparse, "combiner": combiner, "padding_idx": padding},
    )
    return out


def multiclass_nms2(
    bboxes: Variable,
    scores: Variable,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    nms_threshold: float = 0.3,
    normalized: bool = True,
    nms_eta: float = 1.0,
    background_label: int = 0,
    return_index: bool = False,
    name: str | None = None,
) -> Any:
    """Non-maximum suppression as in layers.multiclass_nms; with return_index, also the indices of the boxes."""
    helper = LayerHelper("multiclass_nms2", name=name)
    out = helper.create_variable_for_type_inference(bboxes.dtype)
    index = helper.create_variable_for_type_inference("int64")
    helper.append_op(
        type="multiclass_nms2",
        inputs={"BBoxes": [bboxes], "Scores": [scores]},
        outputs={"Out": [out], "Index": [index]},
        attrs={
            "background_label": background_label,
            "score_threshold": score_threshold,
            "nms_top_k": nms_top_k,
            "nms_threshold": nms_threshold,
            "nms_eta": nms_eta,
            "keep_top_k": keep_top_k,
            "normalized": normalized,
        },
    )
    out.stop_gradient = index.stop_gradient = True
    return (out, index) if return_index else out


def ctr_metric_bundle(input: Variable, label: Variable) -> tuple[Variable, ...]:
    """Running sums for a click-rate model: squared error, absolute error, probability, q, clicks, instances.

    Each run adds its batch; divide by the instances yourself. The label is float32.
    """
    helper = LayerHelper("ctr_metric_bundle")
    absolute, squared, chance, q, clicks, instances = (
        helper.create_global_variable(persistable=True, dtype="float32", shape=[1]) for _ in range(6)
    )
    difference, sigmoid, ones = (
        helper.create_global_variable(persistable=False, dtype="float32", shape=[-1]) for _ in range(3)
    )
    of_batch = [helper.create_global_variable(persistable=False, dtype="float32", shape=[1]) for _ in range(6)]
    batch_chance, batch_absolute, batch_squared, batch_q, batch_clicks, batch_instances = of_batch
    pairs = ((absolute, batch_absolute), (squared, batch_squared), (chance, batch_chance), (q, batch_q))
    for variable in (*itertools.chain(*pairs), batch_clicks, batch_instances, clicks, instances):
        helper.set_variable_initializer(variable, Constant(0.0, force_cpu=True))

    def append(op_type: str, x: Variable, out: Variable, y: Variable | None = None, **attrs: object) -> None:
        inputs = {"X": [x]} if y is None else {"X": [x], "Y": [y]}
        helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)

    def add(op_type: str, x: Variable, batch: Variable, total: Variable) -> None:
        append(op_type, x, batch)
        append("elementwise_add", batch, total, total)

    append("elementwise_sub", input, difference, label)
    add("squared_l2_norm", difference, batch_squared, squared)
    add("l1_norm", difference, batch_absolute, absolute)
    add("reduce_sum", input, batch_chance, chance)
    append("sigmoid", input, sigmoid)
    add("reduce_sum", sigmoid, batch_q, q)
    add("reduce_sum", label, batch_clicks, clicks)
    helper.append_op(
        type="fill_constant_batch_size_like",
        inputs={"Input": [label]},
        outputs={"Out": [ones]},
        attrs={"shape": [-1, 1], "dtype": ones.dtype, "value": 1.0},
    )
    add("reduce_sum", ones, batch_instances, instances)
    return squared, absolute, chance, q, clicks, instances
