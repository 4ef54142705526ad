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
    """Base class: attributes without a leading underscore are the state, which `reset` clears."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name if name is not None else type(self).__name__

    def __str__(self) -> str:
        return self._name

    def _states(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def reset(self) -> None:
        """Start over: numbers become 0, arrays zeros, everything else None."""
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
        raise NotImplementedError(f"{type(self).__name__} must define update()")

    def eval(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define eval()")


class CompositeMetric(MetricBase):
    """Several metrics, updated together."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._metrics: list[MetricBase] = []

    def add_metric(self, metric: MetricBase) -> None:
        if not isinstance(metric, MetricBase):
            raise ValueError(f"CompositeMetric.add_metric takes a metric of fluid.metrics, got {type(metric).__name__}")
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
        raise ValueError(f"update: preds must be a NumPy array, got {type(preds).__name__}")
    if not isinstance(labels, np.ndarray):
        raise ValueError(f"update: labels must be a NumPy array, got {type(labels).__name__}")
    return np.rint(preds).astype(np.int32).reshape(-1), labels.reshape(-1)


class Precision(MetricBase):
    """The fraction of predicted positives that are positive; predictions are rounded."""

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
    """The fraction of positives that are predicted; predictions are rounded."""

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
    """The weighted mean of the accuracies of batches."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.value: Any = 0.0
        self.weight: Any = 0.0

    def update(self, value: Any, weight: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not (_is_number(value) or isinstance(value, np.ndarray)):
            raise ValueError(f"Accuracy.update: value must be a number or a NumPy array, got {type(value).__name__}")
        if not _is_number(weight):
            raise ValueError(f"Accuracy.update: weight must be a number, got {type(weight).__name__}")
        if weight < 0:
            raise ValueError(f"Accuracy.update: weight must not be negative, got {weight}")
        self.value += value * weight
        self.weight += weight

    def eval(self) -> Any:
        if self.weight == 0:
            raise ValueError(
                "Accuracy.eval: there was no batch since reset(): pass update() the results of layers.accuracy"
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
                raise ValueError(
                    f"ChunkEvaluator.update: {name} must be a number or a NumPy array, got {type(count).__name__}"
                )
            setattr(self, name, getattr(self, name) + count)

    def eval(self) -> tuple[Any, Any, Any]:
        precision = self.num_correct_chunks / self.num_infer_chunks if self.num_infer_chunks else 0
        recall = self.num_correct_chunks / self.num_label_chunks if self.num_label_chunks else 0
        f1 = 2 * precision * recall / (precision + recall) if self.num_correct_chunks else 0
        return precision, recall, f1


class EditDistance(MetricBase):
    """The mean edit distance and the fraction of wrong sequences, from `layers.edit_distance`."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num: Any = 0
        self.instance_error: Any = 0

    def update(self, distances: Any, seq_num: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not isinstance(distances, np.ndarray):
            raise ValueError(f"EditDistance.update: distances must be a NumPy array, got {type(distances).__name__}")
        if not _is_number(seq_num):
            raise ValueError(f"EditDistance.update: seq_num must be a number, got {type(seq_num).__name__}")
        self.seq_num = self.seq_num + seq_num  # an array stays an array, and so do the results
        self.instance_error = self.instance_error + (seq_num - int((distances == 0).sum()))
        self.total_distance += float(distances.sum())

    def eval(self) -> tuple[Any, Any]:
        if self.seq_num == 0:
            raise ValueError(
                "EditDistance.eval: there was no sequence since reset(): pass update() the results of "
                "layers.edit_distance"
            )
        return self.total_distance / self.seq_num, self.instance_error / (self.seq_num * 1.0)


class Auc(MetricBase):
    """Area under the ROC curve, from histograms of the positive class's probability."""

    def __init__(self, name: str | None = None, curve: str = "ROC", num_thresholds: int = 4095) -> None:
        super().__init__(name)
        if curve != "ROC":  # Fluid: always the same curve
            warn_like_fluid("metrics.Auc", f"the curve is always ROC, although {curve} was asked for")
        self._curve = curve
        self._num_thresholds = num_thresholds
        self._stat_pos = np.zeros(num_thresholds + 1, np.int64)
        self._stat_neg = np.zeros(num_thresholds + 1, np.int64)

    def reset(self, *, counts: bool = False) -> None:
        """Start over.

        Fluid: 1.8 keeps the counts, so that the area covers all earlier batches; `counts=True` clears them.
        """
        if era().auc_reset_keeps_counts and not counts:
            if self._stat_pos.any() or self._stat_neg.any():
                warn_like_fluid(
                    "metrics.Auc.reset",
                    "reset() keeps the counts, so the area covers all batches so far; reset(counts=True) clears them",
                )
            return
        self._stat_pos[:] = 0
        self._stat_neg[:] = 0

    def update(self, preds: Any, labels: Any) -> None:
        """Count a batch: preds [n, 2] with the positive class's probability in column 1, labels 0 or 1."""
        if not isinstance(labels, np.ndarray):
            raise ValueError(f"Auc.update: labels must be a NumPy array, got {type(labels).__name__}")
        if not isinstance(preds, np.ndarray):
            raise ValueError(f"Auc.update: preds must be a NumPy array, got {type(preds).__name__}")
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
