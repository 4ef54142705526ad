"""Moves on matrices: rows of numbers."""

from __future__ import annotations

from tests.differential.programs_drawn.attributes import activation, parameter
from tests.differential.programs_drawn.base import BATCH, ProgramDraw, Value, move, var

_UNARY = (
    "relu tanh sigmoid softsign softplus square abs logsigmoid cos sin tanh_shrink elu relu6 swish hard_sigmoid "
    "hard_swish gelu leaky_relu soft_relu stanh brelu softshrink hard_shrink thresholded_relu erf atan exp sign selu"
)


@move("flat", "seq")
def fc(d: ProgramDraw, x: Value) -> None:
    kw = {"size": d.size(1, 5), "param_attr": parameter(d), "act": activation(d)}
    kw["bias_attr"] = d.pick(None, None, False, parameter(d))
    if d.chance(0.1):
        kw["name"] = f"n{d.size(1, 99)}"
    others = [v for v in d.values if v.kind == x.kind and v != x]
    if others and d.chance(0.2):
        inputs = [var(x), var(d.rng.choice(others))]
        if isinstance(kw["param_attr"], dict) and "name" in kw["param_attr"].get("kw", {}):
            kw["param_attr"] = None
        d.add(d.call("fc", input=inputs, **kw), x.kind, (kw["size"],))
        return
    d.add(d.call("fc", input=var(x), **kw), x.kind, (kw["size"],))


@move("flat", "seq", "image")
def unary(d: ProgramDraw, x: Value) -> None:
    d.add(d.call(d.pick(*_UNARY.split()), x), x.kind, x.shape)


@move("flat", "image", "seq")
def with_a_number(d: ProgramDraw, x: Value) -> None:
    sign = d.pick("+", "-", "*", "/", "*", "+")
    number = d.pick(2, 0.5, 3.0, -1.5, 7)
    if d.chance(0.3) and sign != "/":
        d.add(d.operate(sign, number, var(x)), x.kind, x.shape)
        return
    d.add(d.operate(sign, var(x), number), x.kind, x.shape)


@move("flat", "image", "seq")
def powers(d: ProgramDraw, x: Value) -> None:
    positive = d.operate("+", var(d.call("square", x)), 0.5)
    way = d.size(1, 3)
    if way == 1:
        d.add(d.operate("**", {"var": positive}, d.pick(2, 0.5, 1.5)), x.kind, x.shape)
    elif way == 2:
        d.add(d.operate("/", 1.0, {"var": positive}), x.kind, x.shape)
    else:
        d.add(d.call(d.pick("sqrt", "log", "rsqrt", "reciprocal"), {"var": positive}), x.kind, x.shape)


@move("flat", "image", "seq")
def with_another(d: ProgramDraw, x: Value) -> None:
    others = [v for v in d.values if v.kind == x.kind and v.shape == x.shape]
    other = d.rng.choice(others)
    if d.chance():
        d.add(d.operate(d.pick("+", "-", "*"), var(x), var(other)), x.kind, x.shape)
        return
    layer = d.pick("elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_max", "elementwise_min")
    kw = {"act": d.pick("relu", "tanh")} if d.chance(0.3) else {}
    d.add(d.call(layer, x, other, **kw), x.kind, x.shape)


@move("flat")
def column_or_mean(d: ProgramDraw, x: Value) -> None:
    """Combine with a tensor of lower rank."""
    dim = d.pick(0, 1)
    kw = {"dim": dim}
    if d.chance():
        kw["keep_dim"] = True
    small = d.call(d.pick("reduce_mean", "reduce_sum", "reduce_max", "reduce_min"), x, **kw)
    if "keep_dim" in kw:
        d.add(d.operate(d.pick("+", "-", "*"), var(x), {"var": small}), "flat", x.shape)
    elif dim == 1:
        d.add(d.call("elementwise_sub", x, {"var": small}, axis=0), "flat", x.shape)
    else:
        d.add(d.call("elementwise_mul", x, {"var": small}, axis=d.pick(1, -1)), "flat", x.shape)


@move("flat", "image")
def dropout(d: ProgramDraw, x: Value) -> None:
    kw = d.some(dropout_implementation=["upscale_in_train", "downgrade_in_infer"], is_test=[True, False])
    d.add(d.call("dropout", x, d.pick(0.0, 0.3, 0.5), seed=d.size(1, 99), **kw), x.kind, x.shape)


@move("flat", "image")
def normalize(d: ProgramDraw, x: Value) -> None:
    way = d.pick("batch_norm", "layer_norm", "l2_normalize", "batch_norm")
    if way == "batch_norm":
        kw = d.some(momentum=[0.8], epsilon=[1e-3], use_global_stats=[True, False], is_test=[False], act=["relu"])
        d.add(d.call("batch_norm", x, param_attr=parameter(d), **kw), x.kind, x.shape)
    elif way == "layer_norm":
        kw = d.some(scale=[False], shift=[False], epsilon=[1e-3], act=["tanh"])
        d.add(d.call("layer_norm", x, **kw), x.kind, x.shape)
    else:
        d.add(d.call("l2_normalize", x, axis=d.pick(1, -1), **d.some(epsilon=[1e-3])), x.kind, x.shape)


