"""Metrics over many batches, in NumPy: update with fetched values, then `eval`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.evaluator import DetectionMAP
from fluidio.layers.arguments import warn_like_fluid

__all__ = [
    "Accuracy",
    "Auc",
    "ChunkEvaluator",
    "CompositeMetric",
    "DetectionMAP",
    "EditDistance",
    "MetricBase",
    "Precision",
    "Recall",
]


class MetricBase:
    """Base class: attributes without a leading underscore are the state; `reset` sets them back."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name if name is not None else type(self).__name__

    def __str__(self) -> str:
        return self._name

    def _states(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def reset(self) -> None:
        """Begin again: numbers become 0, arrays zeros, everything else None."""
        for key, value in self._states().items():
            if isinstance(value, (int, float)):
                setattr(self, key, type(value)(0))
            elif isinstance(value, (np.ndarray, np.generic)):
                setattr(self, key, np.zeros_like(value))
            else:
                setattr(self, key, None)

    def get_config(self) -> dict[str, Any]:
        """Return the name and a copy of the state."""
        return {"name": self._name, "states": copy.deepcopy(self._states())}

    def update(self, preds: Any, labels: Any) -> None:
        raise NotImplementedError(f"Should not use it directly, please extend it: {type(self).__name__}")

    def eval(self) -> Any:
        raise NotImplementedError(f"Should not use it directly, please extend it: {type(self).__name__}")


class CompositeMetric(MetricBase):
    """Several metrics that are updated together."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._metrics: list[MetricBase] = []

    def add_metric(self, metric: MetricBase) -> None:
        if not isinstance(metric, MetricBase):
            raise ValueError("SubMetric should be inherit from MetricBase.")
        self._metrics.append(metric)

    def reset(self) -> None:
        for metric in self._metrics:
            metric.reset()

    def update(self, preds: Any, labels: Any) -> None:
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self) -> list[Any]:
        return [metric.eval() for metric in self._metrics]


def _binary(preds: object, labels: object) -> tuple[Any, Any]:
    if not isinstance(preds, np.ndarray):
        raise ValueError("The 'preds' must be a numpy ndarray.")
    if not isinstance(labels, np.ndarray):
        raise ValueError("The 'labels' must be a numpy ndarray.")
    return np.rint(preds).astype(np.int32).reshape(-1), labels.reshape(-1)


class Precision(MetricBase):
    """Share of predicted positives that are positive; predictions are rounded."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.tp = 0
        self.fp = 0

    def update(self, preds: Any, labels: Any) -> None:
        found, wanted = _binary(preds, labels)
        self.tp += int(((found == 1) & (wanted == found)).sum())
        self.fp += int(((found == 1) & (wanted != found)).sum())

    def eval(self) -> float:
        total = self.tp + self.fp
        return self.tp / total if total else 0.0


class Recall(MetricBase):
    """Share of positives that are predicted; predictions are rounded."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.tp = 0
        self.fn = 0

    def update(self, preds: Any, labels: Any) -> None:
        found, wanted = _binary(preds, labels)
        self.tp += int(((wanted == 1) & (wanted == found)).sum())
        self.fn += int(((wanted == 1) & (wanted != found)).sum())

    def eval(self) -> float:
        total = self.tp + self.fn
        return self.tp / total if total else 0.0


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.generic)) or (isinstance(value, np.ndarray) and value.shape == (1,))


class Accuracy(MetricBase):
    """Weighted mean of the accuracies of batches."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.value: Any = 0.0
        self.weight: Any = 0.0

    def update(self, value: Any, weight: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not (_is_number(value) or isinstance(value, np.ndarray)):
            raise ValueError("The 'value' must be a number(int, float) or a numpy ndarray.")
        if not _is_number(weight):
            raise ValueError("The 'weight' must be a number(int, float).")
        if weight < 0:
            raise ValueError("The 'weight' can not be negative")
        self.value += value * weight
        self.weight += weight

    def eval(self) -> Any:
        if self.weight == 0:
            raise ValueError(
                "There is no data in Accuracy Metrics. Please check layers.accuracy output has added to Accuracy."
            )
        return self.value / self.weight


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, from the counts of `layers.chunk_eval`."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.num_infer_chunks: Any = 0
        self.num_label_chunks: Any = 0
        self.num_correct_chunks: Any = 0

    def update(self, num_infer_chunks: Any, num_label_chunks: Any, num_correct_chunks: Any) -> None:  # type: ignore[override]
        counts = {
            "num_infer_chunks": num_infer_chunks,
            "num_label_chunks": num_label_chunks,
            "num_correct_chunks": num_correct_chunks,
        }
        for name, count in counts.items():
            if not (_is_number(count) or isinstance(count, np.ndarray)):
                raise ValueError(f"The '{name}' must be a number(int) or a numpy ndarray.")
            setattr(self, name, getattr(self, name) + count)

    def eval(self) -> tuple[Any, Any, Any]:
        precision = self.num_correct_chunks / self.num_infer_chunks if self.num_infer_chunks else 0
        recall = self.num_correct_chunks / self.num_label_chunks if self.num_label_chunks else 0
        f1 = 2 * precision * recall / (precision + recall) if self.num_correct_chunks else 0
        return precision, recall, f1


class EditDistance(MetricBase):
    """Mean edit distance and the share of sequences that are not right, from `layers.edit_distance`."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num: Any = 0
        self.instance_error: Any = 0

    def update(self, distances: Any, seq_num: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not isinstance(distances, np.ndarray):
            raise ValueError("The 'distances' must be a numpy ndarray.")
        if not _is_number(seq_num):
            raise ValueError("The 'seq_num' must be a number(int, float).")
        self.seq_num = self.seq_num + seq_num  # an array stays one, and so do the results
        self.instance_error = self.instance_error + (seq_num - int((distances == 0).sum()))
        self.total_distance += float(distances.sum())

    def eval(self) -> tuple[Any, Any]:
        if self.seq_num == 0:
            raise ValueError(
                "There is no data in EditDistance Metric. Please check layers.edit_distance output has been added to "
                "EditDistance."
            )
        return self.total_distance / self.seq_num, self.instance_error / (self.seq_num * 1.0)


class Auc(MetricBase):
    """Area under the ROC curve, from histograms of the positive class's probability."""

    def __init__(self, name: str | None = None, curve: str = "ROC", num_thresholds: int = 4095) -> None:
        super().__init__(name)
        if curve != "ROC":  # Fluid: the same area, whatever is asked for
            warn_like_fluid("metrics.Auc", f"the curve is ROC, not {curve}")
        self._curve = curve
        self._num_thresholds = num_thresholds
        self._stat_pos = np.zeros(num_thresholds + 1, np.int64)
        self._stat_neg = np.zeros(num_thresholds + 1, np.int64)

    def reset(self, *, counts: bool = False) -> None:
        """Begin again.

        Fluid: 1.8 keeps the counts, so that the area goes on over all batches; `counts=True` empties them.
        """
        if era().auc_reset_keeps_counts and not counts:
            if self._stat_pos.any() or self._stat_neg.any():
                warn_like_fluid(
                    "metrics.Auc.reset",
                    "reset() keeps the counts, the area is that of all batches so far; reset(counts=True) empties them",
                )
            return
        self._stat_pos[:] = 0
        self._stat_neg[:] = 0

    def update(self, preds: Any, labels: Any) -> None:
        """Count a batch: preds [n, 2] with the positive class's probability in column 1, labels 0 or 1."""
        if not isinstance(labels, np.ndarray):
            raise ValueError("The 'labels' must be a numpy ndarray.")
        if not isinstance(preds, np.ndarray):
            raise ValueError("The 'predictions' must be a numpy ndarray.")
        bins = (preds[:, 1] * self._num_thresholds).astype(np.int64)
        if bins.size and not (bins.min() >= 0 and bins.max() <= self._num_thresholds):
            raise ValueError("Auc.update: the probabilities in preds[:, 1] must lie in [0, 1]")
        positive = labels.reshape(-1).astype(bool)
        self._stat_pos += np.bincount(bins[positive], minlength=self._num_thresholds + 1)
        self._stat_neg += np.bincount(bins[~positive], minlength=self._num_thresholds + 1)

    @staticmethod
    def trapezoid_area(x1: float, x2: float, y1: float, y2: float) -> float:
        return abs(x1 - x2) * (y1 + y2) / 2.0

    def eval(self) -> float:
        positives = np.concatenate([[0], np.cumsum(self._stat_pos[::-1])]).astype(np.float64)
        negatives = np.concatenate([[0], np.cumsum(self._stat_neg[::-1])]).astype(np.float64)
        if not (positives[-1] and negatives[-1]):
            return 0.0
        area = (np.diff(negatives) * (positives[1:] + positives[:-1]) / 2.0).sum()
        return float(area / positives[-1] / negatives[-1])
