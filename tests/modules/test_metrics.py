"""Metrics give the numbers of Fluid 1.8.5."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio import average, metrics
from fluidio.era import use_era

PREDICTIONS = np.array([[0.1], [0.7], [0.8], [0.9], [0.2], [0.2], [0.3], [0.5], [0.8], [0.6]])
LABELS = np.array([[0], [1], [1], [1], [1], [0], [0], [0], [0], [0]])


def test_accuracy_is_a_weighted_mean() -> None:
    accuracy = metrics.Accuracy()
    accuracy.update(0.5, 10)
    accuracy.update(np.array([1.0]), 30)
    assert accuracy.eval() == pytest.approx(0.875)
    assert accuracy.get_config() == {"name": "Accuracy", "states": {"value": 35.0, "weight": 40.0}}
    accuracy.reset()
    with pytest.raises(ValueError, match="Accuracy.eval"):
        accuracy.eval()


@pytest.mark.parametrize(("value", "weight"), [("a", 1), (0.5, "b"), (0.5, -1)])
def test_accuracy_refuses_what_is_no_number(value: object, weight: object) -> None:
    with pytest.raises(ValueError, match="must be|negative"):
        metrics.Accuracy().update(value, weight)


def test_precision_and_recall_round_predictions() -> None:
    precision, recall = metrics.Precision(), metrics.Recall()
    precision.update(PREDICTIONS, LABELS)
    recall.update(PREDICTIONS, LABELS)
    assert (precision.eval(), recall.eval()) == (0.6, 0.75)
    precision.reset()
    assert precision.eval() == 0.0


def test_a_composite_updates_all_its_metrics() -> None:
    both = metrics.CompositeMetric()
    both.add_metric(metrics.Precision())
    both.add_metric(metrics.Recall())
    both.update(PREDICTIONS, LABELS)
    assert both.eval() == [0.6, 0.75]
    both.reset()
    assert both.eval() == [0.0, 0.0]
    with pytest.raises(ValueError, match="takes a metric"):
        both.add_metric(3)  # type: ignore[arg-type]


def test_chunks_add_up() -> None:
    chunks = metrics.ChunkEvaluator()
    assert chunks.eval() == (0, 0, 0)
    chunks.update(10, 9, 8)
    chunks.update(3, np.array([9]), 3)
    precision, recall, f1 = chunks.eval()
    np.testing.assert_allclose([precision, recall[0], f1[0]], [0.8461538461538461, 0.61111111, 0.70967742], rtol=1e-6)


def test_edit_distances_average_over_sequences() -> None:
    distance = metrics.EditDistance("edit")
    with pytest.raises(ValueError, match="EditDistance.eval"):
        distance.eval()
    distance.update(np.array([[0], [2.0], [3]]), 3)
    assert distance.eval() == pytest.approx((5 / 3, 2 / 3))


def test_auc_of_the_real_framework() -> None:
    rng = np.random.RandomState(0)
    predictions, labels = rng.rand(100, 2), rng.randint(0, 2, (100, 1))
    fine, coarse = metrics.Auc("auc"), metrics.Auc("auc", num_thresholds=10)
    assert fine.eval() == 0.0
    fine.update(predictions, labels)
    coarse.update(predictions, labels)
    assert fine.eval() == pytest.approx(0.5776)
    assert coarse.eval() == pytest.approx(0.587)
    fine.reset()
    assert fine.eval() == 0.0


def test_auc_of_1_8_goes_on_after_a_reset() -> None:
    auc = metrics.Auc("auc", num_thresholds=100)
    first = np.array([[0.3, 0.7], [0.6, 0.4]]), np.array([[1], [0]])
    second = np.array([[0.2, 0.8], [0.9, 0.1]]), np.array([[0], [1]])
    with use_era("1.8"):
        auc.reset()  # nothing to keep, nothing to say
        auc.update(*first)
        with pytest.warns(UserWarning, match=r"reset\(counts=True\)"):
            auc.reset()
        auc.update(*second)
        assert auc.eval() == 0.25  # of 1.8.5
        auc.reset(counts=True)
        auc.update(*second)
        assert auc.eval() == 0.0


def test_auc_refuses_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        metrics.Auc("auc").update(np.array([[0.0, 2.0]]), np.array([[1]]))


def test_a_metric_of_ones_own_resets_its_state() -> None:
    class Mine(metrics.MetricBase):
        def __init__(self) -> None:
            super().__init__()
            self.count = 3
            self.total = np.ones(2)
            self.other = "text"
            self._kept = 5

    mine = Mine()
    mine.reset()
    assert vars(mine)["other"] is None
    assert (mine.count, mine.total.tolist(), mine._kept) == (0, [0.0, 0.0], 5)
    with pytest.raises(NotImplementedError):
        mine.eval()


def test_weighted_average() -> None:
    mean = average.WeightedAverage()
    with pytest.raises(ValueError, match="nothing was added"):
        mean.eval()
    mean.add(2.0, 1)
    mean.add(np.array([4.0]), 2)
    np.testing.assert_allclose(mean.eval(), [10 / 3])
    with pytest.raises(ValueError, match="must be a number"):
        mean.add("a", 1)
    mean.reset()
    with pytest.raises(ValueError, match="nothing was added"):
        mean.eval()


def test_the_edit_distance_of_fetched_counts_is_an_array_as_in_1_8_5() -> None:
    metric = metrics.EditDistance()
    metric.update(np.array([[0.5], [0.0]], np.float32), np.array([2]))
    metric.update(np.array([[1.0]], np.float32), 1)
    distance, wrong = metric.eval()
    assert (distance.tolist(), wrong.tolist()) == ([0.5], [pytest.approx(2 / 3)])
