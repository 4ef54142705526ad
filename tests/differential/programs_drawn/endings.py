"""End a program: optimizers of all kinds, gradients of gradients, copies for testing, saved models."""

from __future__ import annotations

from typing import Any

from tests.differential.programs_drawn.attributes import clip, optimizer
from tests.differential.programs_drawn.base import ProgramDraw, Value, var
from tests.differential.programs_drawn.losses import loss

__all__ = ["end"]


_BLOCKS = (
    "while",
    "while_loop",
    "loop",
    "cond",
    "case",
    "switch_case",
    "if_else",
    "static_rnn",
    "dynamic_rnn",
    "array_loop",
)
_LOOPS = ("layers.rnn", "basic_gru", "basic_lstm", "dynamic_decode")


def end(d: ProgramDraw, last: Value) -> dict[str, Any]:
    """Append a loss and what trains it; return what the case says beside its steps."""
    total = loss(d, last)
    if d.chance(0.15):
        total = _penalized(d, total)
    if d.chance(0.15):
        chosen = clip(d)
        if chosen is not None:
            d.call("clip.set_gradient_clip", chosen)
    more: dict[str, Any] = {}
    if d.chance(0.3):
        more["test"] = True  # copied before the backward pass
        d.steps.append({"do": "clone_for_test"})
    if d.chance(0.9) and _trained(d, total, last):
        more["values_only"] = True  # their ops are ours
    # A saved model keeps what a state held before a loop that may run no round; 1.8.5 drops it.
    if d.chance(0.25) and not any(step["do"] == "loop" for step in d.steps):
        more["inference"] = {"feeds": _read_by(d, last.handle), "target": last.handle}
    return {**more, "total": total}


def _trained(d: ProgramDraw, total: str, last: Value) -> bool:
    """Append what trains the program; tell whether a wrapper's ops are ours."""
    way = d.size(1, 12)
    if way == 1 and not _has_blocks(d) and not any("set_gradient_clip" in str(step) for step in d.steps):
        other = loss(d, last)  # two losses, two optimizers
        for target in (total, other):
            _method(d, optimizer(d), "minimize", {"var": target})
    elif way == 2:  # in two steps
        held = _held(d, optimizer(d))
        pairs = _method(d, held, "backward", {"var": total})
        _method(d, held, "apply_gradients", {"var": pairs})
    elif way == 3:
        d.call("backward.append_backward", {"var": total})
    elif way == 4:
        rate = {"new": "optimizer.SGD", "kw": {"learning_rate": d.number(0.01, 0.2)}}
        made = {"new": "optimizer.LookaheadOptimizer", "args": [rate], "kw": d.some(alpha=[0.5, 0.8], k=[1, 2])}
        _method(d, made, "minimize", {"var": total})
    elif way == 5 and not any(_repeated_wrongly(step) for step in d.steps):
        held = _held(d, {"new": "optimizer.RecomputeOptimizer", "args": [optimizer(d)]})
        _method(d, held, "_set_checkpoints", [var(last)])
        _method(d, held, "minimize", {"var": total})
    else:
        _method(d, optimizer(d), "minimize", {"var": total})
        if way == 6:
            _method(d, _held(d, {"new": "optimizer.ExponentialMovingAverage", "args": [0.9]}), "update")
        elif way == 7:
            kw = {"min_average_window": 2, "max_average_window": 4}
            _held(d, {"new": "optimizer.ModelAverage", "args": [0.15], "kw": kw})
    return 4 <= way <= 7


def _repeated_wrongly(step: dict[str, Any]) -> bool:
    """Return whether 1.8.5 goes wrong when it computes a step twice: it counts twice, or loses a loop's gradient."""
    return step.get("name") == "layers.auc" or step["do"] in ("while_loop", "loop")


def _held(d: ProgramDraw, made: dict[str, Any]) -> dict[str, Any]:
    """Keep an object under a handle."""
    out = d.fresh()
    d.steps.append({"do": "value", "value": made, "out": out})
    return {"var": out}


def _has_blocks(d: ProgramDraw) -> bool:
    """Return whether the program has blocks, where 1.8.5 loses the gradients of a second backward pass."""
    return any(step["do"] in _BLOCKS or step.get("name", "").endswith(_LOOPS) for step in d.steps)


def _method(d: ProgramDraw, of: Any, name: str, *args: Any) -> str:
    out = d.fresh()
    d.steps.append({"do": "method", "of": of, "name": name, "args": list(args), "out": out})
    return out


def _penalized(d: ProgramDraw, total: str) -> str:
    """Add the square of the loss's gradient to the loss."""
    first = next(iter(d.inputs))
    plain = d.inputs[first]["dtype"] == "float32" and not d.inputs[first]["lod_level"]
    if not plain or _has_blocks(d):
        return total
    d.inputs[first]["stop_gradient"] = False
    found = d.call("gradients", [{"var": total}], [{"var": first}])
    picked = _method(d, {"var": found}, "__getitem__", 0)
    size = d.call("mean", {"var": d.call("square", {"var": picked})})
    flat = d.call("reshape", {"var": total}, [1])
    return d.call("elementwise_add", {"var": flat}, {"var": size})


def _read_by(d: ProgramDraw, handle: str) -> list[str]:
    """Return the inputs that a result depends on."""
    return sorted(_inputs(d, d.steps, {handle}))


def _inputs(d: ProgramDraw, steps: list[dict[str, Any]], wanted: set[str]) -> set[str]:
    for step in reversed(steps):
        made = step.get("out")
        names = {*(made if isinstance(made, list) else [made]), step.get("array")}
        if names & wanted:
            wanted |= set(_mentioned(step))
    return wanted & set(d.inputs)


def _mentioned(written: Any) -> list[str]:
    if isinstance(written, dict):
        own = [written["var"]] if isinstance(written.get("var"), str) else []
        named = [
            value
            for key, value in written.items()
            if key in ("state", "of", "condition", "init") and isinstance(value, str)
        ]
        lists = [*written.get("conditions", ()), *written.get("states", ())]
        listed = [one for one in lists if isinstance(one, str)]
        return own + named + listed + [name for value in written.values() for name in _mentioned(value)]
    if isinstance(written, list):
        return [name for one in written for name in _mentioned(one)]
    return []
