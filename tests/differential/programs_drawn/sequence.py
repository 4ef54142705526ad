"""Moves on sequences: rows with LoD."""

from __future__ import annotations

from tests.differential.programs_drawn.attributes import parameter
from tests.differential.programs_drawn.base import ProgramDraw, Value, move, var


@move("seq_ids")
def embedding(d: ProgramDraw, x: Value) -> None:
    size = d.size(1, 4)
    kw = d.some(is_sparse=[True, False], padding_idx=[0, -1])
    d.add(d.call("embedding", x, size=[9, size], param_attr=parameter(d), **kw), "seq", (size,))


@move("seq")
def pooled(d: ProgramDraw, x: Value) -> None:
    way = d.pick("pool", "pool", "first", "last")
    if way == "pool":
        kind = d.pick("sum", "average", "sqrt", "max", "first", "last")
        d.add(d.call("sequence_pool", x, kind), "flat", x.shape)
    else:
        d.add(d.call(f"sequence_{way}_step", x), "flat", x.shape)


@move("seq")
def convolved(d: ProgramDraw, x: Value) -> None:
    if d.chance(0.3):
        d.add(d.call("row_conv", x, d.size(1, 2), param_attr=parameter(d)), "seq", x.shape)
        return
    filters = d.size(1, 3)
    kw = d.some(filter_size=[2, 3], bias_attr=[False], act=["tanh"])
    d.add(d.call("sequence_conv", x, filters, param_attr=parameter(d), **kw), "seq", (filters,))


@move("seq")
def recurrent(d: ProgramDraw, x: Value) -> None:
    size = d.pick(1, 2, 3)
    way = d.pick("gru", "lstm")
    kw = d.some(is_reverse=[True, False])
    if way == "gru":
        gates = d.call("fc", x, 3 * size)
        kw.update(d.some(origin_mode=[True], gate_activation=["sigmoid"], candidate_activation=["relu", "tanh"]))
        d.add(d.call("dynamic_gru", {"var": gates}, size, param_attr=parameter(d), **kw), "seq", (size,))
    else:
        gates = d.call("fc", x, 4 * size)
        kw.update(d.some(use_peepholes=[True, False]))
        both = [d.fresh(), d.fresh()]
        d.call("dynamic_lstm", {"var": gates}, 4 * size, param_attr=parameter(d), out=both, **kw)
        d.add(both[0], "seq", (size,))


@move("seq")
def rearranged(d: ProgramDraw, x: Value) -> None:
    way = d.size(1, 5)
    if way == 1:
        d.add(d.call("sequence_reverse", x), "seq", x.shape)
    elif way == 2:
        others = [v for v in d.values if v.kind == "seq" and v.shape == x.shape]
        d.add(d.call("sequence_concat", [var(x), var(d.rng.choice(others))]), "long_seq", x.shape)
    elif way == 3:
        first = d.call("sequence_first_step", x)
        d.add(d.call("sequence_expand", {"var": first}, x), "seq", x.shape)
    elif way == 4:
        padded = [d.fresh(), d.fresh()]
        value = d.call("fill_constant", [1], "float32", 0.5)
        d.call("sequence_pad", x, {"var": value}, out=padded)
        d.add(d.call("sequence_unpad", {"var": padded[0]}, {"var": padded[1]}), "seq", x.shape)
    else:
        scores = d.call("fc", x, 1, bias_attr=False)
        weights = d.call("sequence_softmax", {"var": scores})
        d.add(d.call("elementwise_mul", x, {"var": weights}, axis=0), "seq", x.shape)


@move("long_seq")
def pooled_long(d: ProgramDraw, x: Value) -> None:
    d.add(d.call("sequence_pool", x, d.pick("sum", "max")), "flat", x.shape)
