"""Processes that are killed at any moment while they write: what was finished stays, nothing is doubled.

python -m tests.fuzz.kills WORK FOLDER      do some work for ever, saying what is finished
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fluidio as fluid
from fluidio import recordio
from fluidio.recordio.files.part_files import remove_dead_parts
from fluidio.recordio.format.chunks import ChunkReader

ROOT = Path(__file__).resolve().parents[2]


def _say(number: int) -> None:
    os.write(1, b"%d\n" % number)


def append(folder: str) -> None:
    """Append records that tell their number, and say each that was flushed."""
    path = f"{folder}/a.recordio"
    number = _count(path)
    with recordio.Writer(path, "snappy", 3, mode="a") as writer:
        while True:
            for _ in range(5):
                writer.write(b"%d" % number)
                number += 1
            writer.flush()
            _say(number)


def _count(path: str) -> int:
    if not os.path.exists(path):
        return 0
    with ChunkReader(path, on_error="skip") as chunks:
        return sum(len(chunk.records()) for chunk in chunks)


def check_appended(folder: str, said: int) -> None:
    with recordio.File(f"{folder}/a.recordio", on_error="skip") as file:
        found = [int(record) for record in file]
    assert found == list(range(len(found))), "lost, doubled or out of order"
    assert len(found) >= said, f"{said} were finished, {len(found)} are there"


def replace(folder: str) -> None:
    """Write one file again and again, each time with another content."""
    number = 0
    while True:
        with recordio.Writer(f"{folder}/b.recordio", "none", 2, atomic=True) as writer:
            for _ in range(7):
                writer.write(b"%d" % number)
        _say(number)
        number += 1


def check_replaced(folder: str, said: int) -> None:
    if said < 0 and not os.path.exists(f"{folder}/b.recordio"):
        return
    with recordio.File(f"{folder}/b.recordio") as file:
        found = [int(record) for record in file]
    assert len(found) == 7 and len(set(found)) == 1


def save(folder: str) -> None:
    """Save a model again and again, all variables filled with the number of the save."""
    exe, number = _model(), 0
    while True:
        _fill(number)
        fluid.io.save_persistables(exe, f"{folder}/model")
        _say(number)
        number += 1


def check_saved(folder: str, said: int) -> None:
    if said < 0:
        return
    exe = _model()
    fluid.io.load_persistables(exe, f"{folder}/model")
    names = [v.name for v in fluid.default_main_program().list_vars() if v.persistable]
    found = {float(x) for n in names for x in np.array(fluid.global_scope().var(n).get_tensor()).flat}
    assert len(found) == 1, f"several generations: {found}"
    assert found.pop() >= said


def _model() -> fluid.Executor:
    for program in (fluid.Program(), fluid.Program()):
        fluid.framework.switch_main_program(program)
    fluid.framework.switch_startup_program(fluid.Program())
    with fluid.unique_name.guard():
        y = fluid.layers.fc(fluid.layers.data("x", [3]), 4)
        fluid.optimizer.Adam(0.1).minimize(fluid.layers.mean(y))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe


def _fill(value: float) -> None:
    for variable in fluid.default_main_program().list_vars():
        if variable.persistable:
            tensor = fluid.global_scope().var(variable.name).get_tensor()
            tensor.set(np.full(tensor.shape(), value, np.array(tensor).dtype), fluid.CPUPlace())


WORK: dict[str, tuple[Callable[[str], None], Callable[[str, int], None]]] = {
    "append": (append, check_appended),
    "replace": (replace, check_replaced),
    "save": (save, check_saved),
}


def kill_once(work: str, folder: str, chance: random.Random) -> None:
    """Start the work, kill it a moment after it has begun, and look at what it left."""
    command = [sys.executable, "-m", "tests.fuzz.kills", work, folder]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
    whole = (first + rest).rpartition(b"\n")[0].split()
    WORK[work][1](folder, int(whole[-1]) if whole else -1)
    remove_dead_parts(folder)
    left = [name for name in os.listdir(folder) if name.startswith(".") and not name.endswith(".index")]
    assert not left, f"left behind: {left}"


if __name__ == "__main__":
    WORK[sys.argv[1]][0](sys.argv[2])
