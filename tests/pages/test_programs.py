"""The program page: roles, layers, lines, readers, costs; of programs, saved models and scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import recordio
from fluidio.cli import main
from fluidio.errors import ModelError
from fluidio.pages.graph import graph_of
from fluidio.pages.programs import costs_of_trace, program_page, programs_of_model, programs_of_script
from tests.pages.data_of import data_of


def trained() -> tuple[fluid.Program, fluid.Program, Any]:
    main_program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main_program, startup):
        image, label = fluid.layers.data("image", [8]), fluid.layers.data("label", [1], dtype="int64")
        with fluid.name_scope("body"):
            hidden = fluid.layers.fc(image, size=4, act="relu")
        out = fluid.layers.fc(hidden, size=2, act="softmax")
        loss = fluid.layers.mean(fluid.layers.cross_entropy(out, label))
        fluid.optimizer.SGD(0.1).minimize(loss)
    return main_program, startup, loss


def test_ops_are_told_apart_by_what_they_are_for() -> None:
    graph = graph_of(trained()[0])
    roles = {op["type"]: op["role"] for op in graph["ops"]}
    assert (roles["data"], roles["mul"], roles["mul_grad"], roles["sgd"]) == ("reader", "forward", "backward", "update")
    assert graph["parameter_values"] == 8 * 4 + 4 + 4 * 2 + 2


def test_ops_of_a_layer_share_its_path_in_all_three_parts() -> None:
    graph = graph_of(trained()[0])
    paths = {(op["role"], tuple(op["path"])) for op in graph["ops"] if op["path"] and op["path"][0].startswith("body")}
    assert {role for role, path in paths if path[1:] == ("fc_0",)} == {"forward", "backward", "update"}
    assert not [op for op in graph["ops"] if op["path"] == ["fc_0"]]


def test_each_op_knows_the_line_that_built_it() -> None:
    graph = graph_of(trained()[0])
    (mul, *_) = [op for op in graph["ops"] if op["type"] == "mul"]
    file, _, function, text = graph["sites"][mul["site"]]
    assert file == __file__
    assert function == "trained"
    assert text == 'hidden = fluid.layers.fc(image, size=4, act="relu")'


def test_variables_have_shape_dtype_and_kind() -> None:
    graph = graph_of(trained()[0])
    told = {name: rest for name, *rest in graph["vars"]}
    assert told["fc_0.w_0"] == ["parameter", [8, 4], "float32", 0]
    assert told["label"][:3] == ["data", [-1, 1], "int64"]


def test_a_saved_model_has_parameters(tmp_path: Path) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        out = fluid.layers.fc(fluid.layers.data("x", [4]), size=3)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        fluid.io.save_inference_model(str(tmp_path / "m"), ["x"], [out], exe)
    graph = graph_of(fluid.Program.parse_from_string((tmp_path / "m" / "__model__").read_bytes()))
    assert graph["parameter_values"] == 4 * 3 + 3
    assert {name for name, kind, *_ in graph["vars"] if kind == "parameter"} == {"fc_0.w_0", "fc_0.b_0"}


def test_the_reader_chain_of_the_startup_program_stands_first(tmp_path: Path) -> None:
    main_program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main_program, startup):
        reader = fluid.layers.open_files([str(tmp_path / "a.recordio")], [[-1, 4]], [0], ["float32"])
        reader = fluid.layers.batch(fluid.layers.shuffle(reader, 10), 2)
        fluid.layers.fc(fluid.layers.read_file(reader), size=2)
    ops = graph_of(main_program, readers_from=[startup])["ops"]
    types = [op["type"] for op in ops if op["role"] == "reader"]
    assert types[0] == "open_files"
    assert types[-1] == "read"
    assert types.index("create_shuffle_reader") < types.index("create_batch_reader") < types.index("read")
    assert len(types) == len(set(types))
    by_type = {op["type"]: op for op in ops}
    assert by_type["open_files"]["out"] == by_type["create_shuffle_reader"]["in"]


def test_bodies_of_loops_are_inside_their_op() -> None:
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        i = fluid.layers.fill_constant([1], "int64", 0)
        end = fluid.layers.fill_constant([1], "int64", 3)
        fluid.layers.while_loop(lambda i: fluid.layers.less_than(i, end), lambda i: [i + 1], [i])
    graph = graph_of(program)
    assert graph["blocks"] == 2
    assert any("while body" in op["path"] for op in graph["ops"])


def test_a_profile_gives_every_op_its_time(tmp_path: Path) -> None:
    main_program, startup, loss = trained()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    feed = {"image": np.ones((3, 8), np.float32), "label": np.zeros((3, 1), np.int64)}
    with fluid.profiler.profiler("CPU", profile_path=str(tmp_path / "profile")):
        for _ in range(3):
            exe.run(main_program, feed=feed, fetch_list=[loss])
    costs = costs_of_trace(str(tmp_path / "profile"))
    graph = graph_of(main_program, costs=costs)
    (mul, *_) = [op for op in graph["ops"] if op["type"] == "mul"]
    assert mul["runs"] == 3
    assert mul["seconds"] > 0
    assert graph["timed"]


def test_what_is_no_profile_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("[1]")
    with pytest.raises(ModelError, match="not a trace"):
        costs_of_trace(str(tmp_path / "x"))


def test_a_script_is_run_up_to_its_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nimport fluidio as fluid\n"
        "x = fluid.layers.data('x', [int(sys.argv[1])])\nfluid.layers.fc(x, size=3)\n"
        "exe = fluid.Executor(fluid.CPUPlace())\nexe.run(fluid.default_startup_program())\n"
        f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    )
    monkeypatch.setattr("sys.argv", ["x"])
    monkeypatch.setattr("sys.modules", dict(__import__("sys").modules))
    programs = dict(programs_of_script(str(script), ["5"]))
    assert not (tmp_path / "ran").exists()
    assert programs["main"].global_block().var("x").shape == (-1, 5)
    assert "startup" in programs


def test_a_saved_model_is_viewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_program, startup, loss = trained()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    fluid.io.save_inference_model(str(tmp_path / "model"), ["image", "label"], [loss], exe, main_program)
    page = tmp_path / "page.html"
    for what in ("model", "model/__model__"):
        assert main(["view", str(tmp_path / what), "--no-open", "--output", str(page)]) == 0
        types = [op["type"] for op in data_of(page.read_text("utf-8"))["programs"][0]["ops"]]
        assert types[0] == "feed"
        assert types[-1] == "fetch"
    capsys.readouterr()


def test_a_large_program_gives_a_page_of_bounded_size() -> None:
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        x = fluid.layers.data("x", [4])
        for _ in range(5000):
            x = fluid.layers.relu(x)
    page = program_page(program)
    assert len(page) < 5_000_000
    assert len(data_of(page)["programs"][0]["ops"]) == 5001


def test_a_folder_without_a_model_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(tmp_path), "--no-open"]) == 1
    assert "empty" in capsys.readouterr().err


def test_a_folder_of_records_is_no_model_and_the_error_names_the_command(tmp_path: Path) -> None:
    for n in range(9):
        with recordio.Writer(str(tmp_path / f"{n}.recordio")) as writer:
            writer.write_block([np.ones((3, 2), np.float32)])
    with pytest.raises(ModelError, match=r"to look at records: fluidio view '.*/\*'$"):
        programs_of_model(str(tmp_path))


def test_of_many_files_that_are_no_program_a_few_are_named(tmp_path: Path) -> None:
    for n in range(9):
        (tmp_path / f"{n}.bin").write_bytes(b"nothing")
    with pytest.raises(ModelError) as caught:
        programs_of_model(str(tmp_path))
    assert len(str(caught.value).splitlines()) == 5
    assert str(caught.value).endswith("and 6 more files")
