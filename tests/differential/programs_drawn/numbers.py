"""Moves on whole numbers, booleans and doubles: comparisons, choices, indices, casts."""

from __future__ import annotations

from tests.differential.programs_drawn.base import BATCH, ProgramDraw, Value, move, var

_WHOLE = ("int32", "int64")


def _partner(d: ProgramDraw, x: Value) -> Value:
    return d.rng.choice([v for v in d.values if v.kind == x.kind and v.shape == x.shape])


@move("flat")
def to_numbers(d: ProgramDraw, x: Value) -> None:
    """Leave floats: whole numbers, booleans, doubles."""
    kind = d.pick("int32", "int64", "bool", "float64")
    if kind == "float64":
        d.add(d.call("cast", x, kind), f"{x.kind}:{kind}", x.shape)
        return
    if kind == "bool":
        other = _partner(d, x)
        sign = d.pick("<", "<=", ">", ">=", "==", "!=")
        d.add(d.operate(sign, var(x), var(other)), f"{x.kind}:bool", x.shape)
        return
    scaled = d.call("scale", x, d.pick(3.0, 10.0), d.pick(0.0, 0.5))
    made = d.add(d.call("cast", {"var": scaled}, kind), f"{x.kind}:{kind}", x.shape)
    d.steps.append({"do": "stop", "of": made.handle})  # 1.8.5 passes truncated gradients through whole numbers


@move("flat:int32", "flat:int64")
def whole(d: ProgramDraw, x: Value) -> None:
    way = d.size(1, 6)
    other = _partner(d, x)
    if way == 1:
        d.add(d.operate(d.pick("+", "-", "*"), var(x), var(other)), x.kind, x.shape)
    elif way == 2:
        d.add(d.operate(d.pick("+", "-", "*"), var(x), d.size(-3, 3)), x.kind, x.shape)
    elif way == 3:
        sign = d.pick("<", "<=", ">", ">=", "==", "!=")
        d.add(d.operate(sign, var(x), var(other)), x.kind.split(":")[0] + ":bool", x.shape)
    elif way == 4:
        positive = d.operate("+", var(d.call("elementwise_mul", x, x)), 1)
        d.add(d.operate(d.pick("%", "//"), var(x), {"var": positive}), x.kind, x.shape)
    elif way == 5:
        d.add(d.call(d.pick("elementwise_max", "elementwise_min"), x, other), x.kind, x.shape)
    else:
        d.add(d.call("cast", x, "float32"), x.kind.split(":")[0], x.shape)


@move("flat:bool")
def booleans(d: ProgramDraw, x: Value) -> None:
    way = d.size(1, 5)
    base = x.kind.split(":")[0]
    if way == 1:
        d.add(d.call("logical_not", x), x.kind, x.shape)
    elif way == 2:
        layer = d.pick("logical_and", "logical_or", "logical_xor")
        d.add(d.call(layer, x, _partner(d, x)), x.kind, x.shape)
    elif way == 3:
        kind = d.pick("int32", "int64", "float64", "uint8")
        d.add(d.call("cast", x, kind), f"{base}:{kind}", x.shape)
    elif way == 4 and base == "flat":
        chosen = d.call(d.pick("reduce_all", "reduce_any"), x, **d.some(dim=[0, 1], keep_dim=[True, False]))
        d.call("cast", {"var": chosen}, "float32")
    else:
        d.add(d.call("cast", x, "float32"), base, x.shape)


@move("flat:uint8")
def bytes_(d: ProgramDraw, x: Value) -> None:
    base = x.kind.split(":")[0]
    kind = d.pick("int32", "int64", "float64", "float32", "bool")
    d.add(d.call("cast", x, kind), base if kind == "float32" else f"{base}:{kind}", x.shape)


@move("flat:float64")
def doubles(d: ProgramDraw, x: Value) -> None:
    way = d.size(1, 5)
    base = x.kind.split(":")[0]
    if way == 1:
        d.add(d.call(d.pick("tanh", "sigmoid", "relu", "square", "abs", "exp"), x), x.kind, x.shape)
    elif way == 2:
        d.add(d.operate(d.pick("+", "-", "*"), var(x), var(_partner(d, x))), x.kind, x.shape)
    elif way == 3:
        d.add(d.operate(d.pick("+", "*", "-"), var(x), d.number(0.1, 2.0)), x.kind, x.shape)
    elif way == 4 and base == "flat":
        d.add(d.call("fc", x, d.size(1, 3), bias_attr=d.pick(None, False)), x.kind, (-1,))
        last = d.values.pop()
        d.add(last.handle, x.kind, (d.steps[-1]["args"][1],))
    else:
        d.add(d.call("cast", x, "float32"), base, x.shape)


@move("flat")
def chosen(d: ProgramDraw, x: Value) -> None:
    """Choose by a condition, by an index, by rank."""
    way = d.size(1, 6)
    if way == 1:
        other = _partner(d, x)
        condition = d.call(d.pick("less_than", "greater_than"), x, other)
        mask = d.call("cast", {"var": condition}, "float32")
        d.add(d.operate("*", var(x), {"var": mask}), "flat", x.shape)
    elif way == 2:
        both = [d.fresh(), d.fresh()]
        d.call("argsort", x, out=both, **d.some(axis=[0, 1, -1], descending=[True]))
        d.add(both[0], "flat", x.shape)
        if d.chance():
            d.add(both[1], "flat:int64", x.shape)
    elif way == 3:
        ids = d.call(d.pick("argmax", "argmin"), x, axis=d.pick(1, -1))
        shaped = d.call("unsqueeze", {"var": ids}, [1])
        d.add(d.call(d.pick("one_hot", "layers.one_hot"), {"var": shaped}, x.shape[0]), "flat", x.shape)
    elif way == 4:
        both = [d.fresh(), d.fresh()]
        count = d.size(1, x.shape[0])
        d.call("topk", x, count, out=both)
        d.add(both[0], "flat", (count,))
        d.add(both[1], "flat:int64", (count,))
    elif way == 5:
        ids = d.call("assign", {"array": {"dtype": "int32", "shape": [2], "data": [d.size(0, 3), d.size(0, 3)]}})
        part = d.call("gather", x, {"var": ids})
        d.add(d.call("scatter", x, {"var": ids}, {"var": part}, **d.some(overwrite=[False])), "flat", x.shape)
        if d.steps[-1]["kw"].get("overwrite") is None:
            d.values.pop()  # which of two rows for one place comes last is not said
            d.steps.pop()
    else:
        parts = d.call("multiplex", [var(x), var(_partner(d, x))], {"var": _ids(d, 2)})
        d.add(parts, "flat", x.shape)


def _ids(d: ProgramDraw, high: int) -> str:
    data = [d.size(0, high - 1) for _ in range(BATCH)]
    return d.call("assign", {"array": {"dtype": "int32", "shape": [BATCH, 1], "data": data}})
