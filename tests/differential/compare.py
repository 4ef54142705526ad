"""Compare what the real 1.8.5 and fluidio showed for one case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.differential.live import without_dead_gradients
from tests.differential.tensors import decode

__all__ = ["Difference", "compare", "distances", "verdict"]

_RTOL = {"float16": 1e-3, "float32": 1e-5, "float64": 1e-9}
_FP32 = 5


# Outputs that 1.8.5 does not describe at build time, as nobody but their gradient op reads them.
_UNDESCRIBED = {
    "out_Mask",
    "out_MaxIndex",
    "out_WarpCTCGrad",
    "out_SeedOut",
    "out_AccumPosCount",
    "out_AccumTruePos",
    "out_AccumFalsePos",
}


# Outputs whose LoD in 1.8.5 is the order of its batches, not one of sequences.
_NO_SEQUENCES = ("out_BatchGate", "out_BatchHidden")


class Difference(NamedTuple):
    """One thing that differs: what kind of thing, which one, and how."""

    kind: str
    where: str
    how: str


def verdict(real: dict[str, Any], ours: dict[str, Any]) -> str:
    """Return "compared", "both refuse", "only ours runs", "only real runs" or "ours crashes"."""
    real_ran, ours_ran = not _failed(real), not _failed(ours)
    if "crash" in ours:
        return "ours crashes"
    if real_ran:
        return "compared" if ours_ran else "only real runs"
    return "only ours runs" if ours_ran else "both refuse"


def _failed(result: dict[str, Any]) -> bool:
    return "error" in result or "crash" in result


def compare(real: dict[str, Any], ours: dict[str, Any]) -> list[Difference]:
    """Return the differences; none where the real one refuses."""
    state = verdict(real, ours)
    if state == "ours crashes":
        return [Difference("crash", "fluidio", str(ours["crash"]))]
    if state == "only real runs":
        error = ours["error"]
        return [Difference("error", error["stage"], f"{error['type']}: {error['text']}")]
    if state != "compared":
        return []
    if real.get("values_only"):
        return [one for one in _compare_values(real, ours["values"]) if not _decided(one, real)]
    return [
        *_compare_names(real["names"], ours["names"]),
        *(one for one in _compare_program("main", *_live(real, ours)) if not _decided(one, real)),
        *_compare_program("startup", real["startup"], ours["startup"]),
        *(
            one
            for part in ("test", "inference")
            if part in real
            for one in _compare_program(part, *_live(real, ours, part))
        ),
        *(one for one in _compare_values(real, ours["values"]) if not _decided(one, real)),
        *_compare_saved(real.get("saved", {}), ours.get("saved", {})),
        *([] if real.get("ended") == ours.get("ended") else [Difference("end", "of the data", "EOFException or not")]),
    ]


# Where we differ on purpose, by an op of the program and the kind of difference; the README says why.
_ON_PURPOSE = {
    "collect_fpn_proposals": {"lod"},
    "data_norm": {"op inputs", "op outputs"},
    "diag_embed": {"var shape"},
    "expand_as": {"var shape"},
    "round": {"value"},
    "sequence_concat": {"var shape"},
}


def _decided(found: Difference, real: dict[str, Any]) -> bool:
    """Return whether we differ on purpose.

    Clipping a zero gradient by its norm gives NaN in 1.8.5, zeros in ours; exp() in rank_loss overflows there.
    """
    ops = {op["type"] for block in real["main"]["ops"] for op in block}
    if any(found.kind in _ON_PURPOSE.get(op, ()) for op in ops):
        return True
    return found.kind in ("value", "rounding") and bool(_OVERFLOWING & ops) and _has_no_number(real["values"])


_OVERFLOWING = {"clip_by_norm", "rank_loss"}


def _has_no_number(values: dict[str, Any]) -> bool:
    arrays = [decode(value) for value in values.values() if not isinstance(value, list)]
    return any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in arrays)


def _live(real: dict[str, Any], ours: dict[str, Any], part: str = "main") -> list[dict[str, Any]]:
    fetched = {name for name in real["names"].values() if isinstance(name, str)}
    return [without_dead_gradients(result[part], fetched) for result in (real, ours)]


def _compare_names(real: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    for handle in real:
        if real[handle] != ours.get(handle):
            yield Difference("name", handle, f"{real[handle]} / {ours.get(handle)}")


def _compare_program(which: str, real: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    real_types = [[op["type"] for op in block] for block in real["ops"]]
    our_types = [[op["type"] for op in block] for block in ours["ops"]]
    if real_types != our_types:
        yield Difference("op list", which, _first_other(real_types, our_types))
    else:
        for real_block, our_block in zip(real["ops"], ours["ops"]):
            for one, other in zip(real_block, our_block):
                yield from _compare_op(which, one, other)
    yield from _compare_variables(which, real["vars"], ours["vars"])


def _first_other(real: list[list[str]], ours: list[list[str]]) -> str:
    """Show two lists of ops where they part."""
    block = next((i for i, (one, other) in enumerate(zip(real, ours)) if one != other), min(len(real), len(ours)))
    if block >= min(len(real), len(ours)):
        return f"{len(real)} / {len(ours)} blocks"
    one, other = real[block], ours[block]
    at = next((i for i, (mine, its) in enumerate(zip(one, other)) if mine != its), min(len(one), len(other)))
    return f"block {block}, op {at}: {one[max(at - 2, 0) : at + 6]} / {other[max(at - 2, 0) : at + 6]}"


def _compare_op(which: str, real: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    if real["type"].removesuffix("_grad") in ("while", "conditional_block", "recurrent"):
        real, ours = _sorted_names(real), _sorted_names(ours)  # 1.8.5 has them in the order of a Python set
    for part in ("in", "out"):
        found = {slot: [name.split("@before@")[0] for name in names] for slot, names in ours[part].items()}
        if real["attrs"].get("op_role") == 1:  # our gradient ops may read more than theirs
            found = {slot: names for slot, names in found.items() if slot in real[part]}
        if real[part] != found:
            yield Difference(f"op {part}puts", f"{which} {real['type']}", f"{real[part]} / {ours[part]}")
    for name, value in real["attrs"].items():
        if name in ours["attrs"] and not _same_attr(value, ours["attrs"][name]):
            yield Difference("op attr", f"{which} {real['type']}.{name}", f"{value} / {ours['attrs'][name]}")


def _sorted_names(op: dict[str, Any]) -> dict[str, Any]:
    parts = {part: {slot: sorted(names) for slot, names in op[part].items()} for part in ("in", "out")}
    return {**op, **parts}


def _same_attr(real: Any, ours: Any) -> bool:
    if isinstance(real, list) and isinstance(ours, list):
        return len(real) == len(ours) and all(map(_same_attr, real, ours))
    if isinstance(real, float) and isinstance(ours, (int, float)):
        return bool(np.float32(real) == np.float32(ours)) or (real != real and ours != ours)
    return bool(real == ours)


def _compare_variables(which: str, real: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    missing = sorted(set(real) - set(ours))
    extra = sorted(name for name in set(ours) - set(real) if "@before@" not in name)  # values kept for our gradients
    if missing or extra:
        yield Difference("variables", which, f"only real {missing} / only ours {extra}")
    for name in real:
        if name not in ours:
            continue
        for fact, value in real[name].items():
            if fact == "dtype" and (name.startswith("out_") or name.endswith("_shape")):
                continue  # ops made by hand: 1.8.5 infers no dtype for most, the layers set it
            if fact == "lod_level" and "@GRAD" in name:
                continue  # nobody reads it; what counts is the LoD that the gradient has in a run
            if fact == "shape":
                value = [max(size, -1) for size in value]  # 1.8.5 multiplies -1 with what is known
                if value == [] and name in _UNDESCRIBED:
                    continue
            if ours[name].get(fact) != value:
                yield Difference(f"var {fact}", f"{which} {name}", f"{value} / {ours[name].get(fact)}")


def _compare_values(whole: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    """Compare fetched values; doubles of a program that has float32 as well are as exact as those."""
    real = whole["values"]
    mixed = any(facts.get("dtype") == _FP32 for facts in whole["main"]["vars"].values())
    rtol = {**_RTOL, "float64": _RTOL["float32" if mixed else "float64"]}
    for key, value in real.items():
        if key not in ours:
            yield Difference("value", key, "not there in ours")
        else:
            yield from _compare_value(key, value, ours[key], rtol)
    for key in sorted(set(ours) - set(real)):
        yield Difference("value", key, "not there in the real one")


def _compare_value(key: str, real: Any, ours: Any, rtol: dict[str, float]) -> Iterator[Difference]:
    if isinstance(real, list) or isinstance(ours, list):
        if not (isinstance(real, list) and isinstance(ours, list)) or len(real) != len(ours):
            yield Difference("value", key, "arrays of different lengths")
            return
        for number, (one, other) in enumerate(zip(real, ours)):
            yield from _compare_value(f"{key}[{number}]", one, other, rtol)
        return
    if real.get("lod", []) != ours.get("lod", []) and not key.endswith(_NO_SEQUENCES):
        yield Difference("lod", key, f"{real.get('lod')} / {ours.get('lod')}")
    if (real.get("rows"), real.get("height")) != (ours.get("rows"), ours.get("height")):
        how = f"{real.get('rows')} of {real.get('height')} / {ours.get('rows')} of {ours.get('height')}"
        yield Difference("rows", key, how)
        return
    if real["shape"] == [0] and 0 in ours["shape"]:
        return  # the real one shows every tensor without elements as float64 of shape [0]
    if (real["dtype"], real["shape"]) != (ours["dtype"], ours["shape"]):
        how = f"{real['dtype']}{real['shape']} / {ours['dtype']}{ours['shape']}"
        yield Difference("value dtype" if real["shape"] == ours["shape"] else "value shape", key, how)
        return
    yield from _compare_arrays(key, decode(real), decode(ours), rtol.get(real["dtype"], 0.0))


def _compare_arrays(key: str, real: Any, ours: Any, rtol: float) -> Iterator[Difference]:
    """Floats may differ by a part of the largest, or of a small number: gradients that cancel out leave rounding."""
    if real.dtype.kind != "f":
        if not np.array_equal(real, ours):
            yield Difference("value", key, _sample(real, ours, real != ours))
        return
    relative = _distance(key, real, ours)
    if relative == np.inf:
        yield Difference("value", key, _sample(real, ours, np.isfinite(real) != np.isfinite(ours)))
    elif relative > rtol:
        kind = "rounding" if relative < 50 * rtol else "value"
        far = np.nan_to_num(np.abs(real.astype("float64") - ours), posinf=0.0)
        yield Difference(kind, key, f"off by {relative:.2g} of the largest; {_sample(real, ours, far == far.max())}")


def _distance(key: str, real: Any, ours: Any) -> float:
    """Return the largest difference by the largest value; infinity where only one is finite."""
    finite = np.isfinite(real)
    same = np.array_equal(finite, np.isfinite(ours)) and np.array_equal(real[~finite], ours[~finite], equal_nan=True)
    if not same:
        return np.inf
    if not finite.any():
        return 0.0
    far = np.abs(real[finite].astype("float64") - ours[finite])
    return float(far.max()) / max(float(np.abs(real[finite]).max()), 5e-2 if key.endswith("@GRAD") else 1e-2)


def distances(real: dict[str, Any], ours: dict[str, Any]) -> dict[str, float]:
    """Return how far each value of floats is off, in parts of its largest; infinity for what cannot be compared."""
    found = {}
    for key, value in real["values"].items():
        other = ours.get("values", {}).get(key)
        if isinstance(value, list) or isinstance(other, list) or other is None or value["shape"] != other["shape"]:
            found[key] = np.inf
            continue
        one, two = decode(value), decode(other)
        if one.dtype.kind == "f":
            found[key] = _distance(key, one, two)
        else:
            found[key] = 0.0 if np.array_equal(one, two) else np.inf
    return found


def _sample(real: Any, ours: Any, where: Any) -> str:
    chosen = np.flatnonzero(np.ravel(where))[:3]
    if not chosen.size:
        chosen = np.arange(min(3, real.size))
    return f"at {chosen.tolist()}: {np.ravel(real)[chosen].tolist()} / {np.ravel(ours)[chosen].tolist()}"


def _compare_saved(real: dict[str, str], ours: dict[str, str]) -> Iterator[Difference]:
    for path in sorted(set(real) | set(ours)):
        if real.get(path) != ours.get(path):
            yield Difference("saved", path, f"{real.get(path)} / {ours.get(path)}")
