"""Change one argument of a drawn call into what it should not be, or may be only in 1.8.5: other types, dtypes, ranks.

What 1.8.5 computes is compared as ever; where it refuses while the program is built, ours must refuse there, with an
exception of the same class (`misused`).
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.differential.compare import Difference, compare
from tests.differential.tensors import decode, literal

__all__ = ["misuse", "misused"]

Case = dict[str, Any]
_DTYPES = ["int32", "int64", "float16", "float32", "float64", "bool", "uint8", "int8"]


def misuse(case: Case, rng: random.Random) -> Case:
    """Return a case of one call with one argument changed; what it is called ends in what was changed."""
    changed = copy.deepcopy(case)
    step = next(one for one in reversed(changed["steps"]) if one.get("out") == "out")
    at = changed["steps"].index(step)
    if rng.random() < 0.6:  # without gradients more of what was changed can run
        del changed["steps"][at + 1 :]
        changed["fetch"] = [name for name in changed["fetch"] if not name.endswith("@GRAD")]
    places: list[tuple[Any, Any]] = [(step["args"], i) for i in range(len(step.setdefault("args", [])))]
    places += [(step["kw"], name) for name in sorted(step.setdefault("kw", {}))]
    if not places or rng.random() < 0.04:
        changed["id"] += "/" + _signature(step, rng)
        return changed
    holder, key = rng.choice(places)
    word, holder[key] = _other(changed, at, holder[key], rng)
    changed["id"] += f"/{key}: {word}"
    return changed


def misused(real: dict[str, Any], ours: dict[str, Any]) -> list[Difference]:
    """Return the differences of a misused call: those of results, or of the refusals at build time."""
    if "crash" in real:
        return []
    error, mine = real.get("error"), ours.get("error")
    if error is None or "crash" in ours:
        return compare(real, ours)
    if error["stage"] == "run":
        return [Difference("refused early", mine["type"], _why(error))] if mine and mine["stage"] == "build" else []
    if mine is None or mine["stage"] == "run":
        return [Difference("taken", error["type"], _why(error))]
    if mine["type"] != error["type"]:
        return [Difference("other class", f"{error['type']} / {mine['type']}", f"{_why(error)} / {_why(mine)}")]
    return []


def _why(error: dict[str, Any]) -> str:
    return f"{error['type']}: {error['text'][:300]}"


def _signature(step: Case, rng: random.Random) -> str:
    if rng.random() < 0.5 or not step["args"]:
        step["kw"]["no_such_argument"] = 1
        return "an unknown keyword"
    step["args"].pop()
    return "an argument less"


def _other(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    """Return a word for the change, and the argument instead of `now`."""
    if isinstance(now, dict) and "var" in now and now["var"] in case["inputs"] and rng.random() < 0.5:
        word = rng.choice(_INPUTS)(case["inputs"][now["var"]], rng)
        if word:
            return word, now
    kinds: list[Callable[[Case, int, Any, random.Random], tuple[str, Any]]] = [_plain]
    if isinstance(now, bool):
        kinds += [_number, _scalar, _variable]
    elif isinstance(now, (int, float)):
        kinds += [_number, _number, _scalar, _scalar, _array, _variable, _variable, _in_list]
    elif isinstance(now, list) or (isinstance(now, dict) and "tuple" in now):
        kinds += [_sequence] * 5 + [_array]
    elif isinstance(now, dict):
        kinds += [_in_list, _array]
    change = rng.choice(kinds)
    return change(case, at, now, rng)


def _plain(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    value = rng.choice([None, None, 0, 1, -1, 2.5, True, "word", [], [2], [0.5], {"tuple": [1, 2]}])
    return repr(value), value


def _number(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    value = rng.choice([-now, now + 1, float(now), int(now), now + 0.5, 0, -1, bool(now), str(now), 10**6])
    return repr(value), value


def _scalar(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    dtype = rng.choice(["int32", "int64", "float32", "float64", "bool"])
    value = {"method": [{"array": literal(np.asarray(now, dtype))}, "__getitem__"], "args": [{"tuple": []}]}
    return f"numpy.{dtype}", value


def _array(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    if isinstance(now, dict) and "var" in now:
        given = case["inputs"].get(now["var"])
        array = decode(given["values"][0]) if given else np.ones([2, 2], "float32")
        return "its array", {"array": literal(array)}
    plain = now["tuple"] if isinstance(now, dict) and "tuple" in now else now
    try:
        array = np.asarray(plain if isinstance(plain, list) else [plain])
    except ValueError:
        return _plain(case, at, now, rng)
    if array.dtype.kind not in "ifb":
        return _plain(case, at, now, rng)
    return "an array", {"array": literal(array)}


def _variable(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    dtype, shape = rng.choice(["int32", "int64", "float32", "float64"]), rng.choice([[1], [1], [1], [2], [1, 1]])
    made = {"do": "call", "name": "layers.fill_constant", "args": [shape, dtype, float(now)], "kw": {}, "out": "other"}
    case["steps"].insert(at, made)
    return f"a Variable of {dtype}{shape}", {"var": "other"}


def _in_list(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    word, value = rng.choice([("in a list", [now]), ("in a tuple", {"tuple": [now]}), ("twice", [now, now])])
    return word, value


def _sequence(case: Case, at: int, now: Any, rng: random.Random) -> tuple[str, Any]:
    """Change a list or a tuple: its type, its length or one of its elements."""
    inner = list(now["tuple"] if isinstance(now, dict) else now)
    how = rng.randrange(6)
    if how == 0:
        return "list or tuple", inner if isinstance(now, dict) else {"tuple": inner}
    if how == 1 and inner:
        return "one less", inner[:-1]
    if how == 2 and inner:
        return "one more", [*inner, inner[-1]]
    if how == 3 and inner:
        return "its first", inner[0]
    if how == 4:
        return "nested", [inner]
    if not inner:
        return "of None", [None]
    which = rng.randrange(len(inner))
    word, inner[which] = _other(case, at, inner[which], rng)
    return f"[{which}] {word}", {"tuple": inner} if isinstance(now, dict) else inner


# -- inputs: the argument stays a Variable


def _dtype(given: Case, rng: random.Random) -> str:
    dtype = rng.choice([one for one in _DTYPES if one != given["dtype"]])
    _revalue(given, lambda array: array.astype(dtype))
    given["dtype"], given["stop_gradient"] = dtype, "float" not in dtype
    return dtype


def _more_dims(given: Case, rng: random.Random) -> str:
    axis = rng.choice([1, len(given["shape"])]) if given["shape"] else 0
    axis = min(axis, len(given["shape"]))
    _revalue(given, lambda array: np.expand_dims(array, axis))
    given["shape"].insert(axis, 1)
    return f"a dim more at {axis}"


def _fewer_dims(given: Case, rng: random.Random) -> str:
    if len(given["shape"]) < 2:
        return ""
    _revalue(given, lambda array: array.take(0, 1) if array.shape[1] else array.reshape(0, *array.shape[2:]))
    del given["shape"][1]
    return "a dim less"


def _open(given: Case, rng: random.Random) -> str:
    given["shape"] = [-1 for _ in given["shape"]]
    return "all dims open"


def _lod(given: Case, rng: random.Random) -> str:
    held = given["values"][0]
    if "lod" in held:
        del held["lod"]
        given["lod_level"] = 0
        return "no lod"
    rows = held["shape"][0] if held["shape"] else 0
    if not rows:
        return ""
    first = rng.randint(0, rows)
    held["lod"], given["lod_level"] = [[first, rows - first]], 1
    return "with lod"


def _revalue(given: Case, change: Callable[[Any], Any]) -> None:
    given["values"] = [literal(change(decode(one)), one.get("lod")) for one in given["values"]]


_INPUTS = [_dtype, _dtype, _dtype, _more_dims, _fewer_dims, _open, _lod]
