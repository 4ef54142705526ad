"""Variables are saved to files and come back; damaged and missing files say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio import io
from fluidio.errors import EnforceNotMet
from tests.io.networks import MODELS, classifier, forget, persistables, trained, value


@pytest.mark.parametrize("filename", [None, "all"])
def test_persistables_come_back(tmp_path: Path, filename: str | None) -> None:
    exe, _, _ = trained()
    before = persistables()
    io.save_persistables(exe, str(tmp_path), filename=filename)
    forget()
    io.load_persistables(exe, str(tmp_path), filename=filename)
    after = persistables()
    assert {n: v.tolist() for n, v in after.items()} == {n: v.tolist() for n, v in before.items()}


def test_params_are_the_parameters_alone(tmp_path: Path) -> None:
    exe, _, _ = trained()
    io.save_params(exe, str(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"]


def test_a_slash_in_a_name_makes_a_folder(tmp_path: Path) -> None:
    block = fluid.default_main_program().global_block()
    block.create_parameter(name="a/b", shape=[2], dtype="float32")
    fluid.global_scope().var("a/b").get_tensor().set(np.ones(2, "float32"))
    io.save_params(fluid.Executor(fluid.CPUPlace()), str(tmp_path))
    assert (tmp_path / "a" / "b").is_file()


def test_a_predicate_or_a_list_chooses(tmp_path: Path) -> None:
    exe, _, _ = trained()
    io.save_vars(exe, str(tmp_path / "p"), predicate=lambda v: v.name.endswith(".w_0"))
    io.save_vars(exe, str(tmp_path / "l"), vars=[fluid.default_main_program().global_block().var("fc_0.b_0")])
    assert sorted(p.name for p in (tmp_path / "p").iterdir()) == ["fc_0.w_0", "fc_1.w_0"]
    assert [p.name for p in (tmp_path / "l").iterdir()] == ["fc_0.b_0"]


def test_variables_go_through_memory_without_a_folder() -> None:
    exe, _, _ = trained()
    before = value("fc_0.w_0")
    data = io.save_persistables(exe, None)
    assert isinstance(data, bytes)
    forget()
    io.load_persistables(exe, None, filename=data)
    np.testing.assert_array_equal(value("fc_0.w_0"), before)


def test_every_save_takes_a_name_as_in_fluid(tmp_path: Path) -> None:
    exe, _, _ = trained()
    for filename in (None, "all"):
        io.save_persistables(exe, str(tmp_path), filename=filename)
    assert fluid.unique_name.generate("saved_params") == "saved_params_2"


def test_nothing_to_save_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="nothing to save"):
        io.save_params(fluid.Executor(fluid.CPUPlace()), str(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    classifier()
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(EnforceNotMet, match=r"load: cannot open .*fc_0\.b_0"):
        io.load_params(exe, str(tmp_path))
    with pytest.raises(EnforceNotMet, match=r"load_combine: cannot open .*all"):
        io.load_params(exe, str(tmp_path), filename="all")


def test_a_cut_file_says_which_variable_is_short(tmp_path: Path) -> None:
    exe, _, _ = trained()
    io.save_params(exe, str(tmp_path))
    path = tmp_path / "fc_0.w_0"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(EnforceNotMet, match=r"fc_0\.w_0.*damaged or cut"):
        io.load_params(exe, str(tmp_path))


def test_a_combined_file_must_be_used_up(tmp_path: Path) -> None:
    exe, _, _ = trained()
    io.save_params(exe, str(tmp_path), filename="all")
    with pytest.raises(EnforceNotMet, match="load all variables of a file"):
        io.load_vars(exe, str(tmp_path), vars=["fc_0.b_0"], filename="all")
    with pytest.raises(EnforceNotMet, match="ends before the variable"):
        io.load_persistables(exe, str(tmp_path), filename="all")
    with fluid.use_era("1.2"):
        io.load_vars(exe, str(tmp_path), vars=["fc_0.b_0"], filename="all")


def test_another_shape_is_an_error_in_1_8_and_replaces_before(tmp_path: Path) -> None:
    exe, _, _ = trained()
    io.save_params(exe, str(tmp_path))
    fluid.global_scope().var("fc_0.b_0").get_tensor().set(np.ones(9, "float32"))
    io.save_vars(exe, str(tmp_path), vars=["fc_0.b_0"])
    with fluid.use_era("1.5"):
        io.load_params(exe, str(tmp_path))
        assert value("fc_0.b_0").shape == (9,)
    with fluid.use_era("1.8"), pytest.raises(RuntimeError, match="in the program, but"):
        io.load_params(exe, str(tmp_path))


def test_a_failing_save_leaves_the_old_file(tmp_path: Path) -> None:
    exe, _, _ = trained()
    io.save_params(exe, str(tmp_path), filename="all")
    before = (tmp_path / "all").read_bytes()
    fluid.global_scope().erase(["fc_1.w_0"])
    with pytest.raises(EnforceNotMet):
        io.save_params(exe, str(tmp_path), filename="all")
    assert (tmp_path / "all").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["all"]


def test_persistables_of_the_real_1_8_5_load_and_are_written_the_same(tmp_path: Path) -> None:
    classifier()
    exe = fluid.Executor(fluid.CPUPlace())
    io.load_persistables(exe, str(MODELS / "mlp_persistables"))
    with np.load(MODELS / "mlp_state.npz") as state:
        for name in state.files:
            np.testing.assert_array_equal(value(name), state[name])
    io.save_persistables(exe, str(tmp_path))
    for path in (MODELS / "mlp_persistables").iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_a_program_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="main_program must be a Program or None"):
        io.save_params(fluid.Executor(fluid.CPUPlace()), str(tmp_path), main_program="main")


def test_values_of_parameters_can_be_asked_for() -> None:
    exe, _, _ = trained()
    np.testing.assert_array_equal(io.get_parameter_value_by_name("fc_0.b_0", exe), value("fc_0.b_0"))
    with pytest.raises(AssertionError, match="not a parameter"):
        io.get_parameter_value_by_name("x", exe)