@move("flat")
def shapes(d: ProgramDraw, x: Value) -> None:
    width = x.shape[0]
    way = d.size(1, 8)
    if way == 1:
        other = d.latest("flat") or x
        d.add(d.call("concat", [var(x), var(other)], axis=d.pick(1, -1)), "flat", (width + other.shape[0],))
    elif way == 2:
        d.add(d.call("reshape", x, [-1, width] if d.chance() else [0, -1]), "flat", (width,))
    elif way == 3 and width > 1:
        parts = [d.fresh(), d.fresh()]
        d.call("split", x, [1, width - 1], dim=d.pick(1, -1), out=parts)
        d.add(parts[1], "flat", (width - 1,))
    elif way == 4:
        d.add(d.call("transpose", {"var": d.call("transpose", x, [1, 0])}, [1, 0]), "flat", (width,))
    elif way == 5:
        d.add(d.call("squeeze", {"var": d.call("unsqueeze", x, [1])}, [1]), "flat", (width,))
    elif way == 6:
        d.add(d.call("expand", x, [1, 2]), "flat", (2 * width,))
    elif way == 7:
        d.add(d.call("pad", x, [0, 0, 1, d.size(0, 1)], **d.some(pad_value=[0.5])), "flat", (width + 1,))
        d.values.pop()
        d.add(
            d.call("scale", x, **d.some(scale=[2.0], bias=[0.5], bias_after_scale=[False], act=["relu"])),
            "flat",
            x.shape,
        )
    else:
        low = d.size(0, width - 1)
        d.add(d.call("slice", x, axes=[1], starts=[low], ends=[d.size(low + 1, width)]), "flat", (-1,))
        d.values.pop()


@move("flat", "image")
def index(d: ProgramDraw, x: Value) -> None:
    """Cut with Python's brackets."""
    width = x.shape[0]
    low = d.size(0, width - 1)
    high = d.size(low + 1, width)
    first = d.pick({"slice": [None, None, None]}, {"slice": [0, BATCH, None]})
    second = d.pick({"slice": [low, high, None]}, {"slice": [low, high, 1]}, {"slice": [-width + low, high, None]})
    out = d.fresh()
    d.steps.append({"do": "index", "of": var(x), "index": [first, second], "out": out})
    d.add(out, x.kind, (high - low, *x.shape[1:]))


@move("flat")
def products(d: ProgramDraw, x: Value) -> None:
    width = x.shape[0]
    way = d.size(1, 4)
    other = d.latest("flat") or x
    if way == 1:
        gram = d.call("matmul", x, x, transpose_y=True, **d.some(alpha=[0.5]))
        d.add(d.call("matmul", {"var": gram}, x), "flat", (width,))
    elif way == 2:
        kw = d.some(act=["tanh"], bias_attr=[False])
        d.add(
            d.call("bilinear_tensor_product", x, other, size=d.size(1, 3), param_attr=parameter(d), **kw), "flat", (-1,)
        )
        d.values.pop()
    elif way == 3 and other.shape == x.shape:
        d.add(d.call("cos_sim", x, other), "flat", (1,))
    else:
        d.add(d.call("softmax", x, **d.some(axis=[-1, 1])), "flat", x.shape)


@move("flat")
def parameters_of_their_own(d: ProgramDraw, x: Value) -> None:
    width = x.shape[0]
    if d.chance():
        made = d.call("create_parameter", [width, 2], "float32", **d.some(attr=[parameter(d)], is_bias=[True]))
        d.add(d.call("mul", x, {"var": made}), "flat", (2,))
    else:
        made = d.call("fill_constant", [width], "float32", d.number(-1, 1))
        d.add(d.call("elementwise_add", x, {"var": made}), "flat", x.shape)


@move("flat")
def rows(d: ProgramDraw, x: Value) -> None:
    way = d.size(1, 4)
    if way == 1:
        ids = d.call("assign", {"array": {"dtype": "int32", "shape": [BATCH], "data": [2, 0, 3, 1]}})
        d.add(d.call("gather", x, {"var": ids}), "flat", x.shape)
    elif way == 2:
        stacked = d.call("stack", [var(x), var(x)], axis=d.pick(0, 1, -1))
        d.add(d.call("reduce_sum", {"var": stacked}), "scalar", ())
    elif way == 3:
        both = [d.fresh(), d.fresh()]
        d.call("topk", x, d.size(1, x.shape[0]), out=both)
        d.add(both[0], "flat", (-1,))
        d.values.pop()
    else:
        d.add(d.call("clip", x, -0.5, d.number(0.1, 0.9)), "flat", x.shape)


@move("flat")
def overwritten(d: ProgramDraw, x: Value) -> None:
    """Give a value a new one under its name, after something may have read the first."""
    width = x.shape[0]
    first = d.call(d.pick("tanh", "square", "scale"), x)
    if d.chance(0.6):
        d.add(d.call(d.pick("sigmoid", "tanh"), {"var": first}), "flat", x.shape)
    source = d.pick(x.handle, first)
    new = d.call(d.pick("tanh", "square", "scale"), {"var": source})
    if d.chance(0.4):
        new = d.call("fc", {"var": new}, width, act=d.pick(None, "tanh"))
    d.steps.append({"do": "assign", "from": new, "to": first})
    d.add(first, "flat", x.shape)
