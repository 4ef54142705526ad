"""The document of what is compared is true, and what is compared is enough."""

from __future__ import annotations

from pathlib import Path

import tests.differential.ops_drawn  # noqa: F401  (fills the table)
from tests.differential.coverage import coverage, covered, markdown, missing_names
from tests.differential.draw import DRAWS
from tests.differential.reasons import REASONS

ROOT = Path(__file__).parents[2]


def test_the_document_says_what_the_stored_cases_compare() -> None:
    found = (ROOT / "docs" / "ops-compared.md").read_text("utf-8")
    assert found == markdown(), "run: python -m tests.differential.coverage > docs/ops-compared.md"


def test_every_drawn_op_has_five_stored_cases() -> None:
    known = coverage()
    assert len(DRAWS) > 300
    assert [op for op in DRAWS if op not in known or known[op][0] < 5] == []


def test_a_slot_or_attribute_in_no_case_has_a_reason() -> None:
    gaps = {(op, name) for op, (_, found) in coverage().items() for name in missing_names(op, found)}
    assert gaps - set(REASONS) == set()


def test_a_reason_is_given_for_nothing_that_a_case_has() -> None:
    gaps = {(op, name) for op, (_, found) in coverage().items() for name in missing_names(op, found)}
    assert set(REASONS) - gaps == set()


def test_a_case_compares_its_slots_and_the_attributes_off_their_defaults() -> None:
    step = {
        "do": "op",
        "type": "leaky_relu",
        "in": {"X": ["in_X"]},
        "out": {"Out": ["out_Out"]},
        "attrs": {"alpha": 0.5},
    }
    case = {"about": "leaky_relu", "steps": [step, {"do": "gradients"}], "fetch": ["out_Out"]}
    assert covered(case) == {("in", "X"), ("out", "Out"), ("attr", "alpha"), ("grad", "")}
    step["attrs"] = {"alpha": 0.02}
    assert ("attr", "alpha") not in covered(case)
