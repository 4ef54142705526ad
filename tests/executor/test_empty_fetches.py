"""What a fetched tensor without numbers is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers


def _nothing_found(return_numpy: bool) -> Any:
    boxes, scores = fluid.data("boxes", [1, 2, 4]), fluid.data("scores", [1, 3, 2])
    found = fluid.contrib.layers.multiclass_nms2(boxes, scores, 2.0, 10, 10, background_label=-1)
    feed = {"boxes": np.ones([1, 2, 4], "float32"), "scores": np.ones([1, 3, 2], "float32")}
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[found], return_numpy=return_numpy)[0]


def _no_rows(return_numpy: bool) -> Any:
    rows = layers.where(fluid.data("x", [3]) > 2.0)
    feed = {"x": np.ones([3], "float32")}
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[rows], return_numpy=return_numpy)[0]


def test_it_is_a_tensor_that_holds_nothing_but_its_lod_in_1_8() -> None:
    with fluid.use_era("1.8"):
        found = _nothing_found(return_numpy=False)
    assert (found.shape(), found.lod(), found._is_initialized()) == ([0], [[0, 0]], False)
    assert np.array(found).shape == (0,)


def test_it_is_none_as_an_array_in_1_8() -> None:
    with fluid.use_era("1.8"):
        assert _no_rows(return_numpy=True) is None


def test_one_with_a_lod_is_refused_as_an_array() -> None:
    with fluid.use_era("1.8"), pytest.raises(RuntimeError, match="return_numpy"):
        _nothing_found(return_numpy=True)


def test_it_keeps_its_dims_in_other_eras() -> None:
    assert _nothing_found(return_numpy=False).shape() == [0, 6]
