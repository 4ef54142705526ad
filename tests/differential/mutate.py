"""Change a drawn op in ways that its drawing function does not: one to three changes, by the op's proto.

The drawing functions draw what makes sense; this draws what a test's author tries: attributes of any sign, layouts,
other dtypes, no rows, dims of one, sequences where there were none, slots left out. The real one decides what holds.
"""

from __future__ import annotations

import copy
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.differential.protos import op_step, proto
from tests.differential.tensors import decode, literal

__all__ = ["mutate"]

Case = dict[str, Any]

_WORDS = {
    "data_layout": ["NCHW", "NHWC", "AnyLayout"],
    "data_format": ["NCHW", "NHWC", "NCDHW", "NDHWC", "AnyLayout"],
    "padding_algorithm": ["SAME", "VALID", "EXPLICIT"],
    "pooling_type": ["max", "avg"],
    "pooltype": ["AVERAGE", "SUM", "SQRT", "MAX", "LAST", "FIRST"],
    "mode": ["constant", "edge", "reflect", "all", "channel", "element"],
    "reduction": ["none", "mean", "sum", "batchmean"],
    "interp_method": ["nearest", "bilinear", "trilinear", "bicubic"],
    "match_type": ["bipartite", "per_prediction"],
    "mining_type": ["max_negative", "hard_example"],
    "dropout_implementation": ["downgrade_in_infer", "upscale_in_train"],
    "curve": ["ROC", "PR"],
    "chunk_scheme": ["IOB", "IOE", "IOBES", "plain"],
    "ap_type": ["integral", "11point"],
    "code_type": ["encode_center_size", "decode_center_size"],
    "gate_activation": ["sigmoid", "tanh", "relu", "identity"],
    "cell_activation": ["sigmoid", "tanh", "relu", "identity"],
    "candidate_activation": ["sigmoid", "tanh", "relu", "identity"],
    "proj_activation": ["sigmoid", "tanh", "relu", "identity"],
}
_LEFT_ALONE = {"seed", "startup_seed", "dtype", "in_dtype", "out_dtype", "sub_block", "ring_id", "fix_seed"}


def mutate(case: Case, rng: random.Random) -> Case:
    """Return the case of an op with one to three changes; what it is called ends in what was changed."""
    changed = copy.deepcopy(case)
    step = op_step(changed)
    assert step is not None
    words = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind = rng.choice(_KINDS if _fed(changed) else [_attr, _drop_attr])
        word = kind(changed, step, rng)
        if word:
            words.append(word)
    changed["id"] += "/" + ",".join(words)
    return changed


def _fed(case: Case) -> Case:
    """Return the inputs that are fed: plain tensors."""
    return {name: one for name, one in case["inputs"].items() if one["how"] == "var"}


def _attr(case: Case, step: Case, rng: random.Random) -> str:
    known = {name: of for name, of in proto(step["type"])["attrs"].items() if name not in _LEFT_ALONE}
    if not known:
        return ""
    name = rng.choice(sorted(known))
    kind, default = known[name]
    value = _other_value(name, kind, step["attrs"].get(name, default), rng)
    if value is None:
        return ""
    step["attrs"][name] = value
    return f"{name}={value}"


def _other_value(name: str, kind: str, now: Any, rng: random.Random) -> Any:
    if kind == "bool":
        return not now
    if kind in ("int", "long"):
        return rng.choice([-3, -2, -1, 0, 1, 2, 3, 4, 7])
    if kind == "float":
        return rng.choice([-1.5, -0.25, 0.0, 0.125, 0.5, 1.0, 2.5, 30.0])
    if kind == "string":
        return rng.choice(_WORDS[name]) if name in _WORDS else None
    if kind in ("ints", "longs"):
        return _other_list(now or [0], [-2, -1, 0, 1, 2, 3], rng)
    if kind == "floats":
        return _other_list(now or [0.5], [-0.5, 0.0, 0.25, 1.0, 2.0], rng)
    return None


