"""Moves that users write as units: nets, shared parameters, metrics, layers of contrib."""

from __future__ import annotations

from typing import Any

from tests.differential.programs_drawn.attributes import initializer, parameter
from tests.differential.programs_drawn.base import BATCH, ProgramDraw, Value, move, var


def _named(d: ProgramDraw, name: str) -> dict[str, Any]:
    kw: dict[str, Any] = {"name": name}
    if d.chance():
        kw["initializer"] = initializer(d)
    return {"new": "ParamAttr", "kw": kw}


@move("flat")
def shared(d: ProgramDraw, x: Value) -> None:
    """Two layers with the same parameters."""
    width, name = x.shape[0], f"shared{d.fresh()}"
    weight = _named(d, name)
    bias = _named(d, name + "_b") if d.chance() else False
    first = d.call("fc", x, width, param_attr=weight, bias_attr=bias, act=d.pick(None, "tanh"))
    d.add(d.call("fc", {"var": first}, width, param_attr=weight, bias_attr=bias), "flat", (width,))


@move("flat")
def twice(d: ProgramDraw, x: Value) -> None:
    """One parameter read by layers of different kinds."""
    width, name = x.shape[0], f"tied{d.fresh()}"
    made = d.call("fc", x, width, param_attr=_named(d, name), bias_attr=False)
    kw = {"attr": {"new": "ParamAttr", "kw": {"name": name}}}
    again = d.call("create_parameter", [width, width], "float32", **kw)
    d.add(d.call("matmul", {"var": made}, {"var": again}, transpose_y=d.chance()), "flat", (width,))


@move("flat_ids")
def looked_up(d: ProgramDraw, x: Value) -> None:
    size = d.size(1, 4)
    kw = d.some(is_sparse=[True, False], padding_idx=[0, -1])
    d.add(d.call("embedding", x, size=[9, size], param_attr=parameter(d), **kw), "flat", (size,))


@move("seq_ids")
def pooled_words(d: ProgramDraw, x: Value) -> None:
    """Embed and sum, by one op of contrib or by two layers."""
    size = d.size(1, 4)
    if d.chance():
        kw = {"size": [9, size], "combiner": "sum", "param_attr": parameter(d)}
        d.add(d.call("contrib.layers.fused_embedding_seq_pool", x, **kw, **d.some(is_sparse=[True])), "flat", (size,))
        return
    made = d.call("embedding", x, size=[9, size], **d.some(is_sparse=[True]))
    d.add(
        d.call("nets.sequence_conv_pool", {"var": made}, 2, 2, **d.some(act=["tanh"], pool_type=["sum"])), "flat", (2,)
    )


