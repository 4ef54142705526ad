"""A module keeps the meaning of the Python it was written for, and reaches the branch that it has for Python 3."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fluidio.paddle.capsule.modules import python_of, renew
from fluidio.paddle.sources import CapsuleFinder
from tests.paddle.capsule.running import renewed, run, value


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("print 'x'\n", 2),
        ("import cPickle\n", 2),
        ("from __future__ import print_function\nimport Queue\n", 2),
        ("for i in xrange(3):\n    pass\n", 2),
        ("d = {}\nfor k, v in d.iteritems():\n    pass\n", 2),
        ("import string\nx = string.letters\n", 2),
        ("from itertools import izip\n", 2),
        ("if x:\n\ty = 1\n        z = 2\n", 2),
        ("x = f'{1}'\n", 3),
        ("def f(x: int): pass\n", 3),
        ("import six\nfor i in six.moves.xrange(3): pass\n", 3),
        ("from __future__ import print_function\nfor i in xrange(3): pass\n", 3),
        ("try:\n    import cPickle as pickle\nexcept ImportError:\n    import pickle\n", 3),
        ("try:\n    xrange\nexcept NameError:\n    xrange = range\n", 3),
        ("import sys\nif sys.version_info[0] < 3:\n    reload(sys)\n    sys.setdefaultencoding('utf8')\n", 3),
        ("def f(v):\n    v = v.decode() if isinstance(v, bytes) else v\n    return v or raw_input()\n", 3),
        ("import numpy as np\nx = np.concatenate([[1]])\nopen('x')\n", 0),
        ("x = 1\n", 0),
        ("def reduce(x): pass\nreduce(1)\n", 0),
        ("from functools import reduce\nreduce(max, [1])\n", 0),
    ],
)
def test_the_python_of_a_module_is_read_off_its_text(text: str, python: int) -> None:
    assert python_of(text, "script.py")[0] == python


def test_a_module_without_signs_follows_its_program() -> None:
    assert "divide" in renew("a = n / 2\n", "model.py", program=2).text
    assert renew("a = n / 2\n", "model.py").text == "a = n / 2\n"


def test_python_can_be_chosen() -> None:
    assert "divide" in renew("a = f'{n}' and n / 2\n", "model.py", forced=2).text
    assert "divide" not in renew("a = n / 2\nimport cPickle\n", "model.py", program=2, forced=3).text


def test_division_of_a_python_3_module_stays_true() -> None:
    assert value("import six\na = 7 / 2") == 3.5


def test_the_python_3_branch_of_a_guarded_import_is_reached() -> None:
    names = run(
        "try:\n    import cPickle as pickle\n    import cStringIO\n    from cStringIO import StringIO\n"
        "except ImportError:\n    import pickle\n    from io import BytesIO as StringIO\n"
        "a = StringIO(pickle.dumps(1))\n"
    )
    assert "cStringIO" not in names and names["a"].read()


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    text_type = unicode\nexcept NameError:\n    text_type = str\n",
        "import six\nif six.PY2:\n    import cPickle as pickle\nelse:\n    import pickle\n",
        "import sys\nif sys.version_info.major == 2:\n    input = raw_input\n",
        "try:\n    from collections import Iterable\nexcept ImportError:\n    from collections.abc import Iterable\n",
        "try:\n    import cPickle\nexcept:\n    import pickle as cPickle\n",
        "import numpy as np\na = np.int32(1)\nb = np.zeros([2, 3], dtype='int64')\nb[:, 0] = a\n",
        "for i in range(3):\n    print('%d of %d' % (1, 2))\n",
        "a, b = map(int, '12')\nfor x in zip([1], [2]):\n    pass\n",
        "class Shape(object):\n    def append(self, x):\n        self.x.append(x)\n",
        "import os\nsize = os.path.getsize(__file__)\n",
        "x = {}\nx['loss'] = f(1)\n",
        "a = 'np.int xrange d.has_key(1)'  # np.float\n",
    ],
)
def test_what_runs_today_is_left_alone(text: str) -> None:
    assert renewed(text) == text


def test_lines_stay_where_they_are() -> None:
    text = (
        "from collections import (\n    Iterable,\n    OrderedDict)\nimport numpy as np\nx = np.int(\n    3.5)\n"
        "y = ('%f '\n     '%f' % (\n    x,  # a / comment\n    x))\nz = (7 /\n     2)\nwhere = here\n"
    )
    new = renew(text, "s.py", program=2)
    assert new.text.count("\n") == text.count("\n")
    assert new.text.splitlines()[-1] == "where = here"
    compile(new.text, "s.py", "exec")


def test_nested_rewrites_compose() -> None:
    inner = "int(np.array([float(np.array([7 / 2 / 1]))]))"
    text = f"import cPickle\nimport numpy as np\na = '%d' % {inner} + str(dict(x=9 / 2).values()[0] / 3)\n"
    assert value(text) == "31"


def test_a_generator_alone_in_a_call_gets_brackets_of_its_own() -> None:
    assert value("import cPickle\na = ','.join(str(x / 2) for x in [4, 5])\n") == "2,2"
    assert value("import cPickle\na = '|'.join((c for c in 'xy'))\n") == "x|y"


def test_a_star_import_may_hide_numpy(tmp_path: object) -> None:
    assert "np.int" not in renew("from utils import *\nx = np.int(3)\n", "s.py").text


def test_a_script_that_has_its_own_capsule_keeps_it() -> None:
    names = run("import numpy as np\ncapsule = 1\na = float(np.ones(1))\n")
    assert (names["capsule"], names["a"]) == (1, 1.0)


def test_a_target_whose_module_is_shadowed_gets_another_name() -> None:
    assert value("functools = 3\na = reduce(max, [1, 2])\n") == 2


def test_a_builtin_that_the_script_shadows_is_still_reached() -> None:
    assert value("import numpy as np\nint = 5\na = np.int(3.5)\n") == 3


def test_rubbish_is_a_syntax_error_with_its_line() -> None:
    with pytest.raises(SyntaxError) as caught:
        renew("x = 1\ndef (:\n", "s.py")
    assert caught.value.lineno == 2


def test_what_is_ported_runs_without_the_capsule_around_it() -> None:
    text = renewed(
        '"""Doc."""\nfrom __future__ import print_function\n'
        "import Queue\nimport numpy as np\na = 7 / 2 + float(np.ones(1))\n"
    )
    names: dict[str, object] = {}
    exec(compile(text, "s.py", "exec"), names)
    assert names["a"] == 4.0
    assert text.splitlines()[2] == "from fluidio.paddle import capsule"


def package(folder: Path, **texts: str) -> Path:
    """Write a package of Python 2 modules."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.mark.parametrize("sign", ["print 'x'\n", ""], ids=["old syntax", "no sign"])