def _other_list(now: list[Any], choices: list[Any], rng: random.Random) -> list[Any]:
    changed = list(now)
    how = rng.random()
    if how < 0.15:
        return changed[:-1]
    if how < 0.3:
        return [*changed, rng.choice(choices)]
    changed[rng.randrange(len(changed))] = rng.choice(choices)
    return changed


def _drop_attr(case: Case, step: Case, rng: random.Random) -> str:
    if not step["attrs"]:
        return ""
    name = rng.choice(sorted(step["attrs"]))
    del step["attrs"][name]
    return f"no {name}"


def _dtype(case: Case, step: Case, rng: random.Random) -> str:
    source = rng.choice(sorted({one["dtype"] for one in _fed(case).values()}))
    target = rng.choice(
        [one for one in ("int32", "int64", "float16", "float32", "float64", "bool", "uint8") if one != source]
    )
    names = [name for name, one in _fed(case).items() if one["dtype"] == source]
    if rng.random() < 0.3:
        names = [rng.choice(names)]
    for name in names:
        case["inputs"][name]["dtype"] = target
        _revalue(case["inputs"][name], lambda array: array.astype(target))
    for slot, dtype in step["dtypes"].items():
        if dtype == source:
            step["dtypes"][slot] = target
    if "float" in source and target not in ("float32", "float64"):
        _without_gradients(case)
    return f"{source}>{target}"


def _revalue(given: Case, change: Callable[[Any], Any]) -> None:
    given["values"] = [literal(change(decode(one)), one.get("lod")) for one in given["values"]]


def _without_gradients(case: Case) -> None:
    case["steps"] = [step for step in case["steps"] if step["do"] == "op"]
    for part in ("fetch", "read"):
        if part in case:
            case[part] = [name for name in case[part] if not name.endswith("@GRAD")]


def _no_rows(case: Case, step: Case, rng: random.Random) -> str:
    """Cut the first dim of every input of the same first size down to none or one."""
    sizes = [one["values"][0]["shape"][0] for one in _fed(case).values() if one["values"][0]["shape"]]
    if not sizes or any("lod" in one["values"][0] for one in _fed(case).values()):
        return ""
    size, kept = rng.choice(sizes), rng.choice([0, 1, 1])
    for one in _fed(case).values():
        shape = one["values"][0]["shape"]
        if shape and shape[0] == size:
            _revalue(one, operator.itemgetter(slice(kept)))
            one["shape"][0] = kept if kept and one["shape"][0] != -1 else -1
    return f"{kept} rows"


def _dim_of_one(case: Case, step: Case, rng: random.Random) -> str:
    name = rng.choice(sorted(_fed(case)))
    one = case["inputs"][name]
    shape = one["values"][0]["shape"]
    if len(shape) < 2:
        return ""
    axis = rng.randrange(1, len(shape))
    _revalue(one, lambda array: np.take(array, [0], axis) if array.shape[axis] else array)
    one["shape"][axis] = 1
    return f"{name}[{axis}]=1"


def _open_dims(case: Case, step: Case, rng: random.Random) -> str:
    name = rng.choice(sorted(_fed(case)))
    one = case["inputs"][name]
    if not one["shape"]:
        return ""
    axis = rng.randrange(len(one["shape"]))
    one["shape"][axis] = -1
    return f"{name}[{axis}] open"


def _sequences(case: Case, step: Case, rng: random.Random) -> str:
    name = rng.choice(sorted(_fed(case)))
    one = case["inputs"][name]
    shape, held = one["values"][0]["shape"], one["values"][0]
    if not shape:
        return ""
    if "lod" in held and rng.random() < 0.5:
        del held["lod"]
        one["lod_level"] = 0
        return f"{name} plain"
    held["lod"] = [_lengths(shape[0], rng)]
    if rng.random() < 0.4:
        held["lod"].insert(0, _lengths(len(held["lod"][0]), rng))
    one["lod_level"] = len(held["lod"])
    return f"{name} lod {held['lod']}"


def _lengths(rows: int, rng: random.Random) -> list[int]:
    cuts = sorted(rng.randint(0, rows) for _ in range(rng.randint(0, 2)))
    return [end - start for start, end in zip([0, *cuts], [*cuts, rows])]


