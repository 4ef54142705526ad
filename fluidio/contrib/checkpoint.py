"""When a Trainer writes checkpoints, and where it resumes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fluidio.io.numbered import (
    clean_checkpoint,
    get_latest_checkpoint_serial,
    load_checkpoint,
    load_trainer_args,
    save_checkpoint,
)
from fluidio.program import Program

if TYPE_CHECKING:
    from fluidio.executor import Executor


__all__ = ["CheckpointConfig", "clean", "restore", "store"]


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
                raise AssertionError(f"CheckpointConfig: {what} must be a number above 0, got {value!r}")
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
        """Return whether a step came before the checkpoint from which training resumes."""
        return self.load_serial is not None and epoch == self.epoch_id and step <= self.step_id


def store(executor: Executor, config: CheckpointConfig, program: Program, epoch: int, step: int) -> None:
    """Write a checkpoint, mark it complete, and remove the oldest ones."""
    notes = {"epoch_id": epoch, "step_id": step}
    save_checkpoint(executor, config.checkpoint_dir, 0, program, notes, config.max_num_checkpoints)


def restore(executor: Executor, config: CheckpointConfig, program: Program) -> bool:
    """Load the newest checkpoint and set where to resume; False if there is none."""
    serial = get_latest_checkpoint_serial(config.checkpoint_dir)
    if serial < 0:
        return False
    load_checkpoint(executor, config.checkpoint_dir, serial, program)
    epoch, step = load_trainer_args(config.checkpoint_dir, serial, 0, ["epoch_id", "step_id"])
    config.epoch_id, config.step_id, config.load_serial = int(epoch), int(step), serial
    return True


def clean(config: CheckpointConfig) -> None:
    """Remove the checkpoints of a finished run."""
    clean_checkpoint(config.checkpoint_dir)
