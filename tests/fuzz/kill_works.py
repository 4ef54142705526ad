"""Work that is killed: what to do for ever, and what must hold afterwards."""

from __future__ import annotations

import glob
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fluidio as fluid
from fluidio import pickles, recordio
from fluidio.conversion import convert, generate, read_rows
from fluidio.conversion.copying import copy
from fluidio.conversion.export import export
from fluidio.conversion.reshard import split
from fluidio.errors import ConversionError, RecordIOError
from fluidio.recordio.files.part_files import remove_dead_parts
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.sidecar import open_index, sidecar_path
from fluidio.recordio.format.chunks import ChunkReader

Say = Callable[[int], None]
Run = Callable[[str, Say], None]

INDEXED = 4096  # chunks from which on a reader keeps an index beside the data
ROWS = 300


class Work(NamedTuple):
    run: Run  # for ever; says -1 when it begins, then the number of all that is finished
    check: Callable[[str, int], None]  # with what was said last, -1 for nothing
    leaves: Callable[[str], set[str]]  # hidden files that may stay


# -- one file ----------------------------------------------------------------------------------------------------------


def append(folder: str, say: Say) -> None:
    """Append records that tell their number, and say each that was flushed."""
    say(-1)
    path = f"{folder}/a.recordio"
    number = _count(path)
    with recordio.Writer(path, "snappy", 3, mode="a") as writer:
        while True:
            for _ in range(5):
                writer.write(b"%d" % number)
                number += 1
            writer.flush()
            say(number)


def _count(path: str) -> int:
    if not os.path.exists(path):
        return 0
    with ChunkReader(path, on_error="skip") as chunks:
        return sum(len(chunk.records()) for chunk in chunks)


def check_appended(folder: str, said: int) -> None:
    path = f"{folder}/a.recordio"
    if said < 0 and not os.path.exists(path):
        return
    with recordio.File(path, on_error="skip") as file:
        found = [int(record) for record in file]
    assert found == list(range(len(found))), "lost, doubled or out of order"
    assert len(found) >= said, f"{said} were finished, {len(found)} are there"
    remove_dead_parts(folder)
    with recordio.Writer(path, "snappy", 3, mode="a") as writer:  # which cuts a torn chunk off
        writer.write(b"%d" % len(found))
    with recordio.File(path) as file:
        assert len(file) == len(found) + 1 and file.get(len(found)) == b"%d" % len(found)


def index_of_many_chunks(folder: str) -> set[str]:
    """Return the index that `recordio.File` keeps beside a file of many chunks."""
    path = f"{folder}/a.recordio"
    if not os.path.exists(path) or open_index(path, sidecar=False, on_error="skip").num_chunks < INDEXED:
        return set()
    return {os.path.basename(sidecar_path(path))}


def replace(folder: str, say: Say) -> None:
    """Write one file again and again, each time with another content."""
    say(-1)
    for number in itertools.count():
        with recordio.Writer(f"{folder}/b.recordio", "none", 2, atomic=True) as writer:
            for _ in range(7):
                writer.write(b"%d" % number)
        say(number)


def check_replaced(folder: str, said: int) -> None:
    remove_dead_parts(folder)
    if said < 0 and not os.path.exists(f"{folder}/b.recordio"):
        return
    with recordio.File(f"{folder}/b.recordio") as file:
        found = [int(record) for record in file]
    assert len(found) == 7 and len(set(found)) == 1
    assert found[0] in (said, said + 1) or said < 0


# -- models ------------------------------------------------------------------------------------------------------------


def _saving(save: Callable[[fluid.Executor, str], None]) -> Run:
    def run(folder: str, say: Say) -> None:
        exe = _model()
        say(-1)
        for number in itertools.count():
            _fill(number)
            save(exe, f"{folder}/model")
            say(number)

    return run