@move("image")
def units(d: ProgramDraw, x: Value) -> None:
    _, height, width = x.shape
    if min(height, width) < 4:
        return
    filters = d.size(1, 3)
    if d.chance():
        kw = d.some(pool_type=["max", "avg"], act=["relu", "tanh"], conv_padding=[1], bias_attr=[False])
        pad = kw.get("conv_padding", 0)
        made = d.call("nets.simple_img_conv_pool", x, filters, 3, 2, 2, **kw)
        sizes = [(size + 2 * pad - 2 - 2) // 2 + 1 for size in (height, width)]
    else:
        kw = d.some(conv_with_batchnorm=[True, [True, False]], conv_act=["relu"], pool_type=["avg"])
        drop = d.some(conv_batchnorm_drop_rate=[0.0])
        made = d.call("nets.img_conv_group", x, [filters, filters], 2, pool_stride=2, **kw, **drop)
        sizes = [(size - 2) // 2 + 1 for size in (height, width)]
    if min(sizes) < 1:
        d.steps.pop()
        return
    d.add(made, "image", (filters, *sizes))


@move("image")
def more_units(d: ProgramDraw, x: Value) -> None:
    channels, height, width = x.shape
    way = d.size(1, 7)
    if way == 1 and channels % 2 == 0:
        d.add(d.call("nets.glu", x, dim=1), "image", (channels // 2, height, width))
    elif way == 2 and channels % 2 == 0:
        d.add(d.call("maxout", x, 2), "image", (channels // 2, height, width))
    elif way == 3 and channels % 2 == 0:
        d.add(d.call("shuffle_channel", x, 2), "image", x.shape)
    elif way == 4 and channels % 4 == 0 and height % 2 == 0 and width % 2 == 0:
        d.add(d.call("space_to_depth", x, 2), "image", (channels * 4, height // 2, width // 2))
    elif way == 5:
        grid = d.call("affine_grid", {"var": _theta(d)}, [BATCH, channels, height, width])
        d.add(d.call("grid_sampler", x, {"var": grid}), "image", x.shape)
    elif way == 6:
        d.add(d.call("temporal_shift", x, 2, 0.25), "image", x.shape)
    else:
        pooled = d.call("pool2d", x, pool_type="avg", global_pooling=True)
        gate = d.call("fc", {"var": pooled}, channels, act="sigmoid")
        d.add(d.call("elementwise_mul", x, {"var": gate}, axis=0), "image", x.shape)


def _theta(d: ProgramDraw) -> str:
    data = [d.number(-0.6, 0.9) for _ in range(BATCH * 6)]
    return d.call("assign", {"array": {"dtype": "float32", "shape": [BATCH, 2, 3], "data": data}})


@move("flat")
def measured(d: ProgramDraw, x: Value) -> None:
    """Metrics beside the network."""
    classes = d.size(2, 4)
    label = d.feed_ids("flat_ids", classes)
    prob = d.call("fc", x, classes, act="softmax")
    way = d.size(1, 4)
    if way == 1:
        d.call("accuracy", {"var": prob}, label, **d.some(k=[1, 2]))
    elif way == 2:
        two = d.call("fc", x, 2, act="softmax")
        zero = d.call("cast", {"var": d.call("less_than", label, {"var": d.call("ones_like", label)})}, "int64")
        kw = d.some(curve=["PR", "ROC"], num_thresholds=[200], slide_steps=[0, 2])
        d.call("auc", {"var": two}, {"var": zero}, out=[d.fresh(), d.fresh()], **kw)
    elif way == 3:
        guess = d.call("argmax", {"var": prob}, axis=1)
        shaped = d.call("unsqueeze", {"var": guess}, [1])
        d.call("mean_iou", {"var": shaped}, label, classes, out=[d.fresh(), d.fresh(), d.fresh()])
    else:
        d.call("accuracy", {"var": prob}, label)
    d.add(prob, "flat", (classes,))


@move("flat")
def of_contrib(d: ProgramDraw, x: Value) -> None:
    width = x.shape[0]
    others = [v for v in d.values if v.kind == "flat" and v.shape == x.shape]
    other = d.rng.choice(others)
    way = d.size(1, 4)
    if way == 1:
        functors = d.pick(["elementwise_add", "relu"], ["relu", "elementwise_add"], ["elementwise_mul", "scale"])
        kw = d.some(scale=[0.5], save_intermediate_out=[True])
        d.add(d.call("contrib.layers.fused_elemwise_activation", x, other, functors, **kw), "flat", x.shape)
    elif way == 2:
        start, length = d.size(0, width - 1), 1
        d.add(d.call("contrib.layers.partial_concat", [var(x), var(other)], start, length), "flat", (2,))
    elif way == 3:
        d.add(d.call("contrib.layers.partial_sum", [var(x), var(other)], **d.some(start_index=[0])), "flat", x.shape)
    else:
        d.add(d.call("sums", [var(x), var(other)]), "flat", x.shape)


@move("flat")
def distributions(d: ProgramDraw, x: Value) -> None:
    """Facts of distributions that grow out of the network."""
    scale = d.operate("+", {"var": d.call("square", x)}, 0.5)
    made = {"new": "layers.Normal", "args": [var(x), {"var": scale}]}
    out = d.fresh()
    way = d.pick("entropy", "log_prob", "kl_divergence")
    args: list[Any] = []
    if way == "log_prob":
        args = [{"var": d.call("fill_constant_batch_size_like", x, [-1, x.shape[0]], "float32", 0.3)}]
    elif way == "kl_divergence":
        args = [{"new": "layers.Normal", "args": [0.0, 1.0]}]
    d.steps.append({"do": "method", "of": made, "name": way, "args": args, "out": out})
    d.add(out, "flat", x.shape)
