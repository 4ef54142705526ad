"""Moves on sequences of sequences: rows with two levels of LoD."""

from __future__ import annotations

from tests.differential.programs_drawn.attributes import parameter
from tests.differential.programs_drawn.base import ProgramDraw, Value, move, var


@move("deep_ids")
def embedding(d: ProgramDraw, x: Value) -> None:
    size = d.size(1, 4)
    kw = d.some(is_sparse=[True, False], padding_idx=[0])
    d.add(d.call("embedding", x, size=[9, size], param_attr=parameter(d), **kw), "deep", (size,))


@move("deep")
def changed(d: ProgramDraw, x: Value) -> None:
    way = d.size(1, 9)
    if way == 1:
        size = d.size(1, 4)
        d.add(d.call("fc", x, size, act=d.pick(None, "tanh", "relu"), param_attr=parameter(d)), "deep", (size,))
    elif way == 2:
        d.add(d.call(d.pick("tanh", "sigmoid", "relu", "softsign"), x), "deep", x.shape)
    elif way == 3:
        d.add(d.operate(d.pick("+", "*", "-"), var(x), d.number(0.2, 0.9)), "deep", x.shape)
    elif way == 4:
        others = [v for v in d.values if v.kind == "deep" and v.shape == x.shape]
        d.add(d.operate(d.pick("+", "*", "-"), var(x), var(d.rng.choice(others))), "deep", x.shape)
    elif way == 5:
        others = [v for v in d.values if v.kind == "deep"]
        other = d.rng.choice(others)
        d.add(d.call("concat", [var(x), var(other)], axis=1), "deep", (x.shape[0] + other.shape[0],))
    elif way == 6:
        d.add(d.call("softmax", x), "deep", x.shape)
    elif way == 7:
        d.add(d.call("dropout", x, d.pick(0.0, 0.4), seed=d.size(1, 99)), "deep", x.shape)
    elif way == 8:
        scores = d.call("fc", x, 1)
        weights = d.call("sequence_softmax", {"var": scores})
        d.add(d.call("elementwise_mul", x, {"var": weights}, axis=0), "deep", x.shape)
    else:
        kw = d.some(scale=[2.0], bias=[0.5], bias_after_scale=[False])
        d.add(d.call("scale", x, **kw), "deep", x.shape)


@move("deep")
def over_rows(d: ProgramDraw, x: Value) -> None:
    """Layers that take both levels: most of those for sequences take one, and row_conv leaves rows unwritten."""
    if d.chance():
        d.add(d.call("lod_reset", x, var(next(v for v in d.values if v.kind.startswith("deep")))), "deep", x.shape)
    else:
        kw = d.some(scale=[False], epsilon=[1e-3])
        d.add(d.call("layer_norm", x, **kw), "deep", x.shape)


@move("deep")
def shallower(d: ProgramDraw, x: Value) -> None:
    """Pool the inner sequences: one level is left."""
    if d.chance(0.6):
        kind = d.pick("sum", "average", "sqrt", "max", "first", "last")
        d.add(d.call("sequence_pool", x, kind), "outer", x.shape)
    else:
        d.add(d.call(d.pick("sequence_first_step", "sequence_last_step"), x), "outer", x.shape)


@move("outer")
def of_sentences(d: ProgramDraw, x: Value) -> None:
    way = d.size(1, 4)
    if way == 1:
        size = d.size(1, 4)
        d.add(d.call("fc", x, size, act=d.pick(None, "tanh", "relu"), param_attr=parameter(d)), "outer", (size,))
    elif way == 2:
        deep = d.latest("deep")
        if deep is not None:
            d.call("sequence_expand", x, deep, ref_level=0)
    elif way == 3:
        d.add(d.call("sequence_reverse", x), "outer", x.shape)
    else:
        d.add(d.call("sequence_pool", x, d.pick("sum", "max", "average")), "flat", x.shape)


@move("outer")
def whole(d: ProgramDraw, x: Value) -> None:
    d.add(d.call("sequence_pool", x, d.pick("sum", "max", "last", "average")), "flat", x.shape)
