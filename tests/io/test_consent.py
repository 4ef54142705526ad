"""A program that came as bytes: its ops reach no file and no function unless the user says so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.distributed import membership
from fluidio.errors import EnforceNotMet
from fluidio.program.proto import serialize_program
from fluidio.recordio import Writer


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def parsed(**options: Any) -> fluid.Program:
    return fluid.Program.parse_from_string(serialize_program(fluid.default_main_program()), **options)


def add(type: str, path: Path, slot: str) -> None:
    x = fluid.layers.fill_constant([1], "float32", 1.0)
    block = fluid.default_main_program().global_block()
    block.append_op(type=type, **{slot: {"X" if slot == "inputs" else "Out": [x]}}, attrs={"file_path": str(path)})


@pytest.mark.parametrize("type", ["save", "save_combine"])
def test_writing_needs_consent(exe: fluid.Executor, tmp_path: Path, type: str) -> None:
    path = tmp_path / "written"
    add(type, path, "inputs")
    for program in (parsed(), parsed().clone(), parsed().clone(for_test=True)):
        with pytest.raises(EnforceNotMet, match=r"wants to write .*written.*allow_files=True"):
            exe.run(program)
        assert not path.exists()
    exe.run(parsed(allow_files=True))
    assert path.exists()
    exe.run(fluid.default_main_program())  # built here


@pytest.mark.parametrize("type", ["load", "load_combine"])
def test_reading_needs_consent(exe: fluid.Executor, tmp_path: Path, type: str) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"secret")
    add(type, path, "outputs")
    with pytest.raises(EnforceNotMet, match="wants to read .*secret.*allow_files=True"):
        exe.run(parsed())
    with pytest.raises(EnforceNotMet, match="damaged"):
        exe.run(parsed(allow_files=True))


def test_calling_functions_needs_consent(exe: fluid.Executor) -> None:
    called = []

    def note(value: Any) -> Any:
        called.append(1)
        return np.array(value)

    x = fluid.layers.fill_constant([1], "float32", 1.0)
    out = fluid.default_main_program().current_block().create_var(name="out", shape=[1], dtype="float32")
    fluid.layers.py_func(note, x, out)
    with pytest.raises(EnforceNotMet, match="call a function of this process"):
        exe.run(parsed(), fetch_list=["out"])
    assert not called
    assert exe.run(parsed(allow_files=True), fetch_list=["out"])[0] == 1
    assert called


@pytest.mark.parametrize("many", [False, True])
def test_data_files_elsewhere_need_consent(
    exe: fluid.Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    with Writer(tmp_path / "a.recordio") as writer:
        writer.write_block([np.arange(3)[:, None]])
    monkeypatch.chdir(tmp_path)

    def startup(path: str, **options: Any) -> fluid.Program:
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup):
            if many:
                fluid.layers.open_files([path], [[-1, 1]], [0], ["int64"])
            else:
                fluid.layers.open_recordio_file(path, [[-1, 1]], [0], ["int64"])
        return fluid.Program.parse_from_string(serialize_program(startup), **options)

    for path in (str(tmp_path / "a.recordio"), f"../{tmp_path.name}/a.recordio"):
        with pytest.raises(EnforceNotMet, match="wants to read .*a.recordio"):
            exe.run(startup(path))
        exe.run(startup(path, allow_files=True))
    exe.run(startup("a.recordio"))


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../outside", ".."])
def test_variables_are_saved_and_loaded_inside_their_folder(exe: fluid.Executor, tmp_path: Path, name: str) -> None:
    program = fluid.default_main_program()
    program.global_block().create_var(name=name, shape=[1], dtype="float32", persistable=True)
    fluid.global_scope().var(name).get_tensor().set(np.ones(1, "float32"), fluid.CPUPlace())
    folder = tmp_path / "model"
    for act in (fluid.io.save_persistables, fluid.io.load_persistables):
        with pytest.raises(ValueError, match="outside of"):
            act(exe, str(folder), program)
    assert os.listdir(tmp_path) == []


def test_names_with_slashes_make_folders(exe: fluid.Executor, tmp_path: Path) -> None:
    program = fluid.default_main_program()
    program.global_block().create_var(name="scope/a..b/w", shape=[1], dtype="float32", persistable=True)
    fluid.global_scope().var("scope/a..b/w").get_tensor().set(np.ones(1, "float32"), fluid.CPUPlace())
    fluid.io.save_persistables(exe, str(tmp_path), program)
    assert (tmp_path / "scope" / "a..b" / "w").exists()


@pytest.mark.filterwarnings("ignore:nothing to save")
def test_an_inference_model_may_not_write(exe: fluid.Executor, tmp_path: Path) -> None:
    x = fluid.layers.data("x", [2])
    y = fluid.layers.scale(x, 2.0)
    fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe)
    model = fluid.Program.parse_from_string((tmp_path / "__model__").read_bytes())
    block = model.global_block()
    out = next(op for op in block.ops if op.type == "fetch").input("X")[0]
    block.append_op(type="save", inputs={"X": [out]}, attrs={"file_path": str(tmp_path / "evil")})
    (tmp_path / "__model__").write_bytes(serialize_program(model))
    feed = {"x": np.ones((1, 2), "float32")}
    program, _, targets = fluid.io.load_inference_model(str(tmp_path), exe)
    with pytest.raises(EnforceNotMet, match="wants to write"):
        exe.run(program, feed=feed, fetch_list=targets)
    program, _, targets = fluid.io.load_inference_model(str(tmp_path), exe, allow_files=True)
    exe.run(program, feed=feed, fetch_list=targets)
    assert (tmp_path / "evil").exists()


def nested(depth: int) -> bytes:
    program = fluid.Program()
    with fluid.program_guard(program):
        condition = fluid.layers.fill_constant([1], "bool", 1)
        for _ in range(depth):
            block = program._create_block()
            parent = program.block(block.parent_idx)
            scope = parent.create_var(type=fluid.core.VarDesc.VarType.STEP_SCOPES)
            parent.append_op(
                type="conditional_block",
                inputs={"Cond": [condition]},
                outputs={"Scope": [scope]},
                attrs={"sub_block": block, "is_scalar_condition": True},
            )
    return serialize_program(program)


def test_blocks_inside_each_other_end_somewhere(exe: fluid.Executor) -> None:
    exe.run(fluid.Program.parse_from_string(nested(60)))
    with pytest.raises(EnforceNotMet, match="more than 64 blocks are nested"):
        fluid.Program.parse_from_string(nested(300))


def test_a_block_does_not_contain_itself() -> None:
    data = bytearray(nested(2))
    program = fluid.Program.parse_from_string(bytes(data))
    inner = program.block(2)
    inner.append_op(type="conditional_block", inputs={"Cond": []}, outputs={"Scope": []}, attrs={"sub_block": inner})
    with pytest.raises(EnforceNotMet, match="contains itself"):
        fluid.Program.parse_from_string(serialize_program(program))


def test_a_copy_of_an_op_needs_the_consent_that_the_op_needs(exe: fluid.Executor, tmp_path: Path) -> None:
    path = tmp_path / "written"
    add("save", path, "inputs")
    copied = fluid.Program()
    for variable in parsed().list_vars():
        copied.global_block()._clone_variable(variable)
    for op in parsed().global_block().ops:
        copied.global_block().desc.append_op().copy_from(op.desc)
    with pytest.raises(EnforceNotMet, match=r"wants to write .*written.*allow_files=True"):
        exe.run(copied)
    assert not path.exists()


def test_the_gradient_of_an_op_needs_the_consent_that_the_op_needs() -> None:
    x = fluid.layers.data("x", [1])
    x.stop_gradient = False
    out = fluid.default_main_program().current_block().create_var(name="out", shape=[-1, 1], dtype="float32")
    fluid.layers.py_func(lambda value: value, x, out, backward_func=lambda x, y, dy: dy)
    fluid.layers.mean(out)
    program = parsed()
    with fluid.program_guard(program, fluid.Program()):
        fluid.backward.append_backward(program.global_block().var("mean_0.tmp_0"))
    grads = [op for op in program.global_block().ops if op.type.startswith("py_func")]
    assert len(grads) == 2 and all(op.from_bytes for op in grads)


@pytest.mark.parametrize(
    ("type", "attrs"),
    [
        ("gen_nccl_id", {"endpoint": "a:1", "endpoint_list": ["elsewhere:2"], "trainer_id": 0}),
        ("c_gen_nccl_id", {"endpoint": "a:1", "other_endpoints": ["elsewhere:2"], "rank": 0}),
        ("listen_and_serv", {"endpoint": "elsewhere:2", "endpoints": ["elsewhere:2"]}),
    ],
)
def test_meeting_other_machines_needs_consent(exe: fluid.Executor, type: str, attrs: dict[str, Any]) -> None:
    fluid.default_main_program().global_block().append_op(type=type, attrs=attrs)
    with pytest.raises(EnforceNotMet, match="wants to (connect to|listen at) elsewhere:2.*allow_files=True"):
        exe.run(parsed())
    assert membership() is None
