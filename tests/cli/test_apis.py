"""`fluidio apis` judges every name that legacy programs use."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fluidio import contrib, layers
from fluidio.cli import main
from fluidio.cli.api_notes import METHODS, RAISES
from fluidio.cli.api_table import Api, judge, legacy_apis, table
from fluidio.cli.op_table import golden_cases, markdown, row
from fluidio.errors import NotHere
from fluidio.names.advice import ADVICE
from fluidio.ops import OP_TABLE
from fluidio.paddle.verdicts import resolve

ROOT = Path(__file__).parent.parent.parent


def verdict(name: str, *keywords: str) -> tuple[str, str]:
    api = judge(Api(name, "-", list(keywords)))
    return api.status, api.note


def test_every_name_has_a_verdict_and_every_verdict_but_works_a_reason() -> None:
    apis = table()
    assert len(apis) == len(legacy_apis()) == 530
    assert {api.status for api in apis} == {"works", "differs", "raises"}
    assert [api.name for api in apis if api.status != "works" and not api.note] == []


def test_a_name_that_is_there_works() -> None:
    assert verdict("fluid.layers.fc", "input", "size", "act") == ("works", "")
    assert verdict(".global_block") == ("works", "")
    assert verdict("paddle.batch") == ("works", "")


def test_a_keyword_that_nobody_takes_is_told() -> None:
    status, note = verdict("fluid.layers.fc", "flavour")
    assert status == "differs" and "flavour" in note


def test_the_docstring_says_what_differs() -> None:
    status, note = verdict("fluid.optimizer.DGCMomentumOptimizer")
    assert status == "differs" and "one machine" in note


@pytest.mark.parametrize("name", ["conv2d", "group_norm", "label_smooth", "random_crop"])
def test_what_is_as_in_fluid_does_not_differ(name: str) -> None:
    assert verdict(f"fluid.layers.{name}") == ("works", "")


def test_a_name_that_is_not_there_raises_with_advice() -> None:
    assert verdict("fluid.load_op_library") == ("raises", "compiled C++ ops cannot run here: use layers.py_func")
    assert verdict("paddle.nn.Linear") == ("raises", "Paddle 2.x, not Fluid")


def test_a_name_that_is_not_here_says_so_when_a_program_asks_for_it() -> None:
    internal = {name for name, note in RAISES.items() if note.startswith(("an internal", "a misspelling"))}
    asked = [api.name for api in table() if api.status == "raises" and api.name not in {*internal, *METHODS}]
    assert len(asked) > 20
    silent = []
    for name in asked:
        try:
            found = resolve(name.removesuffix(".*"))
            # What exists in order to say what to do: a module without names, a class that cannot be made.
            _ = found.anything if isinstance(found, ModuleType) else found("argument")
        except NotImplementedError as error:
            text = str(error)
        else:
            text = ""
        parts = name.removesuffix(".*").split(".")
        if not any(".".join(parts[:cut]) in text for cut in range(2, len(parts) + 1)) or len(text) < 40:
            silent.append(name)
    assert silent == []


@pytest.mark.parametrize("module", [layers, layers.nn, layers.detection, contrib, contrib.layers])
def test_a_missing_name_of_a_module_comes_with_advice_that_exists(module: Any) -> None:
    instead = ADVICE["fluid.layers" if module.__name__.startswith("fluidio.layers") else "fluid.contrib"]
    for name, advice in instead.items():
        if hasattr(module, name):
            continue
        with pytest.raises(NotHere, match=name) as caught:
            getattr(module, name)
        assert isinstance(caught.value, NotImplementedError) and isinstance(caught.value, AttributeError)
        assert caught.value.instead == advice
        for word in re.findall(r"(?:layers|contrib|fluid)(?:\.\w+)+", advice):
            assert resolve(word if word.startswith("fluid.") else f"fluid.{word}") is not None
    assert not hasattr(module, "nothing_like_that")
    with pytest.raises(NotHere, match=r"nothing_like_that is not supported by fluidio: there is no similar name"):
        getattr(module, "nothing_like" + "_that")


def test_a_misspelt_layer_is_told_its_right_name() -> None:
    with pytest.raises(NotHere, match="did you mean sequence_softmax"):
        getattr(layers, "sequence_" + "sofmax")


def test_the_recordio_programs_have_all_their_names() -> None:
    assert [api.name for api in table() if api.phase == "1" and api.status == "raises"] == []


def _names_in_tests() -> set[str]:
    """Return every attribute, name and short word that tests, golden programs and examples use."""
    used: set[str] = set()
    paths = [path for folder in ("tests", "examples") for path in (ROOT / folder).rglob("*.py")]
    for path in paths:
        if path == Path(__file__):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:
            continue  # a script for Python 2
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                used.add(node.attr)
            elif isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.alias):
                used.add(node.name.rpartition(".")[2])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                used.add(node.value)  # names of ops and layers in tables of cases
    return used


def test_what_works_is_used_by_a_test() -> None:
    used = _names_in_tests()
    wanted = [api.name for api in table() if api.phase in "123" and api.status != "raises"]
    assert [name for name in wanted if name.removesuffix(".*").rpartition(".")[2] not in used] == []


def test_the_first_three_phases_are_here_but_for_model_compression() -> None:
    raising = [api.name for api in table() if api.phase in "123" and api.status == "raises"]
    assert raising in ([], ["fluid.contrib.slim.*"])


def test_the_listing_ends_with_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "--status", "differs"]) == 0
    out = capsys.readouterr().out
    assert "phase 1 (RecordIO programs): 107 names" in out
    assert all(line.split()[1] == "differs" for line in out.split("\n\n")[0].splitlines())


def test_json_is_one_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "--json", "fluid.layers.fc", "fluid.layers.nothing"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(api["name"], api["status"]) for api in found] == [
        ("fluid.layers.fc", "works"),
        ("fluid.layers.nothing", "raises"),
    ]


def test_the_op_table_has_a_line_for_every_op(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "--ops"]) == 0
    out = capsys.readouterr().out
    assert out == markdown({})
    assert "| `mul` | X Y | Out |" in out
    assert "`mul_grad`" not in out


def test_the_document_holds_no_stale_line() -> None:
    golden = golden_cases(ROOT / "tests" / "data" / "golden")
    lines = [line for line in (ROOT / "docs" / "ops.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    assert len(lines) > 100
    stale = []
    for line in lines:
        name = line.split("`")[1]
        if name not in OP_TABLE or _start(row(OP_TABLE[name], golden.get(name, []))) != _start(line):
            stale.append(name)
    assert stale == [], "run: python -m fluidio apis --ops --golden tests/data/golden > docs/ops.md"


def _start(line: str) -> list[str]:
    """Return op, inputs and outputs of a line."""
    return [cell.strip() for cell in line.split(" | ")[:3]]
