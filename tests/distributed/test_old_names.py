"""Names beside the transpiler that scripts with parameter servers use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio.transpiler.communicator import Communicator
from fluidio.transpiler.config import DistributedMode
from fluidio.transpiler.lookup_tables import (
    find_distributed_lookup_table,
    find_distributed_lookup_table_inputs,
    find_distributed_lookup_table_outputs,
)


def lookups(*tables: tuple[str, bool]) -> fluid.Program:
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()), fluid.unique_name.guard():
        for number, (name, divided) in enumerate(tables):
            ids = fluid.layers.data(f"ids{number}", [1], dtype="int64")
            fluid.layers.embedding(ids, [9, 4], is_sparse=True, is_distributed=divided, param_attr=name)
    return program


def test_the_table_that_is_divided_is_found_with_its_ids_and_rows() -> None:
    program = lookups(("whole", False), ("big", True), ("big", True))
    assert find_distributed_lookup_table(program) == "big"
    assert [v.name for v in find_distributed_lookup_table_inputs(program, "big")] == ["ids1", "ids2"]
    rows = find_distributed_lookup_table_outputs(program, "big")
    assert [v.shape for v in rows] == [(-1, 4), (-1, 4)]


def test_no_table_is_found_where_none_is_divided() -> None:
    assert find_distributed_lookup_table(lookups(("whole", False))) is None


def test_only_one_table_may_be_divided_there() -> None:
    with pytest.raises(RuntimeError, match="only one table"):
        find_distributed_lookup_table(lookups(("one", True), ("two", True)))


def test_a_communicator_is_started_and_stopped() -> None:
    communicator = Communicator(fluid.Program(), DistributedMode.ASYNC)
    assert not communicator.is_running()
    communicator.start()
    assert communicator.is_running()
    communicator.stop()
    assert not communicator.is_running()
    with pytest.raises(AssertionError, match="got int"):
        Communicator(3)  # type: ignore[arg-type]


def test_parameters_of_servers_are_saved_and_loaded_by_their_old_names(tmp_path: Path) -> None:
    program = lookups(("table", False))
    variable = fluid.global_scope().var("table")
    exe = fluid.Executor(fluid.CPUPlace())
    values = np.arange(36, dtype=np.float32).reshape(9, 4)
    variable.get_tensor().set(values, fluid.CPUPlace())
    fluid.io._save_distributed_persistables(exe, str(tmp_path), program)
    variable.get_tensor().set(values * 0, fluid.CPUPlace())
    fluid.io._load_distributed_persistables(exe, str(tmp_path), program)
    np.testing.assert_array_equal(np.array(variable.get_tensor()), values)
