"""Whole commands on a folder in which one file is damaged: one line and a status, never a traceback."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import random
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.cli import main
from fluidio.conversion import generate
from fluidio.conversion.export import export
from fluidio.conversion.formats import of_name
from fluidio.models.safetensors import write_safetensors
from fluidio.models.stored import in_memory

Files = dict[str, bytes]

AT_ONCE = 4  # commands for one input
SET = "set-00000-of-00000"
_LOOKING = [
    "inspect {0}",
    "inspect --verify --json {0}",
    "check {0}",
    "records head {0}",
    "records cat --json {0}",
    "records count --json {0}",
    "records stats {0}",
    "records sample {0} -n 2 --seed 1",
    "records diff {0} {0}",
    "view {0} --no-open --output made/page.html",
]
_MAKING = [
    "records filter label>1 {0} --output made/f/x",
    "records select label {0} --output made/s/x --shards 2",
    "records sort {0} --by text --output made/o/x",
    "records split {0} --shards 2 --output made/p/x",
    "records shuffle {0} --shards 2 --output made/h/x --seed 1",
    "records recompress {0} --compressor none --output made/r",
    "cp {0} made/c",
    "export {0} --to tfrecord --output made/t",
    "export {0} --to webdataset --output made/w",
    "export {0} --to npz --output made/n",
]
_MODEL = [
    "model inspect model",
    "model inspect model --quick --json",
    "model run model --check",
    "model export model --to safetensors made/m.safetensors",
    "model export model --to npz made/m.npz",
    "model diff model model",
    "view model --no-open --output made/page.html",
]
_IMPORTS = ["export {0} --to recordio --output made/r", "export {0} --to recordio --output made/d --nulls drop"]
_TABLES = ["convert {0} --output made/x --workers 1 --quiet"]
_WEIGHTS = ["model import {0} --into model", "model import w.safetensors --into model --mapping map.json --partial"]
_TRACES = ["trace diff a.json b.json", "view a.json --no-open --output made/page.html"]
_STATE = ["model inspect state.pdparams", "model inspect state", "model export state --to npz made/s.npz"]
_RECORDS = [line.format(SET) for line in (*_LOOKING, *_MAKING)]
_TEMPLATE = """
def task_number():
    return 1

def dict_data(task):
    for row in range(4):
        numbers = [1.5] * (row + 1)
        yield {"label": row, "text": "t%d" % row, "list": numbers, "names": ["a", "b"], "image": b"\\xff\\xd8"}
"""


def commands(files: Callable[[], Files], name: str, lines: list[str]) -> Callable[[bytes], object]:
    """Return a function of bytes, which take the place of the file `name` while the commands run."""

    def run(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for path, content in (files() | {name: data}).items():
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
                Path(path).write_bytes(content)
            for line in random.Random(zlib.crc32(data)).sample(lines, min(AT_ONCE, len(lines))):
                status = _status(line.split(" "))
                assert status in (0, 1, 2), f"{line}: status {status}"

    return run


def _status(words: list[str]) -> int:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return main(words)
        except SystemExit as stop:
            return int(stop.code or 0)


def _collected(make: Callable[[], object]) -> Files:
    """Return the files that a function makes in the current folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make()
        return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


@cache
def record_set() -> Files:
    def make() -> None:
        Path("template.py").write_text(_TEMPLATE)
        generate("template.py", "set", 1, workers=1)
        os.unlink("template.py")

    return _collected(make)


@cache
def exported_set(format: str) -> Files:
    def make() -> None:
        for name, content in record_set().items():
            Path(name).write_bytes(content)
        export([SET], format, ".")
        os.unlink(SET)

    return _collected(make)


@cache
def model() -> Files:
    def make() -> None:
        main_program, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
        startup.random_seed = main_program.random_seed = 1
        with fluid.program_guard(main_program, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
            x = fluid.layers.data("x", [2, 6, 6])
            hidden = fluid.layers.pool2d(fluid.layers.conv2d(x, 3, 3, act="relu"), 2, pool_stride=2)
            words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
            text = fluid.layers.sequence_pool(fluid.layers.embedding(words, [7, 4]), "sum")
            y = fluid.layers.softmax(fluid.layers.fc([hidden, text], 3))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            fluid.io.save_inference_model("model", ["x", "words"], [y], exe, main_program)
            fluid.io.save_inference_model("whole", ["x", "words"], [y], exe, main_program, params_filename="all")
            fluid.optimizer.Adam(0.1).minimize(fluid.layers.mean(y))
            exe.run(startup)
            fluid.save(main_program, "state")

    return _collected(make)


@cache
def tables() -> Files:
    text = io.StringIO()
    csv.writer(text).writerows([["label", "text"], [1, "a"], [2, 'b "q"\n,'], ["", ""]])
    lines = "\n".join(
        json.dumps(row) for row in ({"label": 1, "text": "a", "list": [1]}, {"label": 2, "text": "漢", "list": []})
    )
    weights = io.BytesIO()
    arrays = {"fc_0.b_0": np.ones(3, "f4"), "b": np.ones(3, "f4")}
    write_safetensors(weights, [in_memory(name, array) for name, array in arrays.items()], {})
    return {
        "a.csv": text.getvalue().encode(),
        "a.jsonl": lines.encode(),
        "w.safetensors": weights.getvalue(),
        "map.json": json.dumps({"b": "conv2d_0.b_0", "fc_0.b_0": "fc_0.b_0"}).encode(),
        "a.json": b'{"loss": [1.5, 2.5], "other": [1, 2]}',
        "b.json": b"[1.5, 2.5]",
    }


def _target(files: Callable[[], Files], name: str, lines: list[str]) -> tuple[Callable[[], list[bytes]], Any]:
    return lambda: [files()[name]], commands(files, name, [line.format(name) for line in lines])


def _exported(format: str) -> tuple[Callable[[], list[bytes]], Any]:
    return _target(lambda: exported_set(format), f"{SET}{of_name(format).suffix}", _IMPORTS)


COMMANDS = {
    "records commands": _target(record_set, SET, [*_LOOKING, *_MAKING]),
    "manifest commands": (
        lambda: [record_set()["set.manifest.json"]],
        commands(record_set, "set.manifest.json", _RECORDS),
    ),
    "slots commands": (
        lambda: [exported_set("tfrecord")["fluidio-slots.json"]],
        commands(lambda: exported_set("tfrecord"), "fluidio-slots.json", [_IMPORTS[0].format(f"{SET}.tfrecord")]),
    ),
    "tfrecord commands": _exported("tfrecord"),
    "tar commands": _exported("webdataset"),
    "npz commands": _exported("npz"),
    "parquet commands": _exported("parquet"),
    "arrow commands": _exported("arrow"),
    "csv commands": _target(tables, "a.csv", _TABLES),
    "json commands": _target(tables, "a.jsonl", _TABLES),
    "trace commands": _target(tables, "a.json", _TRACES),
    "model commands": _target(model, "model/__model__", _MODEL),
    "parameter commands": _target(model, "whole/all", [line.replace("model model", "model whole") for line in _MODEL]),
    "state commands": _target(model, "state.pdparams", _STATE),
    "state program commands": _target(model, "state.pdmodel", _STATE),
    "weights commands": _target(lambda: model() | tables(), "w.safetensors", _WEIGHTS),
    "mapping commands": _target(lambda: model() | tables(), "map.json", _WEIGHTS[1:]),
}
