"""Decide whether the ops of a block work row by row, so that many records can go through it at once."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.program import Block, Operator

__all__ = ["origins"]

_UNARY = {
    *("abs", "assign", "brelu", "cast", "ceil", "clip", "cos", "elu", "exp", "floor", "gelu", "hard_shrink"),
    *("hard_sigmoid", "hard_swish", "leaky_relu", "log", "logical_not", "logsigmoid", "pow", "reciprocal", "relu"),
    *("relu6", "round", "rsqrt", "scale", "sigmoid", "sign", "sin", "soft_relu", "softplus", "softshrink", "softsign"),
    *("sqrt", "square", "stanh", "swish", "tanh", "tanh_shrink", "thresholded_relu"),
}
_BINARY = {
    *("elementwise_add", "elementwise_div", "elementwise_max", "elementwise_min", "elementwise_mul", "elementwise_sub"),
    *("equal", "greater_equal", "greater_than", "less_equal", "less_than", "not_equal"),
    *("logical_and", "logical_or", "logical_xor"),
}
_CONSTANT = ""  # the origin of a value that is the same for all rows


def origins(block: Block, sources: Sequence[str], sinks: Sequence[str]) -> list[str] | None:
    """Return the source of each sink if every row of a sink depends on one source row alone, else None.

    The check uses a list of ops whose row values do not depend on the number of rows, to the last bit.
    """
    known = {source: source for source in sources}
    for op in block.ops:
        found = _origin(op, known)
        if found is None:
            return None
        known.update(dict.fromkeys(op.output_arg_names, found))
    found_sinks = [known.get(sink, _CONSTANT) for sink in sinks]
    return None if _CONSTANT in found_sinks else found_sinks


def _origin(op: Operator, known: dict[str, str]) -> str | None:
    given = {slot: names for slot in op.input_names if (names := op.input(slot))}
    if op.type == "fill_constant" and not given and list(op.attr("shape")) == [1]:
        return _CONSTANT
    if op.type in _UNARY and list(given) == ["X"] and len(given["X"]) == 1:
        return known.get(given["X"][0])
    if op.type in _BINARY and sorted(given) == ["X", "Y"]:
        x, y = known.get(given["X"][0]), known.get(given["Y"][0])
        return x if x and y in (x, _CONSTANT) else None
    return None
