"""How readers are built: ops, names, hand-made ops, eras, and running startup again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fluidio as fluid
from tests.executor.readers.subjects import SLOTS, Subject, held, write_file, write_files

layers = fluid.layers


def test_ops_names_and_places_are_fluids(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    reader = layers.open_files(paths, pass_num=2, **SLOTS)
    reader = layers.double_buffer(layers.batch(layers.shuffle(reader, 10), 4), name="buffered")
    row, number = layers.read_file(reader)
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    assert [op.type for op in startup.global_block().ops] == ["open_files", "create_multi_pass_reader"]
    assert [op.type for op in main.global_block().ops] == [
        "create_multi_pass_reader",
        "create_shuffle_reader",
        "create_batch_reader",
        "create_double_buffer_reader",
        "read",
    ]
    names = {v.name for v in main.list_vars()}
    assert {"multi_file_reader_0", "create_multi_pass_reader_0", "create_shuffle_reader_0", "buffered"} <= names
    assert (row.name, number.name) == ("read_file_0.tmp_0", "read_file_0.tmp_1")
    assert (row.shape, number.dtype) == ((-1, 4), fluid.core.VarType.INT64)
    assert reader.type is fluid.core.VarType.READER
    assert reader.persistable
    assert reader.desc.shapes() == [[-1, 4], [-1, 1]]


def test_readers_made_by_hand_with_append_op_work(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(6))
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    kind = fluid.core.VarDesc.VarType.READER
    source = startup.global_block().create_var(name="mine", type=kind, persistable=True)
    source.desc.set_dtypes([fluid.core.VarType.FP32, fluid.core.VarType.INT64])
    startup.global_block().append_op(
        type="create_recordio_file_reader",
        outputs={"Out": [source]},
        attrs={"filename": path, "shape_concat": [-1, 4, -1, 1], "lod_levels": [0, 0], "ranks": [2, 2]},
    )
    block = main.global_block()
    twin = block._clone_variable(source)
    batched = block.create_var(name="batched", type=kind, persistable=True)
    block.append_op(
        type="create_batch_reader",
        inputs={"UnderlyingReader": [twin]},
        outputs={"Out": [batched]},
        attrs={"batch_size": 3},
    )
    outs = [block.create_var(name=f"out{i}") for i in range(2)]
    block.append_op(type="read", inputs={"Reader": [batched]}, outputs={"Out": outs})
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    assert exe.run(main, fetch_list=["out1"])[0].ravel().tolist() == [0, 1, 2]
    held("mine").get_reader().reset()
    assert exe.run(main, fetch_list=["out1"])[0].ravel().tolist() == [0, 1, 2]


def test_running_startup_again_rewinds_a_bare_source_and_leaves_a_chain_alone(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(6))
    bare = Subject(lambda: layers.io.open_recordio_file(path, **SLOTS))
    bare.step()
    bare.exe.run(bare.startup)
    assert bare.step() == [0]
    with fluid.scope_guard(fluid.Scope()):
        chain = Subject(lambda: layers.batch(layers.io.open_recordio_file(path, **SLOTS), 2))
        chain.step()
        chain.exe.run(chain.startup)
        assert chain.step() == [2, 3]


def test_a_program_built_again_over_other_files_reads_the_new_ones(tmp_path: Path) -> None:
    old = write_file(tmp_path / "old.recordio", range(6))
    new = write_file(tmp_path / "new.recordio", range(100, 106))
    first = Subject(lambda: layers.batch(layers.io.open_recordio_file(old, **SLOTS), 2))
    first.step()
    second = Subject(lambda: layers.batch(layers.io.open_recordio_file(new, **SLOTS), 2))
    assert second.epoch() == list(range(100, 106))


def test_parallel_passes_everything_on(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(6))
    subject = Subject(lambda: layers.batch(layers.io.parallel(layers.io.open_recordio_file(path, **SLOTS)), 3))
    for _ in range(2):
        assert subject.epoch() == list(range(6))
        subject.reader.reset()


def test_in_the_oldest_era_random_data_has_a_minimum_and_a_maximum() -> None:
    with fluid.use_era("0.12"):
        layers.random_data_generator(-1, 1, [[2, 3]], [0])
    (op,) = fluid.default_startup_program().global_block().ops
    assert (op.attr("min"), op.attr("max")) == (-1.0, 1.0)
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())


def test_until_0_14_the_eighth_argument_of_open_files_is_for_parallel(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    given: Any = (paths, SLOTS["shapes"], SLOTS["lod_levels"], SLOTS["dtypes"], 2, 4, 1, True)
    with fluid.use_era("0.14"):
        old = Subject(lambda: layers.open_files(*given)).epoch()
    with fluid.scope_guard(fluid.Scope()):
        new = Subject(lambda: layers.open_files(*given)).epoch()
    assert new == list(range(37))  # is_test
    assert old != new
    assert sorted(old) == new


def test_loops_of_the_oldest_era_end(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(5))
    with fluid.use_era("0.14"):
        subject = Subject(lambda: layers.io.open_recordio_file(path, pass_num=1, for_parallel=True, **SLOTS))
        seen = 0
        try:
            while True:
                subject.exe.run(subject.main, fetch_list=[subject.number])
                seen += 1
        except fluid.core.EnforceNotMet as ex:
            assert "There is no next data." in ex.message
    assert seen == 5
