"""Leave out what a backward pass computes for nobody.

1.8.5 builds gradients of everything that is not marked as a constant; fluidio leaves out those that only constants
depend on, as computing them costs time. What is fetched or updates a parameter is compared, the rest is not.
"""

from __future__ import annotations

from typing import Any

__all__ = ["without_dead_gradients"]

_BACKWARD = 1


def without_dead_gradients(program: dict[str, Any], fetched: set[str]) -> dict[str, Any]:
    """Return a described program without gradient ops, outputs of them and variables that nobody reads."""
    first, *others = program["ops"]
    wanted = fetched | {name for name, facts in program["vars"].items() if facts["persistable"]}
    wanted.update(name for block in others for op in block for names in op["in"].values() for name in names)
    kept = []
    for op in reversed(first):
        if op["attrs"].get("op_role") == _BACKWARD:
            out = {slot: [name if name in wanted else "" for name in names] for slot, names in op["out"].items()}
            op = {**op, "out": {slot: names for slot, names in out.items() if any(names)}}
            if not op["out"]:
                continue
        wanted.update(name for names in op["in"].values() for name in names)
        kept.append(op)
    dead = {name for name in program["vars"] if "@GRAD" in name} - wanted
    variables = {name: facts for name, facts in program["vars"].items() if name not in dead}
    if others:
        return _forward_only({"vars": variables, "ops": [kept[::-1], *others]})
    return {"vars": variables, "ops": [kept[::-1]]}


def _forward_only(program: dict[str, Any]) -> dict[str, Any]:
    """Leave the backward pass of a program with loops or branches to its results: our ops for it are not 1.8.5's."""
    ops = [[op for op in block if op["attrs"].get("op_role") != _BACKWARD] for block in program["ops"]]
    variables = {name: facts for name, facts in program["vars"].items() if "@GRAD" not in name}
    return {"vars": variables, "ops": [block for block in ops if block]}
