"""fluid.save and fluid.load: pickles of arrays, read as data only, in both directions."""

from __future__ import annotations

import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import core, io
from fluidio.errors import UnsafePickleError
from tests.io.networks import MODELS, classifier, forget, persistables, trained, value


def test_save_and_load_bring_everything_back(tmp_path: Path) -> None:
    exe, _, _ = trained()
    before = persistables()
    io.save(fluid.default_main_program(), str(tmp_path / "all"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.pdmodel", "all.pdopt", "all.pdparams"]
    forget()
    io.load(fluid.default_main_program(), str(tmp_path / "all.pdparams"), exe)
    for name, array in persistables().items():
        np.testing.assert_array_equal(array, before[name])


def test_files_of_the_real_1_8_5_load() -> None:
    classifier()
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    io.load(fluid.default_main_program(), str(MODELS / "mlp_save" / "all"))
    with np.load(MODELS / "mlp_state.npz") as state:
        for name in ("fc_0.w_0", "fc_1.b_0", "fc_0.w_0_moment1_0", "fc_0.b_0_beta1_pow_acc_0"):
            np.testing.assert_array_equal(value(name), state[name])


def test_the_pickle_names_only_what_every_numpy_knows(tmp_path: Path) -> None:
    trained()
    io.save(fluid.default_main_program(), str(tmp_path / "all"))
    data = (tmp_path / "all.pdparams").read_bytes()
    assert data[:2] == b"\x80\x02"
    names = {arg for opcode, arg, _ in pickletools.genops(data) if opcode.name == "GLOBAL"}
    assert names == {"numpy.core.multiarray _reconstruct", "numpy ndarray", "numpy dtype", "_codecs encode"}


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path) -> None:
    classifier(train=False)
    (tmp_path / "bad.pdparams").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(UnsafePickleError, match="os.system"):
        io.load(fluid.default_main_program(), str(tmp_path / "bad"))


def test_a_pickle_of_something_else_is_refused(tmp_path: Path) -> None:
    classifier(train=False)
    (tmp_path / "bad.pdparams").write_bytes(pickle.dumps([1, 2], 2))
    with pytest.raises(ValueError, match="expected a dict of names and arrays"):
        io.load(fluid.default_main_program(), str(tmp_path / "bad"))


def test_a_missing_name_and_a_missing_optimizer_file_are_assertions(tmp_path: Path) -> None:
    trained()
    main = fluid.default_main_program()
    io.save(main, str(tmp_path / "all"))
    (tmp_path / "all.pdopt").unlink()
    with pytest.raises(AssertionError, match=r"all\.pdopt"):
        io.load(main, str(tmp_path / "all"))
    (tmp_path / "all.pdparams").write_bytes(pickle.dumps({}, 2))
    with pytest.raises(AssertionError, match="no value for"):
        io.load(main, str(tmp_path / "all"))


def test_an_empty_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the name of the files"):
        io.save(fluid.default_main_program(), str(tmp_path) + "/")


def test_load_understands_the_older_layouts(tmp_path: Path) -> None:
    exe, _, _ = trained()
    main = fluid.default_main_program()
    before = value("fc_0.w_0")
    io.save_persistables(exe, str(tmp_path / "folder"))
    io.save_params(exe, str(tmp_path), filename="one")
    with pytest.raises(ValueError, match="executor"):
        io.load(main, str(tmp_path / "folder"))
    for path, variables in (("folder", None), ("one", io.get_program_parameter(main))):
        forget()
        io.load(main, str(tmp_path / path), exe, variables)
        np.testing.assert_array_equal(value("fc_0.w_0"), before)
    with pytest.raises(ValueError, match="var_list"):
        io.load(main, str(tmp_path / "one"), exe)


def test_program_state_is_a_dict_of_arrays(tmp_path: Path) -> None:
    exe, _, _ = trained()
    main = fluid.default_main_program()
    io.save(main, str(tmp_path / "all"))
    io.save_params(exe, str(tmp_path / "folder"))
    io.save_params(exe, str(tmp_path), filename="one")
    state = io.load_program_state(str(tmp_path / "all"))
    assert set(state) == set(persistables())
    assert set(io.load_program_state(str(tmp_path / "folder"))) == {"fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"}
    one = io.load_program_state(str(tmp_path / "one"), io.get_program_parameter(main))
    np.testing.assert_array_equal(one["fc_1.w_0"], state["fc_1.w_0"])
    forget()
    io.set_program_state(main, state)
    np.testing.assert_array_equal(value("fc_0.w_0"), state["fc_0.w_0"])


def test_set_program_state_checks_shapes_and_tells_of_leftovers() -> None:
    trained()
    main = fluid.default_main_program()
    with pytest.raises(AssertionError, match="has shape"):
        io.set_program_state(main, {"fc_0.b_0": np.ones(7, "float32")})
    with pytest.raises(AssertionError, match="in the program, but float"):
        io.set_program_state(main, {"fc_0.b_0": np.ones(5, "float64")})
    with pytest.warns(UserWarning, match="nobody"):
        io.set_program_state(main, {"nobody": np.ones(1, "float32")})


def test_program_state_refuses_what_is_not_in_the_files(tmp_path: Path) -> None:
    exe, _, _ = trained()
    main = fluid.default_main_program()
    parameters = io.get_program_parameter(main)
    io.save_params(exe, str(tmp_path / "folder"))
    io.save_params(exe, str(tmp_path), filename="one")
    other = main.global_block().create_var(name="other", persistable=True)
    for path in ("folder", "one"):
        with pytest.raises(TypeError, match="fc_0.w_0"):
            io.load_program_state(str(tmp_path / path), ["fc_0.w_0"])  # type: ignore[list-item]
        with pytest.raises(RuntimeError, match="other"):
            io.load_program_state(str(tmp_path / path), [*parameters, other])
    for some in ([], parameters[:1], [other]):
        with pytest.raises(RuntimeError):
            io.load_program_state(str(tmp_path / "one"), some)
    with pytest.raises(RuntimeError, match="nowhere"):
        io.load_program_state(str(tmp_path / "nowhere"))
    assert set(io.load_program_state(str(tmp_path / "folder"), parameters[:1])) == {parameters[0].name}


def test_core_makes_room_for_parameters_that_will_be_loaded() -> None:
    exe, _, _ = trained()
    parameters = io.get_program_parameter(fluid.default_main_program())
    scope = fluid.Scope()
    kept = scope.var(parameters[0].name)
    there: Any = core
    there._create_loaded_parameter(parameters, scope, exe._default_executor)
    assert kept.value is None
    for parameter in parameters[1:]:
        assert scope.var(parameter.name).get_tensor().shape() == list(parameter.shape)
