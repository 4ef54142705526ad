"""Python 2 residue is rewritten where it shows, and nothing else is."""

from __future__ import annotations

import pytest

from fluidio.paddle.modernise import modernise, needs_modernising, to_code_text


def run(text: str) -> dict[str, object]:
    names: dict[str, object] = {"__name__": "script"}
    exec(compile(to_code_text(text, "script.py")[0], "script.py", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("a = [i for i in xrange(3)]", "a", [0, 1, 2]),
        ("a = sorted(k for k, v in {'x': 1}.iteritems())", "a", ["x"]),
        ("a = {'x': 1}.has_key('x')", "a", True),
        ("a = map(int, ['1', '2'])[1]", "a", 2),
        ("a = len(map(int, ['1', '2']))", "a", 2),
        ("a = {'x': 1}.keys()[0]", "a", "x"),
        ("import numpy as np\na = np.int(3.7)", "a", 3),
        ("import numpy as np\na = np.zeros(2, dtype=np.float).dtype.name", "a", "float64"),
        ("import numpy as np\na = np.asscalar(np.ones(1))", "a", 1.0),
        ("import sys\nreload(sys)\nsys.setdefaultencoding('utf-8')\na = 1", "a", 1),
        ("from distutils.util import strtobool\na = strtobool('yes')", "a", 1),
        ("import cPickle as pickle\na = pickle.loads(pickle.dumps(3))", "a", 3),
        ("try:\n    raise ValueError, 'x'\nexcept ValueError, e:\n    a = str(e)", "a", "x"),
        ("exec 'b = 1'\na = 7 / 2", "a", 3),
        ("exec 'b = 1'\na = 7 / 2.0", "a", 3.5),
        ("exec 'b = 1'\na = 7\na /= 2", "a", 3),
        ("from __future__ import division\nexec 'b = 1'\na = 7 / 2", "a", 3.5),
        ("a = u'x' + unicode('y')", "a", "xy"),
    ],
)
def test_old_text_runs(text: str, name: str, value: object) -> None:
    assert run(text)[name] == value


def test_division_of_a_python3_text_stays_true() -> None:
    assert run("a = [i for i in xrange(1)]\nb = 7 / 2")["b"] == 3.5


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\na = np.int32(1)\n",
        "import six\nfor k, v in six.iteritems({}): pass\n",
        "print('np.int and xran' 'ge')\n",
        "a, b = map(int, '12')\n",
        "for x in zip([1], [2]): pass\n",
    ],
)
def test_modern_text_is_left_alone(text: str) -> None:
    assert not needs_modernising(text) or modernise(text)[0] == text


def test_names_in_strings_stay() -> None:
    assert "'np.int'" in modernise("import numpy as np\na = np.int(1)\nb = 'np.int'\n")[0]


def test_lines_stay_in_place() -> None:
    text = "import numpy as np\nprint 'x'\na = np.float(1)\nraise ValueError, 'here'\n"
    assert modernise(text)[0].splitlines()[3].startswith("raise ValueError")


def test_rubbish_is_a_syntax_error_with_its_line() -> None:
    with pytest.raises(SyntaxError):
        modernise("def (:\n")
