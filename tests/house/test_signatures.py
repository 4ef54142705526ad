"""The code stays as typed as it is: the limits here only go down."""

from __future__ import annotations

import ast

import pytest

from tests.house import signatures

SHARES = signatures.shares_of_any()
LIMITS = {"ops": 0.16, "executor": 0.225, "flow": 0.085, "recordio": 0.125, "program": 0.18, "layers": 0.23, "io": 0.29}
ALL = 0.2
IGNORED_TYPES = 8
KEPT_FROM_THE_FORMATTER = 19
FOREIGN_UNDERSCORES = 0
FLUIDS_OWN = {
    "_clone_variable",
    "_create_block",
    "_dtype",
    "_find_var_recursive",
    "_inference_optimize",
    "_insert_op",
    "_is_distributed",
    "_learning_rate",
    "_learning_rate_map",
    "_lr_schedule_guard",
    "_optimized_guard",
    "_place",
    "_prepend_op",
    "_program",
    "_prune",
    "_prune_with_input",
    "_remove_op",
    "_remove_var",
    "_rename_input",
    "_rename_output",
    "_rollback",
    "_set_attr",
    "_set_checkpoints",
    "_set_dims",
    "_to_attr",
    "_to_kwargs",
    "_var_recursive",
    "_version",
}
PYTHONS_OWN = {
    *("_asdict", "_fields", "_make", "_replace"),  # of named tuples, and meant for everybody
    "_processes",  # of ProcessPoolExecutor, which cannot end its workers by a public name before Python 3.14
}


@pytest.mark.parametrize("package", list(LIMITS))
def test_signatures_of_a_package_hold_any_no_more_often_than_before(package: str) -> None:
    held, total = SHARES[package]
    assert held / total <= LIMITS[package]


def test_signatures_hold_any_no_more_often_than_before() -> None:
    held, total = (sum(share[i] for share in SHARES.values()) for i in (0, 1))
    assert held / total <= ALL


def test_few_lines_turn_off_the_type_checker_or_the_formatter() -> None:
    assert signatures.ignored_types() <= IGNORED_TYPES
    assert signatures.kept_from_the_formatter() <= KEPT_FROM_THE_FORMATTER


def test_packages_read_no_more_underscore_names_of_others() -> None:
    found = signatures.foreign_underscores()
    ours = {name: at for name, at in found.items() if name not in FLUIDS_OWN | PYTHONS_OWN}
    assert len(ours) <= FOREIGN_UNDERSCORES, "\n".join(f"{name}: {', '.join(at)}" for name, at in ours.items())


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("def f(x: int) -> str: ...", False),
        ("def f(x: Any) -> str: ...", True),
        ("def f(x: list[Any]) -> str: ...", True),
        ("def f(*x: Any) -> str: ...", True),
        ("def f(*, x: int = 0, **y: Any) -> str: ...", True),
        ("def f(x: int) -> dict[str, Any]: ...", True),
        ("def f(x: Thing) -> str: ...", True),
    ],
)
def test_any_is_found_wherever_it_stands_and_under_other_names(code: str, counts: bool) -> None:
    tree = ast.parse("Thing = Any\n" + code)
    (function,) = signatures.signatures(tree)
    assert signatures.holds_any(function, signatures.aliases_of_any({"m": tree})) is counts
