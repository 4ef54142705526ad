"""Scopes hold variables by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fluidio.errors import EnforceNotMet
from fluidio.places import CPUPlace
from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, SelectedRows, global_scope, scope_guard, switch_scope


def test_var_makes_here_and_find_var_looks_up() -> None:
    scope = Scope()
    kid = scope.new_scope()
    made = scope.var("a")
    assert scope.var("a") is made
    assert kid.find_var("a") is made
    assert kid.var("a") is not made
    assert kid.find_var("a") is not made
    assert scope.find_var("b") is None
    assert "a" in kid and "b" not in kid
    assert (kid.root(), scope.local_var_names(), repr(scope)) == (scope, ["a"], "Scope(1 variables)")


def test_kids_can_be_dropped_and_names_erased() -> None:
    scope = Scope()
    kid = scope.new_scope()
    assert scope._kids() == [kid]
    scope.drop_kids()
    assert scope._kids() == []
    scope.var("a")
    scope.erase(["a", "never there"])
    assert scope.find_var("a") is None


def test_a_variable_becomes_what_is_first_asked_for() -> None:
    scope = Scope()
    tensor = scope.var("t").get_tensor()
    assert isinstance(tensor, LoDTensor) and not tensor._is_initialized()
    tensor.set(np.arange(3), CPUPlace())
    assert np.array(scope.find_var("t").get_tensor()).tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert isinstance(scope.var("l").get_lod_tensor_array(), LoDTensorArray)
    assert isinstance(scope.var("s").get_selected_rows(), SelectedRows)
    assert scope.var("x").get_lod_rank_table() is None
    assert repr(scope.var("t")) == "ScopeVariable('t', LoDTensor)"


def test_another_type_is_refused() -> None:
    variable = Scope().var("a")
    variable.get_tensor()
    for use in (variable.get_lod_tensor_array, variable.get_selected_rows, variable.get_int, variable.get_float):
        with pytest.raises(EnforceNotMet, match="variable 'a' holds a LoDTensor, not"):
            use()
    with pytest.raises(EnforceNotMet, match="not an int"):
        variable.set_int(1)
    with pytest.raises(EnforceNotMet, match="holds no reader yet: run the startup program"):
        variable.get_reader()


def test_numbers() -> None:
    scope = Scope()
    whole, real = scope.var("i"), scope.var("f")
    with pytest.raises(EnforceNotMet, match="is empty"):
        whole.get_int()
    whole.set_int(3)
    real.set_float(0.5)
    assert (whole.is_int(), whole.is_float(), whole.get_int()) == (True, False, 3)
    assert (real.is_int(), real.is_float(), real.get_float()) == (False, True, 0.5)


def test_the_guard_swaps_the_global_scope_and_restores_it_after_an_error() -> None:
    outside, inside = global_scope(), Scope()
    with pytest.raises(KeyError), scope_guard(inside):
        assert global_scope() is inside
        raise KeyError
    assert global_scope() is outside


def test_switch_scope_returns_the_one_before() -> None:
    outside, inside = global_scope(), Scope()
    assert switch_scope(inside) is outside
    assert switch_scope(outside) is inside


def test_the_guard_wants_a_scope() -> None:
    bad: Any = 3
    with pytest.raises(TypeError, match=r"takes a fluid\.Scope\(\), got int"), scope_guard(bad):
        pass


@pytest.mark.parametrize(
    ("setter", "value"), [("set_int", "1"), ("set_int", 2.5), ("set_int", None), ("set_float", "x")]
)
def test_what_is_no_number_is_refused_before_what_a_variable_holds(setter: str, value: object) -> None:
    variable = Scope().var("number")
    variable.get_tensor()
    with pytest.raises(TypeError):
        getattr(variable, setter)(value)
