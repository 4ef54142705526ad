"""The document of what is compared is true, and what is compared is enough."""

from __future__ import annotations

from pathlib import Path

import tests.differential.ops_drawn  # noqa: F401  (fills the table)
from tests.differential.coverage import coverage, covered, markdown, wanted
from tests.differential.draw import DRAWS

ROOT = Path(__file__).parents[2]


def test_the_document_says_what_the_stored_cases_compare() -> None:
    found = (ROOT / "docs" / "ops-compared.md").read_text("utf-8")
    assert found == markdown(), "run: python -m tests.differential.coverage > docs/ops-compared.md"


def test_every_drawn_op_has_five_stored_cases() -> None:
    known = coverage()
    assert len(DRAWS) > 300
    assert [op for op in DRAWS if op not in known or known[op][0] < 5] == []


def test_few_slots_and_attributes_are_in_no_case() -> None:
    gaps = {op: wanted(op) - found for op, (_, found) in coverage().items() if wanted(op) - found}
    assert len(gaps) < 70, gaps


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
