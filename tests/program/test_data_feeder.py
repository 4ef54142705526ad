"""DataFeeder: samples in, tensors out."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


def feeder(*variables: fluid.Variable) -> fluid.DataFeeder:
    return fluid.DataFeeder(list(variables), fluid.CPUPlace())


def test_samples_are_cast_and_scalars_become_columns() -> None:
    x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [1], dtype="int64")
    fed = feeder(x, y).feed([([1, 2], 3), ([4, 5], 6)])
    assert np.array(fed["x"]).dtype == np.float32
    assert np.array(fed["y"]).tolist() == [[3], [6]]


def test_flat_samples_take_the_variables_shape() -> None:
    x = fluid.layers.data("x", [1, 2, 2])
    assert feeder(x).feed([(np.arange(4.0),)])["x"].shape() == [1, 1, 2, 2]


def test_sequences_become_lod() -> None:
    x = fluid.layers.data("x", [1], dtype="int64", lod_level=1)
    tensor = feeder(x).feed([([1, 2, 3],), ([4],), ([],)])["x"]
    assert tensor.recursive_sequence_lengths() == [[3, 1, 0]]
    assert tensor.shape() == [4, 1]


def test_arrays_of_rows_become_lod() -> None:
    x = fluid.layers.data("x", [2], lod_level=1)
    tensor = feeder(x).feed([(np.ones((2, 2)),), (np.zeros((1, 2)),)])["x"]
    assert tensor.lod() == [[0, 2, 3]]
    assert np.array(tensor).dtype == np.float32


def test_two_levels_nest() -> None:
    x = fluid.layers.data("x", [1], dtype="int64", lod_level=2)
    tensor = feeder(x).feed([([[1, 2], [3]],), ([[4]],)])["x"]
    assert tensor.recursive_sequence_lengths() == [[2, 1], [2, 1, 1]]


def test_a_wrong_number_of_fields_is_said() -> None:
    with pytest.raises(AssertionError, match=r"1 fields, but feed_list has 2"):
        feeder(fluid.layers.data("x", [2]), fluid.layers.data("y", [1])).feed([([1, 2],)])


def test_unequal_lengths_without_lod_are_said() -> None:
    with pytest.raises(ValueError, match="'x'.*lod_level"):
        feeder(fluid.layers.data("x", [2])).feed([([1, 2],), ([1],)])


def test_a_wrong_size_is_a_reshape_error() -> None:
    with pytest.raises(ValueError, match="cannot take the shape"):
        feeder(fluid.layers.data("x", [1, 28, 28])).feed([(np.zeros(783),)])


def test_the_feed_list_takes_names_and_refuses_others() -> None:
    fluid.layers.data("x", [2])
    assert fluid.DataFeeder(["x"], fluid.CPUPlace()).feed_names == ["x"]
    with pytest.raises(TypeError, match="must hold Variables"):
        fluid.DataFeeder([3], fluid.CPUPlace())


def test_feed_parallel_gives_one_dict_for_each_place() -> None:
    f = feeder(fluid.layers.data("x", [1]))
    assert len(list(f.feed_parallel([[(1,)], [(2,)]], num_places=2))) == 2
    with pytest.raises(ValueError, match="2 places, got 1"):
        list(f.feed_parallel([[(1,)]], num_places=2))


def test_decorate_reader_groups_batches_and_drops_the_rest() -> None:
    f = feeder(fluid.layers.data("x", [1]))
    batches = [[(i,)] for i in range(5)]
    grouped = list(f.decorate_reader(lambda: iter(batches), multi_devices=True, num_places=2)())
    assert [len(g) for g in grouped] == [2, 2]
    with pytest.raises(ValueError, match="drop_last=True"):
        list(f.decorate_reader(lambda: iter(batches), multi_devices=True, num_places=2, drop_last=False)())
