"""Where a decoder leaves nothing, what comes after it works on empty sequences."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


@pytest.mark.parametrize(("normalized", "expected"), [(False, [[1.0], [2.0]]), (True, [[1.0], [1.0]])])
def test_the_edit_distance_to_nothing_is_the_length(normalized: bool, expected: list[list[float]]) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        scores = fluid.layers.data("scores", [4], lod_level=1)
        label = fluid.layers.data("label", [1], dtype="int64", lod_level=1)
        decoded = fluid.layers.ctc_greedy_decoder(scores, blank=3)
        distance, count = fluid.layers.edit_distance(decoded, label, normalized=normalized)
        blank = np.tile(np.array([0, 0, 0, 1], "float32"), (4, 1))
        feed = {
            "scores": fluid.create_lod_tensor(blank, [[2, 2]], fluid.CPUPlace()),
            "label": fluid.create_lod_tensor(np.array([[1], [2], [3]]), [[1, 2]], fluid.CPUPlace()),
        }
        exe = fluid.Executor(fluid.CPUPlace())
        found, number, text = exe.run(feed=feed, fetch_list=[distance, count, decoded], return_numpy=False)
    assert np.array(found).tolist() == expected
    assert np.array(number).tolist() == [2]
    assert (np.array(text).tolist(), text.lod()) == ([[-1]], [[0, 0, 0]])