def _drop_slot(case: Case, step: Case, rng: random.Random) -> str:
    known = proto(step["type"])["inputs"]
    maybe = [slot for slot in step["in"] if "dispensable" in known.get(slot, "")]
    if not maybe:
        return ""
    slot = rng.choice(sorted(maybe))
    gone = step["in"].pop(slot)
    for name in gone:
        case["inputs"].pop(name, None)
        case["fetch"] = [one for one in case["fetch"] if one not in (name, name + "@GRAD")]
        for other in case["steps"]:
            if "wrt" in other:
                other["wrt"] = [one for one in other["wrt"] if one != name]
    if case["steps"][-1].get("wrt") == []:
        _without_gradients(case)
    return f"no {slot}"


def _more_outputs(case: Case, step: Case, rng: random.Random) -> str:
    maybe = sorted(set(proto(step["type"])["outputs"]) - set(step["out"]))
    if not maybe:
        return ""
    slot = rng.choice(maybe)
    step["out"][slot] = [f"out_{slot}"]
    step["dtypes"][slot] = next(iter(step["dtypes"].values()), "float32")
    case["fetch"].append(f"out_{slot}")
    return f"with {slot}"


def _by_hand(case: Case, step: Case, rng: random.Random) -> str:
    """Append the gradient op by hand, for some outputs and some inputs."""
    last = case["steps"][-1]
    if last["do"] != "gradients":
        return ""
    of = sorted(slot for slot, names in step["out"].items() if set(names) & set(last["of"]))
    if len(of) > 1 and rng.random() < 0.3:
        of.remove(rng.choice(of))
    case["steps"][-1] = {"do": "grad_op", "like": step, "of": of, "wrt": last["wrt"]}
    return "gradient by hand"


def _in_place(case: Case, step: Case, rng: random.Random) -> str:
    """Write an output to the variable of an input."""
    if case["steps"][-1] is not step or not step["out"] or not step["in"]:
        return ""
    slot, source = ("Out", "X") if "X" in step["in"] else ("Out", "Input")
    if len(step["out"].get(slot, [])) != 1 or len(step["in"].get(source, [])) != 1:
        return ""
    before, now = step["out"][slot][0], step["in"][source][0]
    if before == now or now not in _fed(case) or case["inputs"][now]["dtype"] != step["dtypes"][slot]:
        return ""
    step["out"][slot] = [now]
    case["fetch"] = [now if name == before else name for name in case["fetch"]]
    return f"{slot} is {source}"


def _fewer_outputs(case: Case, step: Case, rng: random.Random) -> str:
    maybe = sorted(slot for slot in step["out"] if not set(step["out"][slot]) & set(case["steps"][-1].get("of", ())))
    if len(maybe) < 2:
        return ""
    slot = rng.choice(maybe)
    gone = step["out"].pop(slot)
    case["fetch"] = [name for name in case["fetch"] if name not in gone]
    return f"without {slot}"


def _extreme_values(case: Case, step: Case, rng: random.Random) -> str:
    name = rng.choice(sorted(_fed(case)))
    one = case["inputs"][name]
    if "float" in one["dtype"]:
        value: float = rng.choice([0.0, 50.0, -50.0, 1e-6])
    elif "int" in one["dtype"] and one["dtype"] != "uint8":
        value = rng.choice([0, -1, 1, 9])
    else:
        return ""

    def set_one(array: Any) -> Any:
        array = array.copy()
        if array.size:
            array.ravel()[rng.randrange(array.size)] = value
        return array

    _revalue(one, set_one)
    return f"{name} has {value}"


_KINDS = [
    *[_attr] * 6,
    _drop_attr,
    *[_dtype] * 2,
    _no_rows,
    _dim_of_one,
    _open_dims,
    *[_sequences] * 2,
    _drop_slot,
    *[_by_hand] * 3,
    _in_place,
    _fewer_outputs,
    _more_outputs,
    _extreme_values,
]
