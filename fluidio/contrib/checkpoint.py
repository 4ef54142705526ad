"""Checkpoints of a Trainer: numbered folders of persistables with the place in the training."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from fluidio.io import load_persistables, save_persistables
from fluidio.program import Program

if TYPE_CHECKING:
    from fluidio.executor import Executor


__all__ = ["CheckpointConfig", "clean", "latest", "restore", "store"]


class CheckpointConfig:
    """Where and how often a Trainer keeps checkpoints.

    Args:
        checkpoint_dir: the folder; the current one by default.
        max_num_checkpoints: how many to keep.
        epoch_interval: keep one every so many epochs.
        step_interval: keep one every so many steps of such an epoch.
    """

    def __init__(
        self,
        checkpoint_dir: str | None = None,
        max_num_checkpoints: int = 3,
        epoch_interval: int = 1,
        step_interval: int = 10,
    ) -> None:
        for what, value in (("epoch_interval", epoch_interval), ("step_interval", step_interval)):
            if not isinstance(value, int) or value < 1:
                raise AssertionError(f"{what} must be a positive number, got {value!r}")
        self.checkpoint_dir = checkpoint_dir if checkpoint_dir is not None else os.getcwd()
        self.max_num_checkpoints = max_num_checkpoints
        self.epoch_interval = epoch_interval
        self.step_interval = step_interval
        self.epoch_id = 0
        self.step_id = 0
        self.load_serial: int | None = None

    def is_due(self, epoch: int, step: int) -> bool:
        return epoch % self.epoch_interval == 0 and step % self.step_interval == 0

    def is_done(self, epoch: int, step: int) -> bool:
        """Tell whether a step came before the checkpoint that the training goes on from."""
        return self.load_serial is not None and epoch == self.epoch_id and step <= self.step_id


def _folder(config: CheckpointConfig, serial: int) -> str:
    return os.path.join(config.checkpoint_dir, f"checkpoint_{serial}")


def _serials(config: CheckpointConfig) -> list[int]:
    """Return the numbers of the whole checkpoints, oldest first."""
    if not os.path.isdir(config.checkpoint_dir):
        return []
    found = []
    for name in os.listdir(config.checkpoint_dir):
        head, _, number = name.rpartition("_")
        if head == "checkpoint" and number.isdigit() and os.path.exists(_mark(config, int(number))):
            found.append(int(number))
    return sorted(found)


def _mark(config: CheckpointConfig, serial: int) -> str:
    return os.path.join(_folder(config, serial), "_SUCCESS")


def latest(config: CheckpointConfig) -> int | None:
    """Return the number of the newest whole checkpoint."""
    serials = _serials(config)
    return serials[-1] if serials else None


def store(executor: Executor, config: CheckpointConfig, program: Program, epoch: int, step: int) -> None:
    """Write a checkpoint, mark it as whole, and remove the oldest ones."""
    newest = latest(config)
    serial = 0 if newest is None else newest + 1
    folder = _folder(config, serial)
    shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed while writing
    save_persistables(executor, os.path.join(folder, "__model__"), program)
    with open(_mark(config, serial), "w", encoding="utf-8") as file:
        json.dump({"epoch_id": epoch, "step_id": step}, file)
    for old in _serials(config)[: -max(config.max_num_checkpoints, 1)]:
        shutil.rmtree(_folder(config, old))


def restore(executor: Executor, config: CheckpointConfig, program: Program) -> bool:
    """Load the newest checkpoint and set the place to go on from; False if there is none."""
    serial = latest(config)
    if serial is None:
        return False
    load_persistables(executor, os.path.join(_folder(config, serial), "__model__"), program)
    with open(_mark(config, serial), encoding="utf-8") as file:
        place = json.load(file)
    config.epoch_id, config.step_id, config.load_serial = int(place["epoch_id"]), int(place["step_id"]), serial
    return True


def clean(config: CheckpointConfig) -> None:
    """Remove the checkpoints of a training that has ended."""
    for serial in _serials(config):
        shutil.rmtree(_folder(config, serial))
