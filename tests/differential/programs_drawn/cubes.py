"""Moves on batches of matrices [N, T, W]: attention, cells, decoders, convolutions over time."""

from __future__ import annotations

from typing import Any

from tests.differential.programs_drawn.attributes import activation, initializer, parameter
from tests.differential.programs_drawn.base import BATCH, ProgramDraw, Value, move, var


@move("flat")
def to_cube(d: ProgramDraw, x: Value) -> None:
    times = d.size(2, 3)
    if d.chance():
        d.add(d.call("stack", [var(x)] * times, axis=1), "cube", (times, x.shape[0]))
        return
    width = d.size(1, 3)
    made = d.call("fc", x, times * width, param_attr=parameter(d))
    d.add(d.call("reshape", {"var": made}, d.pick([-1, times, width], [0, times, width])), "cube", (times, width))


@move("image")
def image_to_cube(d: ProgramDraw, x: Value) -> None:
    channels, height, width = x.shape
    d.add(d.call("reshape", x, [0, channels, height * width]), "cube", (channels, height * width))


@move("seq")
def padded(d: ProgramDraw, x: Value) -> None:
    value = d.call("fill_constant", [1], "float32", d.pick(0.0, 0.5))
    both = [d.fresh(), d.fresh()]
    d.call("sequence_pad", x, {"var": value}, out=both, **d.some(maxlen=[4]))
    if d.steps[-1]["kw"].get("maxlen"):
        d.add(both[0], "cube", (4, x.shape[0]))


@move("cube")
def from_cube(d: ProgramDraw, x: Value) -> None:
    times, width = x.shape
    way = d.size(1, 4)
    if way == 1:
        d.add(d.call(d.pick("reduce_mean", "reduce_sum", "reduce_max"), x, dim=1), "flat", (width,))
    elif way == 2:
        d.add(d.call("flatten", x, axis=1), "flat", (times * width,))
    elif way == 3:
        d.add(d.call("unsqueeze", x, [1]), "image", (1, times, width))
    else:
        size = d.size(1, 3)
        d.add(d.call("fc", x, size, act=activation(d), param_attr=parameter(d)), "flat", (size,))


@move("cube")
def along_time(d: ProgramDraw, x: Value) -> None:
    times, width = x.shape
    way = d.size(1, 8)
    if way == 1:
        size = d.size(1, 3)
        d.add(d.call("fc", x, size, num_flatten_dims=2, act=activation(d)), "cube", (times, size))
    elif way == 2:
        d.add(d.call("transpose", x, [0, 2, 1]), "cube", (width, times))
    elif way == 3:
        d.add(d.call("softmax", x, **d.some(axis=[1, 2, -1])), "cube", x.shape)
    elif way == 4:
        kw = d.some(begin_norm_axis=[1, 2], epsilon=[1e-3], scale=[False])
        d.add(d.call("layer_norm", x, **kw), "cube", x.shape)
    elif way == 5:
        scores = d.call("matmul", x, x, transpose_y=True, **d.some(alpha=[0.5]))
        d.add(d.call("matmul", {"var": d.call("softmax", {"var": scores})}, x), "cube", x.shape)
    elif way == 6:
        d.add(d.call("cumsum", x, **d.some(axis=[1, 2, -1], exclusive=[True], reverse=[True])), "cube", x.shape)
    elif way == 7:
        d.add(d.call("nets.scaled_dot_product_attention", x, x, x), "cube", x.shape)
    else:
        d.add(d.call("add_position_encoding", x, 1.0, d.number(0.1, 1.0)), "cube", x.shape)
        if width % 2:
            d.steps.pop()
            d.values.pop()


def _cell(d: ProgramDraw, size: int) -> dict[str, Any]:
    name = d.pick("GRUCell", "LSTMCell")
    kw: dict[str, Any] = {"hidden_size": size, **({"forget_bias": 0.5} if name == "LSTMCell" and d.chance(0.3) else {})}
    if d.chance(0.3):
        kw["param_attr"] = {"new": "ParamAttr", "kw": {"initializer": initializer(d)}}
    return {"new": f"layers.{name}", "kw": kw}


@move("cube")
def recurrent(d: ProgramDraw, x: Value) -> None:
    """A cell over time, plain, backwards, or of unequal lengths."""
    times, _ = x.shape
    size = d.size(1, 3)
    kw: dict[str, Any] = d.some(is_reverse=[True, False])
    if d.chance(0.3):
        lengths = [d.size(1, times) for _ in range(BATCH)]
        held = {"array": {"dtype": "int32", "shape": [BATCH], "data": lengths}}
        kw["sequence_length"] = {"var": d.call("assign", held)}
    both = [d.fresh(), d.fresh()]
    d.steps.append({"do": "call", "name": "layers.rnn", "args": [_cell(d, size), var(x)], "kw": kw, "out": both})
    d.add(both[0], "cube", (times, size))


@move("cube")
def basic_units(d: ProgramDraw, x: Value) -> None:
    """The stacked networks of contrib.layers."""
    times, _ = x.shape
    size = d.size(1, 3)
    way = d.pick("basic_gru", "basic_lstm")
    kw: dict[str, Any] = d.some(num_layers=[2], bidirectional=[True], batch_first=[True])
    kw.update(d.some(dropout_prob=[0.0]) if d.chance(0.2) else {})
    both = [d.fresh(), d.fresh()]
    states = [None] if way == "basic_gru" else [None, None]
    d.call(f"contrib.layers.{way}", x, *states, size, out=both, **kw)
    d.add(both[0], "cube", (times, size * (2 if kw.get("bidirectional") else 1)))


@move("cube")
def decoded(d: ProgramDraw, x: Value) -> None:
    """A decoder over given inputs."""
    times, _ = x.shape
    size, out = d.size(1, 3), d.fresh()
    cell = d.fresh()
    lengths = {"array": {"dtype": "int32", "shape": [BATCH], "data": [times] * BATCH}}
    held = d.call("assign", lengths)
    d.steps.append({"do": "value", "value": _cell(d, size), "out": cell})
    helper = {"new": "layers.TrainingHelper", "args": [var(x), {"var": held}]}
    decoder = {"new": "layers.BasicDecoder", "args": [{"var": cell}, helper]}
    first = {"method": [{"var": cell}, "get_initial_states"], "args": [var(x)]}
    d.steps.append(
        {
            "do": "call",
            "name": "layers.dynamic_decode",
            "args": [decoder],
            "kw": {"inits": first},
            "out": [out, d.fresh()],
        }
    )
    picked = d.fresh()
    d.steps.append({"do": "method", "of": {"var": out}, "name": "__getitem__", "args": [0], "out": picked})
    d.add(picked, "cube", (times, size))