def _loading(
    save: Callable[[fluid.Executor, str], None], load: Callable[[fluid.Executor, str], None]
) -> Callable[[str, int], None]:
    def check(folder: str, said: int) -> None:
        exe = _model()
        if said >= 0:
            _fill(-5)
            load(exe, f"{folder}/model")
            found = set(_values())
            assert len(found) == 1, f"several generations: {found}"
            assert found <= {said, said + 1}, f"{said} was saved, {found} is there"
        _fill(-7)
        save(exe, f"{folder}/model")  # the next run
        _fill(-5)
        load(exe, f"{folder}/model")
        assert set(_values()) == {-7}
        left = [name for _, _, names in os.walk(folder) for name in names if name.startswith(".")]
        assert not left, f"left behind: {left}"

    return check


def _save_params(exe: fluid.Executor, path: str) -> None:
    fluid.io.save_persistables(exe, path)


def _load_params(exe: fluid.Executor, path: str) -> None:
    fluid.io.load_persistables(exe, path)


def _save_state(exe: fluid.Executor, path: str) -> None:
    fluid.save(fluid.default_main_program(), path)


def _load_state(exe: fluid.Executor, path: str) -> None:
    fluid.load(fluid.default_main_program(), path, exe)


def _model() -> fluid.Executor:
    fluid.framework.switch_main_program(fluid.Program())
    fluid.framework.switch_startup_program(fluid.Program())
    with fluid.unique_name.guard():
        y = fluid.layers.fc(fluid.layers.data("x", [3]), 4)
        fluid.optimizer.Adam(0.1).minimize(fluid.layers.mean(y))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe


def warm_up() -> None:
    """Import what models need, so that each process has it."""
    _model()


def _tensors() -> list[Any]:
    variables = fluid.default_main_program().list_vars()
    return [fluid.global_scope().var(v.name).get_tensor() for v in variables if v.persistable]


def _fill(value: float) -> None:
    for tensor in _tensors():
        tensor.set(np.full(tensor.shape(), value, np.array(tensor).dtype), fluid.CPUPlace())


def _values() -> Iterator[float]:
    return (float(x) for tensor in _tensors() for x in np.array(tensor).flat)


# -- sets of shards ----------------------------------------------------------------------------------------------------


def _read(pattern: str) -> list[Any] | None:
    """Return the numbers of all records of a set, sorted; None where it is refused or not there."""
    try:
        paths = expand([pattern])
    except (RecordIOError, OSError):
        return None
    found = []
    for path in paths:
        with recordio.File(path) as file:
            found += [pickles.loads(record) for record in file]
    return sorted(found)


def _samples(generation: int) -> Iterator[tuple[int, int]]:
    return ((row, generation) for row in range(ROWS))


def _is_one_generation(found: list[Any] | None) -> None:
    if found is not None:
        assert found == [(number, found[0][1]) for number in range(ROWS)], "lost, doubled or mixed"


def convert_again(folder: str, say: Say) -> None:
    """Make a set again and again, with another number of shards each time."""
    say(-1)
    for number in itertools.count():
        convert(folder, partial(_samples, number), 1 + number % 3, "set")
        say(number)


def check_converted(folder: str, said: int) -> None:
    _is_one_generation(_read(f"{folder}/set-*-of-*"))
    convert(folder, partial(_samples, -1), 2, "set")
    assert _read(f"{folder}/set-*-of-*") == [(row, -1) for row in range(ROWS)]


def _sources(folder: str) -> list[str]:
    return _made(f"{folder}/from", 0, 3)


def _made(folder: str, number: int, shards: int) -> list[str]:
    """Return a set that holds a number, made where a killed process has not finished it."""
    paths = sorted(glob.glob(f"{folder}/set-*-of-*"))
    if len(paths) < shards:
        return convert(folder, partial(_samples, number), shards, "set")
    return paths


def split_again(folder: str, say: Say) -> None:
    """Split a set into another number of shards each time."""
    say(-1)
    for number in itertools.count():
        split(_sources(folder), f"{folder}/out", 1 + number % 5)
        say(number)


def check_split(folder: str, said: int) -> None:
    _is_one_generation(_read(f"{folder}/out-*-of-*"))
    split(_sources(folder), f"{folder}/out", 4)
    assert _read(f"{folder}/out-*-of-*") == [(row, 0) for row in range(ROWS)]


