"""Every row of the table does what it says, in each way that a script can come to the name."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest

from fluidio.paddle.capsule.modules import renew
from fluidio.paddle.capsule.table import ROWS, Row
from tests.paddle.capsule.helper_cases import CASES
from tests.paddle.capsule.running import renewed, value

NAMES = [row for row in ROWS if row.kind == "name" and not row.condition and not row.python2_only]
PY2 = "exec 'b = 1'\n"


def resolve(target: str) -> Any:
    """Return the object that a dotted target names."""
    if "(" in target:
        return eval(target)
    path = target.replace("capsule.", "fluidio.paddle.capsule.", 1) if target.startswith("capsule.") else target
    parts = path.split(".")
    for cut in range(len(parts), -1, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]) or "builtins")
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise LookupError(target)


def is_here(target: str) -> bool:
    """Return whether the package of a target is installed."""
    root = target.partition(".")[0]
    third_party = ("scipy", "PIL", "cv2", "sklearn", "pandas", "joblib", "matplotlib", "yaml")
    return root not in third_party or importlib.util.find_spec(root) is not None


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row.old)
def test_a_name_of_a_module_becomes_its_target_however_it_was_imported(row: Row) -> None:
    module, _, name = row.key.rpartition(".")
    texts = [
        f"import {module} as m\na = m.{name}\n",
        f"import {module}\na = {row.key}\n",
        f"from {module} import {name} as a\n",
    ]
    for text in texts:
        new = renew(text, "s.py")
        assert [change.new for change in new.changes if change.old.endswith(name)], new.text
        compile(new.with_imports(), "s.py", "exec")


@pytest.mark.parametrize(
    "row", [row for row in NAMES if is_here(row.key) and is_here(row.new)], ids=lambda row: row.old
)
def test_a_name_of_a_module_has_its_value(row: Row) -> None:
    module, _, name = row.key.rpartition(".")
    top = module.partition(".")[0]
    expected = resolve(row.new)
    if top == "distutils" or module == "scipy.misc" or row.key == "os.errno":
        texts = [f"from {module} import {name} as a\n"]
    else:
        texts = [f"import {module} as m\na = m.{name}\n", f"from {module} import {name} as a\n"]
    for text in texts:
        assert value(text) == expected or repr(value(text)) == repr(expected), text


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "module"], ids=lambda row: row.old)
def test_a_module_is_imported_from_where_it_is_now(row: Row) -> None:
    if not is_here(row.new):
        assert row.new in renewed(f"import {row.key} as a\n")
        return
    expected = resolve(row.new)
    assert value(f"import {row.key} as a\n") is expected
    if "." not in row.key:
        assert value(f"import os, {row.key}\na = {row.key}\n") is expected
    name = next(n for n in dir(expected) if not n.startswith("_"))
    assert value(f"from {row.key} import {name} as a\n") is getattr(expected, name)


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "builtin"], ids=lambda row: row.old)
def test_a_builtin_of_python_2_is_there(row: Row) -> None:
    assert value(f"{PY2 if row.python2_only else ''}a = {row.key}\n") is resolve(row.new)
    assert renewed(f"def f({row.key}):\n    return {row.key}\n") == f"def f({row.key}):\n    return {row.key}\n"


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # the scripts of that time
@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_a_helper_does_what_was_meant(text: str, expected: Any) -> None:
    for module in ("yaml", "pandas", "PIL", "scipy"):
        if f"import {module}" in text or f"from {module} " in text or f", {module}" in text or f"[{module}]" in text:
            pytest.importorskip(module, reason=f"extra: {module} is not installed")
    found = value(text)
    assert found == expected and type(found) is type(expected), found


def test_every_helper_that_the_table_names_has_a_case() -> None:
    named = {row.new.removeprefix("capsule.") for row in ROWS if row.new.startswith("capsule.")}
    named = {name for name in named if not name.startswith("scalar_math.")} | {"scalar_math.exp"}
    cased = {word.strip(",") for key in CASES for word in key.split()}
    assert named - cased == set()


def test_no_row_is_there_twice() -> None:
    keys = [(row.kind, row.old, row.python2_only) for row in ROWS]
    assert len(keys) == len(set(keys))
