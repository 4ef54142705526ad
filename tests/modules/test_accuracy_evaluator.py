"""`fluid.evaluator.Accuracy` of 0.12 sums over batches in the program."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


def test_the_share_of_right_predictions_is_taken_over_all_batches() -> None:
    scores = fluid.layers.data("scores", [3])
    label = fluid.layers.data("label", [1], dtype="int64")
    accuracy = fluid.evaluator.Accuracy(input=scores, label=label)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    accuracy.reset(exe)
    with pytest.raises(ValueError, match="no batch"):
        accuracy.eval(exe)
    for labels, batch in (([0, 1, 2, 0], 0.75), ([1, 1], 0.5)):
        feed = {"scores": np.eye(3, dtype="float32")[[0, 1, 2, 1][: len(labels)]], "label": np.array(labels)[:, None]}
        (now,) = exe.run(feed=feed, fetch_list=accuracy.metrics)
        assert float(now[0]) == batch
    assert accuracy.eval(exe) == pytest.approx([4 / 6])
    accuracy.reset(exe)
    with pytest.raises(ValueError, match="no batch"):
        accuracy.eval(exe)
