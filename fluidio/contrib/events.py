"""The events that a Trainer passes to its handler."""

from __future__ import annotations

from typing import Any

__all__ = ["BeginEpochEvent", "BeginStepEvent", "EndEpochEvent", "EndStepEvent"]


class BeginEpochEvent:
    """An epoch begins."""

    def __init__(self, epoch_id: int) -> None:
        self.epoch = epoch_id


class EndEpochEvent:
    """An epoch is over."""

    def __init__(self, epoch_id: int) -> None:
        self.epoch = epoch_id


class BeginStepEvent:
    """A step begins; set `fetch_metrics` to False to skip the metrics of this step."""

    def __init__(self, epoch_id: int, step_id: int) -> None:
        self.epoch = epoch_id
        self.step = step_id
        self.fetch_metrics = True


class EndStepEvent:
    """A step is over; `metrics` are the values that `train_func` returned."""

    def __init__(self, epoch_id: int, step_id: int, metrics: list[Any]) -> None:
        self.epoch = epoch_id
        self.step = step_id
        self.metrics = metrics
