"""The differential tester itself: what it draws, and what it notices. None of this needs the real 1.8.5."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest

import fluidio
from tests.differential.cases import draw_case, draw_cases, draw_op
from tests.differential.compare import compare, verdict
from tests.differential.draw import DRAWS
from tests.differential.interpret import run_case
from tests.differential.misuse import misuse, misused
from tests.differential.mutate import mutate
from tests.differential.programs_drawn import FAMILIES
from tests.differential.protos import PROTOS, op_step
from tests.differential.report import Report
from tests.differential.schedule import Schedule
from tests.differential.sides import ours


@pytest.fixture
def relu() -> tuple[dict[str, Any], dict[str, Any]]:
    case = draw_op("leaky_relu", 1, 0)
    return case, run_case(fluidio, case)


def test_a_seed_gives_the_same_cases_again() -> None:
    assert list(draw_cases(5, 50, [])) == list(draw_cases(5, 50, []))
    assert draw_op("conv2d", 5, 0) != draw_op("conv2d", 6, 0)


@pytest.mark.parametrize("op", sorted(DRAWS))
def test_what_is_drawn_is_plain_data_with_slots_and_attributes_of_the_op(op: str) -> None:
    for number in range(3):
        case = draw_op(op, 1, number)
        assert json.loads(json.dumps(case)) == case
        step = op_step(case)
        assert step is not None
        assert set(step["in"]) <= set(PROTOS()[op]["inputs"])
        assert set(step["attrs"]) <= set(PROTOS()[op]["attrs"])


def test_a_changed_op_is_plain_data_too_and_the_same_again() -> None:
    cases = list(draw_cases(3, 300, [], mutate))
    assert json.dumps(cases) == json.dumps(list(draw_cases(3, 300, [], mutate)))
    assert sum(case["id"].count("/") > 2 for case in cases) > 200


def test_a_misused_call_is_plain_data_too_and_the_same_again() -> None:
    cases = list(draw_cases(3, 300, [], misuse))
    assert json.dumps(cases) == json.dumps(list(draw_cases(3, 300, [], misuse)))
    assert all(case["about"].startswith("layer ") and case["id"].count("/") > 2 for case in cases)


def test_a_misused_call_must_be_refused_where_1_8_5_does_with_its_class(
    relu: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    def refused(stage: str, kind: str) -> dict[str, Any]:
        return {"error": {"stage": stage, "type": kind, "text": "no"}}

    early, late = refused("build", "TypeError"), refused("run", "EnforceNotMet")
    assert misused(early, early) == misused(late, late) == misused(late, relu[1]) == misused({"crash": 6}, early) == []
    assert [one.kind for one in misused(early, relu[1])] == ["taken"]
    assert [one.kind for one in misused(early, late)] == ["taken"]
    assert [one.kind for one in misused(late, early)] == ["refused early"]
    assert [one.kind for one in misused(early, refused("build", "ValueError"))] == ["other class"]
    assert [one.kind for one in misused(relu[1], early)] == ["error"]


def test_a_result_agrees_with_itself(relu: tuple[dict[str, Any], dict[str, Any]]) -> None:
    _, result = relu
    assert verdict(result, result) == "compared"
    assert compare(result, json.loads(json.dumps(result))) == []


def test_the_gradient_is_fetched_with_the_output(relu: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert set(relu[1]["values"]) == {"0 out_Out", "0 in_X@GRAD"}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda r: r["values"].update({"0 out_Out": {**r["values"]["0 out_Out"], "lod": [[1]]}}), "lod"),
        (lambda r: r["values"].pop("0 in_X@GRAD"), "value"),
        (lambda r: r["main"]["vars"]["out_Out"].update(shape=[9]), "var shape"),
        (lambda r: r["main"]["ops"][0].pop(), "op list"),
        (lambda r: r["names"].update(out_Out="tmp_3"), "name"),
        (lambda r: r.update(error={"stage": "run", "type": "ValueError", "text": "no"}), "error"),
        (lambda r: r.update(crash=6), "crash"),
        (lambda r: r.update(saved={"w": "0"}), "saved"),
    ],
)
def test_each_kind_of_difference_is_noticed(
    relu: tuple[dict[str, Any], dict[str, Any]], change: Any, kind: str
) -> None:
    changed = copy.deepcopy(relu[1])
    change(changed)
    assert kind in [difference.kind for difference in compare(relu[1], changed)]


def test_values_may_differ_by_rounding_alone() -> None:
    case = draw_op("exp", 1, 0)
    result = run_case(fluidio, case)
    case["inputs"]["in_X"]["values"][0]["data"][0] += 0.01
    assert [one.kind for one in compare(result, run_case(fluidio, case)) if one.where == "0 out_Out"] == ["value"]


def test_where_the_real_one_refuses_nothing_differs(relu: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert compare({"crash": 6}, relu[1]) == []
    assert verdict({"crash": 6}, relu[1]) == "only ours runs"


def test_the_report_counts_attributes_off_their_defaults() -> None:
    report = Report()
    case = draw_op("leaky_relu", 1, 0)
    case["steps"][0]["attrs"] = {"alpha": 0.5}
    report.add(case, "compared", [])
    assert report.attrs["leaky_relu", "alpha"] == 1
    assert "leaky_relu: 1 drawn, 1 compared, 1 with gradients" in report.table()
    assert "leaky_relu" in report.rare()


def test_a_case_that_kills_its_process_does_not_stop_the_run() -> None:
    side = ours()
    deadly = {"inputs": {}, "steps": [{"do": "call", "name": "era.os._exit", "args": [3]}], "fetch": []}
    try:
        assert "crash" in side.run(deadly)
        assert "values" in side.run(draw_op("relu", 1, 0))
    finally:
        side.close()


def test_what_was_compared_too_rarely_is_drawn_first() -> None:
    report = Report()
    report.verdicts["relu"]["compared"] = 20
    schedule = Schedule(["abs", "relu"], ["program flat"], report)
    assert [about for about, _ in itertools.islice(schedule, 9)].count("relu") == 0
    assert dict(schedule.drawn) == {"abs": 8, "program flat": 1}


def test_an_attribute_that_keeps_its_default_counts_as_rare() -> None:
    report = Report()
    for number in range(20):
        case = draw_op("leaky_relu", 1, number)
        case["steps"][0]["attrs"] = {"alpha": 0.02}
        report.add(case, "compared", [])
    assert "leaky_relu.alpha 0" in report.rare()
    assert not Schedule(["leaky_relu"], [], report).satisfied("leaky_relu")


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_of_every_family_are_plain_data(family: str) -> None:
    for number in range(8):
        case = draw_case(f"program {family}", 3, number)
        assert json.loads(json.dumps(case)) == case
        assert case["fetch"]
