"""Arithmetic of the user's modules gives the dtypes of NumPy 1.19; the values here are its own."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from fluidio.paddle.capsule.arithmetic import keep_old_dtypes
from fluidio.paddle.capsule.bindings import Bindings
from tests.paddle.capsule.running import run, value

HEAD = "import numpy as np\nx = np.ones(3, 'float32')\nu = np.array([200, 3], 'uint8')\n"


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("x * np.float64(2)", "float32", [2, 2, 2]),
        ("x / np.sqrt(4.0)", "float32", [0.5] * 3),
        ("x + np.array(2.0)", "float32", [3, 3, 3]),
        ("x ** np.float64(2)", "float32", [1, 1, 1]),
        ("x + np.int64(3)", "float32", [4, 4, 4]),
        ("x + np.float64(1e300)", "float64", [1e300] * 3),
        ("np.float32(3) * 2", "float64", 6.0),
        ("3.0 + np.float32(1)", "float64", 4.0),
        ("np.float16(1) * 2.0", "float64", 2.0),
        ("np.dot(x, x) * 2.0", "float64", 6.0),
        ("u + 300", "uint16", [500, 303]),
        ("u * -1", "int16", [-200, -3]),
        ("u[0] + 100", "int64", 300),
        ("u[0] << 3", "int64", 1600),
        ("u + np.int64(3)", "uint8", [203, 6]),
        ("u // np.int64(2)", "uint8", [100, 1]),
        ("u * 0.5", "float64", [100, 1.5]),
        ("np.int32(3) + 2 ** 40", "int64", 2**40 + 3),
        ("np.int64(2) * np.float32(1.5)", "float64", 3.0),
        ("np.maximum(x, np.float64(2))", "float32", [2, 2, 2]),
        ("np.where(x > 0, x, np.float64(3))", "float32", [1, 1, 1]),
        ("np.clip(x, np.float64(2), np.float64(3))", "float32", [2, 2, 2]),
        ("np.add(u, 300)", "uint16", [500, 303]),
        ("sum([np.float32(1), np.float32(2)])", "float64", 3.0),
        ("sum(x)", "float64", 3.0),
    ],
)
def test_the_dtype_is_that_of_numpy_1(text: str, dtype: str, values: Any) -> None:
    found = value(HEAD + f"a = {text}\n")
    assert found.dtype == dtype and found.tolist() == values


def test_sums_grow_as_float64() -> None:
    found = value(HEAD + "class T: pass\nt = T()\nt.s = 0.0\nfor v in x: t.s += v\na = t.s\n")
    assert found.dtype == "float64" and found == 3.0


def test_an_array_changes_in_place() -> None:
    assert value(HEAD + "y = x\nx *= np.float64(2)\nu += 300\na = [y.tolist(), x.dtype.name, u.tolist()]\n") == [
        [2.0, 2.0, 2.0],
        "float32",
        [244, 47],
    ]


def test_what_is_not_numpys_stays_as_it_is() -> None:
    text = "l = [1]\nm = l\nl += (2,)\na = [m, 'a' + 'b', [0] * np.int64(2), 7 / 2, '%d' % 3, 2 ** 70 + 1]\n"
    assert value(HEAD + text) == [[1, 2], "ab", [0, 0], 3.5, "3", 2**70 + 1]


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(3):\n    b = i * 2 + 1\n",
        "def f(n):\n    k = 0\n    for i, x in enumerate(n):\n        k += 1 - i\n    return k + len(n)\n",
        "a = 'x' + y\nb = [0] * n\n",
    ],
)
def test_counters_and_texts_are_left_alone(text: str) -> None:
    tree = ast.parse("import numpy as np\n" + text)
    assert not keep_old_dtypes(tree, Bindings(tree))


@pytest.mark.parametrize(
    "text", ["a = b * c\n", "n = 0\nfor x in y: n += x\n", "class C:\n    def f(self): self.n += 1\n"]
)
def test_a_module_without_numpy_is_left_alone(text: str) -> None:
    tree = ast.parse(text)
    assert not keep_old_dtypes(tree, Bindings(tree))


@pytest.mark.parametrize("old", ["", "exec 'b = 1'\n"])
def test_meters_of_a_module_without_numpy_add_up_in_float64(old: str) -> None:
    text = "class M:\n    def __init__(self): self.total = 0\n    def add(self, v, n): self.total += v * n\n"
    text += "def mean(h): return sum(h) / len(h)\n"
    names = run(old + text)
    meter = names["M"]()
    for value_ in np.full(3, 0.1, "float32"):
        meter.add(value_, 2)
    assert meter.total == 6 * float(np.float32(0.1)) and meter.total.dtype == "float64"
    assert names["mean"](list(np.full(3, 0.1, "float32"))).dtype == "float64"


def test_a_script_that_looks_through_its_functions_sees_its_own() -> None:
    text = "import numpy as np\ndef half(x): return x / 2\nclass Net(object):\n"
    text += "    def scale(self, x): return x * np.ones(1)\n"
    names = run(text + "a = sorted(n for n, f in list(globals().items()) if not n.startswith('_') and callable(f))\n")
    assert names["a"] == ["Net", "half"]
    assert names["Net"]().scale(2.0).tolist() == [2.0]
