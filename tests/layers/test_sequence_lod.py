"""Sequence layers whose results are easy to say, and recurrent layers that learn."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


def run(fetch: Any, **feed: Any) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    wanted = list(fetch) if isinstance(fetch, (list, tuple)) else [fetch]
    return list(exe.run(feed=feed, fetch_list=wanted, return_numpy=False))


def ragged(array: Any, *lengths: list[int]) -> Any:
    return fluid.create_lod_tensor(np.asarray(array), list(lengths), fluid.CPUPlace())


def test_lod_append_adds_an_inner_level() -> None:
    x = L.data("x", [1], lod_level=1)
    (out,) = run(L.lod_append(x, [0, 1, 2, 3]), x=ragged(np.zeros((3, 1), np.float32), [2, 1]))
    assert out.lod() == [[0, 2, 3], [0, 1, 2, 3]]


def test_sequence_scatter_adds_at_columns() -> None:
    x, ids = L.data("x", [4]), L.data("ids", [1], dtype="int64", lod_level=1)
    updates = L.data("updates", [1], lod_level=1)
    (out,) = run(
        L.sequence_scatter(x, ids, updates),
        x=np.ones((2, 4), np.float32),
        ids=ragged(np.array([[0], [3], [3]]), [1, 2]),
        updates=ragged(np.array([[1.0], [2.0], [4.0]], np.float32), [1, 2]),
    )
    assert np.array(out).tolist() == [[2, 1, 1, 1], [1, 1, 1, 7]]


def test_sequence_erase_and_enumerate() -> None:
    x = L.data("x", [1], dtype="int64", lod_level=1)
    tokens = ragged(np.array([[2], [0], [2], [5], [0]]), [3, 2])
    erased, windows = run([L.sequence_erase(x, [0]), L.sequence_enumerate(x, 2, pad_value=9)], x=tokens)
    assert np.array(erased).reshape(-1).tolist() == [2, 2, 5]
    assert erased.recursive_sequence_lengths() == [[2, 1]]
    assert np.array(windows).tolist() == [[2, 0], [0, 2], [2, 9], [5, 0], [0, 9]]


def test_row_conv_looks_ahead_within_the_sequence() -> None:
    x = L.data("x", [1], lod_level=1)
    weight = fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(np.array([[1.0], [10.0]], np.float32)))
    (out,) = run(L.row_conv(x, 1, param_attr=weight), x=ragged(np.array([[1.0], [2.0], [3.0]], np.float32), [2, 1]))
    assert np.array(out).reshape(-1).tolist() == [21.0, 2.0, 3.0]


def test_im2sequence_makes_a_sequence_of_patches() -> None:
    x = L.data("x", [1, 3, 3])
    image = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    (out,) = run(L.im2sequence(x, filter_size=[2, 2], stride=[1, 1]), x=image)
    assert np.array(out).tolist() == [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]
    assert out.recursive_sequence_lengths() == [[4]]


def test_steps_of_sequences_come_back_in_order() -> None:
    x = L.data("x", [1], lod_level=1)
    table = L.lod_rank_table(x)
    array = L.lod_tensor_to_array(x, table)
    back = L.array_to_lod_tensor(array, table)
    first = L.array_read(array, L.fill_constant([1], "int64", 0))
    sorted_rows = L.reorder_lod_tensor_by_rank(x, table)
    rows = ragged(np.arange(6, dtype=np.float32).reshape(6, 1), [1, 3, 0, 2])
    got = run([L.max_sequence_len(table), first, back, sorted_rows], x=rows)
    assert np.array(got[0]).tolist() == [3]
    assert np.array(got[1]).reshape(-1).tolist() == [1, 4, 0]
    assert np.array(got[2]).reshape(-1).tolist() == [0, 1, 2, 3, 4, 5]
    assert got[2].recursive_sequence_lengths() == [[1, 3, 0, 2]]
    assert np.array(got[3]).reshape(-1).tolist() == [1, 2, 3, 4, 5, 0]


def learns(loss: Any, feed: Any, steps: int = 12) -> None:
    fluid.optimizer.Adam(0.05).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    losses = [float(exe.run(feed=feed, fetch_list=[loss])[0].reshape(-1)[0]) for _ in range(steps)]
    assert losses[-1] < 0.7 * losses[0], losses


@pytest.mark.parametrize("both", [True, False])
def test_a_stacked_lstm_over_padded_tensors_learns(both: bool) -> None:
    fluid.default_startup_program().random_seed = 1
    x = L.data("x", [5, 3, 4], append_batch_size=False)
    state = L.fill_constant([4 if both else 2, 3, 6], "float32", 0.0)
    out, last_h, last_c = L.lstm(x, state, state, 5, 6, 2, is_bidirec=both)
    assert out.shape == (5, 3, 12 if both else 6)
    assert last_h.shape == last_c.shape == state.shape
    loss = L.mean(L.square(L.fc(out, 1, num_flatten_dims=2) - 1.0))
    learns(loss, {"x": np.sin(np.arange(60)).reshape(5, 3, 4).astype(np.float32)})


@pytest.mark.parametrize("sampler", ["uniform", "log_uniform", "custom_dist"])
@pytest.mark.parametrize("sparse", [True, False])
def test_nce_learns(sampler: str, sparse: bool) -> None:
    fluid.default_startup_program().random_seed = 1
    x, y = L.data("x", [4]), L.data("y", [1], dtype="int64")
    dist = [0.1] * 10 if sampler == "custom_dist" else None
    cost = L.nce(x, y, 10, num_neg_samples=3, sampler=sampler, custom_dist=dist, seed=3, is_sparse=sparse)
    rows = np.eye(4, dtype=np.float32)
    learns(L.mean(cost), {"x": rows, "y": np.array([[1], [3], [5], [7]])}, steps=40)


def test_structures_are_mapped_and_packed() -> None:
    Pair = collections.namedtuple("Pair", "a b")
    nest = {"y": [1, (2, 3)], "x": Pair(4, 5)}
    utils = L.utils
    assert utils.flatten(nest) == [4, 5, 1, 2, 3]
    assert utils.pack_sequence_as(nest, [0, 1, 2, 3, 4]) == {"x": Pair(0, 1), "y": [2, (3, 4)]}
    assert L.map_structure(lambda v: v * 2, nest) == {"x": Pair(8, 10), "y": [2, (4, 6)]}
    with pytest.raises(ValueError, match="5 places, but flat_sequence has 2"):
        utils.pack_sequence_as(nest, [1, 2])
    with pytest.raises(ValueError, match="lengths differ"):
        utils.assert_same_structure([1, 2], [1])
    with pytest.raises(TypeError, match="types differ"):
        utils.assert_same_structure([1], (1,))


def test_fluid_modules_show_the_layers_they_had() -> None:
    assert L.control_flow.DynamicRNN is L.DynamicRNN
    assert L.nn.dynamic_lstm is L.dynamic_lstm
    assert L.nn.sequence_pool is L.sequence_lod.sequence_pool
    with pytest.raises(AttributeError, match="control_flow.nothing_here is not supported"):
        getattr(L.control_flow, "nothing" + "_here")


@pytest.mark.parametrize("of_x", [0, 1, 2])
@pytest.mark.parametrize("of_y", [1, 2])
def test_expanded_rows_are_declared_with_the_levels_of_1_8_5(of_x: int, of_y: int) -> None:
    x, y = fluid.layers.data("x", [2], lod_level=of_x), fluid.layers.data("y", [2], lod_level=of_y)
    assert fluid.layers.sequence_expand(x, y).lod_level == of_x
    assert fluid.layers.sequence_expand_as(x, y).lod_level == of_y


def test_scattered_sequences_lose_the_sequences_of_x_as_in_1_8_5() -> None:
    x, i = fluid.data("x", [None, 4], lod_level=1), fluid.data("i", [None, 1], "int64", lod_level=1)
    u = fluid.data("u", [None, 1], lod_level=1)
    x.stop_gradient = u.stop_gradient = False
    out = fluid.layers.sequence_scatter(x, i, u)
    found: list[Any] = [out, *fluid.gradients([fluid.layers.reduce_sum(out)], [x, u])]
    feed = {
        "x": fluid.create_lod_tensor(np.ones((2, 4), np.float32), [[1, 1]], fluid.CPUPlace()),
        "i": fluid.create_lod_tensor(np.array([[0], [1], [2]]), [[1, 2]], fluid.CPUPlace()),
        "u": fluid.create_lod_tensor(np.array([[1], [2], [3]], np.float32), [[1, 2]], fluid.CPUPlace()),
    }
    got = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=found, return_numpy=False)
    assert [variable.lod_level for variable in found] == [0, 0, 0]
    assert [tensor.lod() for tensor in got] == [[], [], []]


def test_expand_refuses_what_is_not_above_zero_when_a_program_is_built() -> None:
    with pytest.raises(AssertionError, match="expand_times must be above 0"):
        fluid.layers.expand(fluid.data("x", [2, 3]), [1, 0])


def test_layer_norm_takes_scales_whose_size_is_not_known() -> None:
    x, scale = fluid.data("x", [None, 3]), fluid.data("s", [None])
    block = fluid.default_main_program().global_block()
    out = block.create_var(name="out", dtype="float32")
    block.append_op(type="layer_norm", inputs={"X": [x], "Scale": [scale]}, outputs={"Y": [out]})
    assert out.shape == (-1, 3)
