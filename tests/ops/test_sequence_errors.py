"""Mistakes with sequences: the error names op, variable and the line that built it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


def run(out: Any, **feed: Any) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return list(exe.run(feed=feed, fetch_list=[out], return_numpy=False))


def ragged(array: Any, *lengths: list[int]) -> Any:
    return fluid.create_lod_tensor(np.asarray(array), list(lengths), fluid.CPUPlace())


ROWS = np.zeros((4, 8), np.float32)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: L.sequence_pool(x, "sum"),
        lambda x: L.sequence_conv(x, 2),
        lambda x: L.sequence_reverse(x),
        lambda x: L.dynamic_lstm(x, 8)[0],
        lambda x: L.dynamic_gru(L.fc(x, 6), 2),
        lambda x: L.sequence_expand(x, x),
        lambda x: L.linear_chain_crf(x, L.cast(L.reduce_sum(x, dim=1, keep_dim=True), "int64")),
    ],
)
def test_a_tensor_without_lod_is_refused(build: Any) -> None:
    x = L.data("x", [8], lod_level=1)
    out = build(x)
    with pytest.raises(fluid.core.EnforceNotMet, match=r"has no LoD(.*\n)*.*test_sequence_errors.py"):
        run(out, x=ROWS)


def test_a_wrong_pool_type_is_refused_while_building() -> None:
    with pytest.raises(fluid.core.EnforceNotMet, match="pooltype must be one of"):
        L.sequence_pool(L.data("x", [3], lod_level=1), "median")


def test_a_wrong_width_for_an_lstm_is_refused_while_building() -> None:
    with pytest.raises(fluid.core.EnforceNotMet, match="it has 6"):
        L.dynamic_lstm(L.data("x", [6], lod_level=1), 8)


def test_a_label_out_of_range_is_named() -> None:
    x, y = L.data("x", [3], lod_level=1), L.data("y", [1], dtype="int64", lod_level=1)
    cost = L.linear_chain_crf(x, y)
    with pytest.raises(fluid.core.EnforceNotMet, match=r"labels must lie in 0 \.\.\. 2, found 1 \.\.\. 3"):
        run(cost, x=ragged(np.zeros((2, 3), np.float32), [2]), y=ragged(np.array([[1], [3]]), [2]))


def test_a_slice_outside_its_sequence_is_named() -> None:
    x = L.data("x", [8], lod_level=1)
    offset, length = L.data("offset", [1], dtype="int64"), L.data("length", [1], dtype="int64")
    out = L.sequence_slice(x, offset, length)
    with pytest.raises(fluid.core.EnforceNotMet, match="sequence 1 has 1 rows; offset 0 with length 2"):
        run(out, x=ragged(ROWS, [3, 1]), offset=np.array([[0], [0]]), length=np.array([[1], [2]]))


def test_a_lod_that_does_not_fit_is_refused() -> None:
    out = L.lod_reset(L.data("x", [8]), target_lod=[0, 2, 5])
    with pytest.raises(fluid.core.EnforceNotMet, match="ends at 5, but the tensor has 4 rows"):
        run(out, x=ROWS)


def test_sequences_too_long_for_their_padding_are_refused() -> None:
    out, _ = L.sequence_pad(L.data("x", [8], lod_level=1), L.fill_constant([1], "float32", 0.0), maxlen=2)
    with pytest.raises(fluid.core.EnforceNotMet, match="longest sequence has 3 rows"):
        run(out, x=ragged(ROWS, [3, 1]))


def test_an_empty_reference_cannot_normalize_a_distance() -> None:
    a, b = L.data("a", [1], dtype="int64", lod_level=1), L.data("b", [1], dtype="int64", lod_level=1)
    distance, _ = L.edit_distance(a, b)
    with pytest.raises(fluid.core.EnforceNotMet, match="empty"):
        run(distance, a=ragged(np.array([[1], [2]]), [1, 1]), b=ragged(np.array([[1]]), [1, 0]))