def test_a_module_finds_those_beside_it_in_its_package(sign: str, tmp_path: Path, monkeypatch: Any) -> None:
    name = f"pk{len(sign)}"
    package(
        tmp_path / name,
        __init__=f"{sign}import beside_a as b\nfrom beside_b import (w,\n    v)\nimport beside_b\n",
        beside_a=f"{sign}from beside_b import v as x\n",
        beside_b="v, w = 7, 8\n",
    )
    (tmp_path / "train.py").write_text(f"import {name}\na = [{name}.b.x, {name}.w, {name}.beside_b.v]\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "meta_path", [CapsuleFinder(), *sys.meta_path])
    assert run((tmp_path / "train.py").read_text())["a"] == [7, 8, 7]
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]


def test_an_import_that_finds_its_module_elsewhere_stays_absolute_in_python_3(tmp_path: Path) -> None:
    folder = package(tmp_path / "pk", __init__="", json="")
    assert renew("import six, json\n", str(folder / "a.py"), in_package=True).text == "import six, json\n"
    assert renew("import json\nprint 1\n", str(folder / "a.py"), in_package=True).text.startswith("from . import json")
    future = "from __future__ import absolute_import\nimport json\nprint 1\n"
    assert "from . import" not in renew(future, str(folder / "a.py"), in_package=True).text


NAMED = """
import argparse
def fetch(x, async=False, **more):
    await = async
    return await, sorted(more)  # async
class Reader(object):
    async = 5
    def await(self):
        return self.async
p = argparse.ArgumentParser()
p.add_argument('--async', type=int, default=3)
args = p.parse_args([])
a = [fetch(1, async=args.async), fetch(1, **{'async': 7})]
a += [Reader().await(), getattr(Reader, 'async'), 'async', dict(async=1)]
"""


@pytest.mark.parametrize("sign", ["", "print 'Python 2'\n"])
def test_words_that_are_keywords_today_are_names_again(sign: str) -> None:
    assert value(NAMED + sign) == [(3, []), (7, []), 5, 5, "async", {"async": 1}]
    assert python_of(NAMED + sign, "script.py")[0] == (2 if sign else 0)
    names: dict[str, Any] = {}
    exec(renewed(NAMED + sign), names)
    assert names["a"] == value(NAMED)


def test_coroutines_stay_coroutines() -> None:
    text = "async def f():\n    await g()\n"
    assert renewed(text) == text
    with pytest.raises(SyntaxError):
        renewed(text + "def h(async=1): pass\n")
