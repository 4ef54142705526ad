"""Stored cases give the results that the real 1.8.5 gave: values, gradients, names, ops, shapes and saved bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

import fluidio
from tests.differential.compare import compare
from tests.differential.interpret import run_case
from tests.differential.stored import FOLDER, read_stored


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json.gz")), ids=lambda path: path.name.split(".")[0])
def test_a_stored_case_agrees_with_the_real_one(path: Path) -> None:
    fluidio.use_era("1.8")
    entries = read_stored(path)
    assert entries
    found = {entry["case"]["id"]: compare(entry["real"], run_case(fluidio, entry["case"])) for entry in entries}
    assert {name: differences for name, differences in found.items() if differences} == {}