def copy_again(folder: str, say: Say) -> None:
    """Copy sets of two and three shards in turn."""
    say(-1)
    for number in itertools.count():
        copy(_made(f"{folder}/from-{number % 2}", number % 2, 2 + number % 2), f"{folder}/to")
        say(number)


def check_copied(folder: str, said: int) -> None:
    _is_one_generation(_read(f"{folder}/to/set-*-of-*"))
    copy(_made(f"{folder}/from-9", 9, 4), f"{folder}/to")
    assert _read(f"{folder}/to/set-*-of-*") == [(row, 9) for row in range(ROWS)]
    left = [name for name in os.listdir(f"{folder}/to") if name.startswith(".")]
    assert not left, f"left behind: {left}"


def export_again(folder: str, say: Say) -> None:
    """Export sets of two and three shards to TFRecord in turn, onto each other."""
    say(-1)
    for number in itertools.count():
        made = _made(f"{folder}/from-{number % 3}", number % 3, 2 + number % 2)
        export(made, "tfrecord", f"{folder}/to")
        say(number)


def check_exported(folder: str, said: int) -> None:
    _is_one_generation(_exported(folder))
    export(_made(f"{folder}/from-9", 9, 4), "tfrecord", f"{folder}/to")
    assert _exported(folder) == [(row, 9) for row in range(ROWS)]
    left = [name for name in os.listdir(f"{folder}/to") if name.startswith(".")]
    assert not left, f"left behind: {left}"


def _exported(folder: str) -> list[Any] | None:
    """Return the samples of an exported set, None where it is refused or not there."""
    try:
        paths = expand([f"{folder}/to/set-*.tfrecord"])
    except (RecordIOError, OSError):
        return None
    shutil.rmtree(f"{folder}/back", ignore_errors=True)
    columns = recordio.load(export(paths, "recordio", f"{folder}/back"))
    return sorted(zip(*(column.data.reshape(-1).tolist() for column in columns)))


TEMPLATE = f"""
def task_number():
    return 3

def dict_data(task):
    for row in range(task, {ROWS}, 3):
        yield {{"row": row}}
"""


def generate_again(folder: str, say: Say) -> None:
    """Make a set by a template in worker processes, going on with what a killed one left."""
    Path(f"{folder}/template.py").write_text(TEMPLATE)
    say(-1)
    for number in itertools.count():
        try:
            generate(f"{folder}/template.py", f"{folder}/made", 2, workers=2, restart=number > 0)
        except ConversionError:  # left by a check, with other partitions
            generate(f"{folder}/template.py", f"{folder}/made", 2, workers=2, restart=True)
        say(number)


def check_generated(folder: str, said: int) -> None:
    if not os.path.exists(f"{folder}/template.py"):
        return
    try:
        paths = expand([f"{folder}/made-*-of-*"])
    except (RecordIOError, OSError):
        paths = []
    if paths:
        assert sum(len(recordio.File(path)) for path in paths) == ROWS
    try:
        generate(f"{folder}/template.py", f"{folder}/made", 2, workers=1)
    except ConversionError:
        generate(f"{folder}/template.py", f"{folder}/made", 2, workers=1, restart=True)
    assert sorted(row["row"] for row in read_rows(f"{folder}/made")) == list(range(ROWS))


def nothing(folder: str) -> set[str]:
    return set()


WORK = {
    "append": Work(append, check_appended, index_of_many_chunks),
    "replace": Work(replace, check_replaced, nothing),
    "save": Work(_saving(_save_params), _loading(_save_params, _load_params), nothing),
    "save_state": Work(_saving(_save_state), _loading(_save_state, _load_state), nothing),
    "convert": Work(convert_again, check_converted, nothing),
    "split": Work(split_again, check_split, nothing),
    "export": Work(export_again, check_exported, nothing),
    "copy": Work(copy_again, check_copied, nothing),
    "generate": Work(generate_again, check_generated, nothing),
}
