"""The numbered checkpoints of Fluid 0.14 and 0.15, for `fluid.Trainer` and for scripts that write them by themselves.

DIR/checkpoint_0/__model__/NAME     a file for each persistable
DIR/checkpoint_0/__model__/_SUCCESS written last: the checkpoint is whole
DIR/checkpoint_0/trainer_0/NAME     what a trainer noted, such as the number of the step
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fluidio.io.loading import load_persistables
from fluidio.io.saving import save_persistables
from fluidio.program import Program

if TYPE_CHECKING:
    from fluidio.executor import Executor

__all__ = [
    "clean_checkpoint",
    "get_latest_checkpoint_serial",
    "load_checkpoint",
    "load_persist_vars_without_grad",
    "save_checkpoint",
    "save_persist_vars_without_grad",
]


def serial_folder(checkpoint_dir: str, serial: int) -> str:
    """Return the folder of a checkpoint."""
    return os.path.join(checkpoint_dir, f"checkpoint_{serial}")


def serials(checkpoint_dir: str) -> list[int]:
    """Return the numbers of the whole checkpoints, oldest first."""
    if not os.path.isdir(checkpoint_dir):
        return []
    found = []
    for name in os.listdir(checkpoint_dir):
        match = re.fullmatch("checkpoint_(0|[1-9][0-9]*)", name)
        if match and os.path.exists(os.path.join(checkpoint_dir, name, "__model__", "_SUCCESS")):
            found.append(int(match[1]))
    return sorted(found)


def get_latest_checkpoint_serial(checkpoint_dir: str) -> int:
    """Return the number of the newest whole checkpoint, -1 if there is none."""
    return max(serials(checkpoint_dir), default=-1)


def save_persist_vars_without_grad(executor: Executor, dirname: str, program: Program) -> None:
    """Write the persistables of a program to the folder `__model__` and mark it as whole."""
    folder = os.path.join(dirname, "__model__")
    save_persistables(executor, folder, program)
    with open(os.path.join(folder, "_SUCCESS"), "w", encoding="utf-8") as file:
        file.write(time.ctime())


def load_persist_vars_without_grad(
    executor: Executor, dirname: str, program: Program, has_model_dir: bool = False
) -> None:
    """Load the persistables of a program from a folder, or from `__model__` in it."""
    load_persistables(executor, os.path.join(dirname, "__model__") if has_model_dir else dirname, program)


def save_checkpoint(
    executor: Executor,
    checkpoint_dir: str,
    trainer_id: int,
    main_program: Program,
    trainer_args: Mapping[str, object] | None = None,
    max_num_checkpoints: int = 3,
    lookup_table: str | None = None,
    pserver_endpoints: object = None,
) -> None:
    """Write the next checkpoint and remove the oldest ones; the first trainer writes the parameters."""
    if lookup_table is not None:
        raise NotImplementedError(f"save_checkpoint cannot save tables of parameter servers ({lookup_table!r})")
    serial = get_latest_checkpoint_serial(checkpoint_dir) + 1
    folder = serial_folder(checkpoint_dir, serial)
    if trainer_id == 0:
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed while writing
    notes = os.path.join(folder, f"trainer_{trainer_id}")
    os.makedirs(notes, exist_ok=True)
    for name, value in (trainer_args or {}).items():
        with open(os.path.join(notes, name), "w", encoding="utf-8") as file:
            file.write(str(value))
    if trainer_id == 0:
        save_persist_vars_without_grad(executor, folder, main_program)
        for old in serials(checkpoint_dir)[: -max(max_num_checkpoints, 1)]:
            shutil.rmtree(serial_folder(checkpoint_dir, old))


def load_checkpoint(
    executor: Executor, checkpoint_dir: str, serial: int | Program, main_program: Program | None = None
) -> None:
    """Load a checkpoint; `load_checkpoint(executor, folder, program)`, the form of 0.15, loads the newest."""
    if isinstance(serial, Program):
        main_program = serial
        serial = get_latest_checkpoint_serial(checkpoint_dir)
    if main_program is None or serial < 0:
        return
    load_persist_vars_without_grad(executor, serial_folder(checkpoint_dir, serial), main_program, True)


def load_trainer_args(checkpoint_dir: str, serial: int, trainer_id: int, trainer_args: Iterable[str]) -> list[str]:
    """Return what a trainer noted under some names, as text."""
    found = []
    for name in trainer_args:
        path = os.path.join(serial_folder(checkpoint_dir, serial), f"trainer_{trainer_id}", name)
        with open(path, encoding="utf-8") as file:
            found.append(file.read().strip())
    return found


def clean_checkpoint(checkpoint_dir: str, delete_dir: bool = False) -> None:
    """Remove all checkpoints, and the folder if nothing else is in it."""
    for serial in serials(checkpoint_dir):
        shutil.rmtree(serial_folder(checkpoint_dir, serial))
    if delete_dir and os.path.isdir(checkpoint_dir) and not os.listdir(checkpoint_dir):
        os.rmdir(checkpoint_dir)
