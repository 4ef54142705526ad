"""Preprocessor: records go through its block many at a time where that gives the same, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.executor.readers import custom, row_wise
from fluidio.executor.readers.custom import Custom
from fluidio.recordio import Writer

Values = list[Any]


@pytest.fixture
def path(tmp_path: Path) -> str:
    rng = np.random.default_rng(4)
    with Writer(tmp_path / "a.recordio", max_num_records=9) as writer:
        for height in [3, 1, 7, 0, 2, 5, 5, 1, 11, 4, 2, 3, 3, 1, 6]:
            level = np.array([0, height // 2, height], "int64")
            rows = rng.normal(size=(height, 3)).astype("float32")
            writer.write_tensors([(rows, (level,)), (rng.integers(0, 9, (height, 1)), ())])
    return str(tmp_path / "a.recordio")


def read(path: str, body: Callable[..., Any], batch: int = 4, shuffle: int = 0, passes: int = 1) -> Values:
    """Return every batch behind a preprocessor."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        reader = layers.open_files([path], [(-1, 3), (-1, 1)], [1, 0], ["float32", "int64"], pass_num=passes)
        stage = layers.io.Preprocessor(reader)
        with stage.block():
            stage.outputs(*body(*stage.inputs()))
        reader = stage()
        if shuffle:
            reader = layers.shuffle(reader, shuffle)
        outs = layers.read_file(layers.batch(reader, batch, drop_last=False))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        found: Values = []
        try:
            while True:
                for tensor in exe.run(main, fetch_list=list(outs), return_numpy=False):
                    found.append((np.array(tensor).tobytes(), np.array(tensor).dtype, tensor.lod()))
        except fluid.core.EOFException:
            reader.reset()
        return found


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count the runs of blocks."""
    found: list[int] = []
    run = Custom._run

    def counted(self: Custom, item: Any) -> Any:
        found.append(len(item[0][0]))
        return run(self, item)

    monkeypatch.setattr(Custom, "_run", counted)
    yield found


def one_by_one(monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> Values:
    with monkeypatch.context() as patch:
        patch.setattr(custom, "origins", lambda *_: None)
        return read(*args, **options)


def every_op(x: Any, n: Any) -> tuple[Any, Any]:
    for name in sorted(
        row_wise._UNARY - {"assign", "cast", "clip", "scale", "pow", "logical_not", "log", "sqrt", "rsqrt"}
    ):
        x = getattr(layers, name)(x) if hasattr(layers, name) else x
        x = layers.clip(x, -3.0, 3.0)
    x = layers.sqrt(layers.abs(x)) + layers.log(layers.square(x) + 2.0) * 0.5
    x = layers.elementwise_max(layers.pow(layers.abs(x), 1.5), x) / (layers.scale(layers.abs(x), 2.0, 1.0))
    return x, layers.cast(layers.less_than(n, n + 1), "int64") * 3 - n


@pytest.mark.parametrize("options", [{}, {"shuffle": 6}, {"passes": 2, "batch": 7}])
def test_blocks_give_the_bits_and_lods_of_single_records(
    path: str, monkeypatch: pytest.MonkeyPatch, runs: list[int], options: dict[str, int]
) -> None:
    found, many = read(path, every_op, **options), len(runs)
    assert found == one_by_one(monkeypatch, path, every_op, **options)
    assert many < (len(runs) - many) / 2


@pytest.mark.parametrize(
    "body",
    [
        lambda x, n: (x - layers.reduce_sum(x), n),  # of all rows of a record
        lambda x, n: (layers.cumsum(x, axis=0), n),
        lambda x, n: (layers.elementwise_add(x, layers.cast(n, "float32"), axis=0), n),  # of two slots
        lambda x, n: (layers.fill_constant([1], "float32", 2.0), n),
    ],
    ids=["sum", "sum so far", "two slots", "constant"],
)
def test_records_go_one_by_one_where_an_op_may_look_at_other_rows(
    path: str, monkeypatch: pytest.MonkeyPatch, runs: list[int], body: Callable[..., Any]
) -> None:
    found = read(path, body)
    assert runs == [3, 1, 7, 0, 2, 5, 5, 1, 11, 4, 2, 3, 3, 1, 6]
    assert found == one_by_one(monkeypatch, path, body)


def test_records_before_one_that_fails_are_delivered(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Custom._run

    def picky(self: Custom, item: Any) -> Any:
        if any(len(part) == 11 for part in np.split(item[0][0], item[0][1][0][2:-1:2])):
            raise fluid.core.EnforceNotMet("a record of 11 rows")
        return run(self, item)

    monkeypatch.setattr(Custom, "_run", picky)
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        reader = layers.open_files([path], [(-1, 3), (-1, 1)], [1, 0], ["float32", "int64"])
        stage = layers.io.Preprocessor(reader)
        with stage.block():
            x, n = stage.inputs()
            stage.outputs(x * 2.0, n)
        reader = stage()
        out, _ = layers.read_file(layers.batch(reader, 2))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        rows = [exe.run(main, fetch_list=[out], return_numpy=False)[0].shape()[0] for _ in range(4)]
        assert rows == [4, 7, 7, 6]
        with pytest.raises(fluid.core.EnforceNotMet, match="11 rows"):
            exe.run(main, fetch_list=[out])
        reader.reset()
