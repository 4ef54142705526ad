"""Ops that treat each element alone, and those of two operands."""

from __future__ import annotations

from tests.differential.draw import OpDraw, draws
from tests.differential.ops_drawn.sparse import sparse_one

# op -> (low, high) of its input
_PLAIN = {
    "abs": (-2, 2),
    "acos": (-0.95, 0.95),
    "asin": (-0.95, 0.95),
    "atan": (-3, 3),
    "ceil": (-3, 3),
    "cos": (-4, 4),
    "erf": (-2, 2),
    "exp": (-3, 3),
    "floor": (-3, 3),
    "log": (0.1, 5),
    "log1p": (-0.8, 5),
    "logsigmoid": (-5, 5),
    "reciprocal": (0.2, 3),
    "relu": (-2, 2),
    "round": (-3, 3),
    "rsqrt": (0.1, 4),
    "sigmoid": (-5, 5),
    "sin": (-4, 4),
    "softplus": (-5, 5),
    "softsign": (-3, 3),
    "sqrt": (0.1, 4),
    "square": (-3, 3),
    "tanh": (-3, 3),
    "tanh_shrink": (-3, 3),
    "sign": (-2, 2),
    "fill_zeros_like": (-2, 2),
    "assign": (-2, 2),
    "mean": (-2, 2),
    "squared_l2_norm": (-2, 2),
    "isfinite": (-2, 2),
    "isinf": (-2, 2),
    "isnan": (-2, 2),
    "is_empty": (-2, 2),
    "shape": (-2, 2),
    "size": (-2, 2),
}
_IN_SLOT = {"shape": "Input", "size": "Input"}

# op -> its float attributes: name -> (default, low, high)
_WITH_ATTRS: dict[str, dict[str, tuple[float, float, float]]] = {
    "brelu": {"t_min": (0.0, -1.5, 0.5), "t_max": (24.0, 0.6, 1.5)},
    "clip": {"min": (-1.0, -1.5, 0.0), "max": (1.0, 0.1, 1.5)},
    "clip_by_norm": {"max_norm": (1.0, 0.1, 5.0)},
    "elu": {"alpha": (1.0, 0.1, 3.0)},
    "hard_shrink": {"threshold": (0.5, 0.1, 1.5)},
    "hard_sigmoid": {"slope": (0.2, 0.1, 1.0), "offset": (0.5, 0.0, 1.0)},
    "hard_swish": {"threshold": (6.0, 0.5, 3.0), "scale": (6.0, 1.0, 7.0), "offset": (3.0, 0.2, 2.0)},
    "increment": {"step": (1.0, -2.0, 3.0)},
    "leaky_relu": {"alpha": (0.02, -0.5, 0.9)},
    "mish": {"threshold": (20.0, 0.5, 5.0)},
    "pow": {"factor": (1.0, -2.0, 3.0)},
    "relu6": {"threshold": (6.0, 0.5, 2.0)},
    "scale": {"scale": (1.0, -3.0, 3.0), "bias": (0.0, -3.0, 3.0)},
    "selu": {"scale": (1.0507, 0.5, 2.0), "alpha": (1.6733, 0.5, 2.0)},
    "soft_relu": {"threshold": (40.0, 0.5, 3.0)},
    "softshrink": {"lambda": (0.5, 0.1, 1.0)},
    "stanh": {"scale_a": (0.67, 0.1, 2.0), "scale_b": (1.7159, 0.5, 2.0)},
    "swish": {"beta": (1.0, 0.2, 2.0)},
    "thresholded_relu": {"threshold": (1.0, -0.5, 1.5)},
}
_NEEDED = {"clip", "clip_by_norm"}  # 1.8.5 demands their attributes


def _maybe_lod(d: OpDraw, shape: list[int]) -> list[list[int]] | None:
    if not d.chance(0.2):
        return None
    lod, rows = d.lod(d.size(1, 2))
    shape[0] = rows
    return lod


@draws(*_PLAIN)
def plain(d: OpDraw) -> None:
    low, high = _PLAIN[d.op]
    if d.op in ("abs", "sqrt", "square", "assign") and d.chance(0.2):
        sparse_one(d, low, high)
        return
    shape = d.shape()
    lod = _maybe_lod(d, shape)
    x = d.floats(shape, low, high)
    if d.op in ("isfinite", "isinf", "isnan") and d.chance():
        x.ravel()[0] = d.pick(float("inf"), float("nan"), float("-inf"))
    d.put(_IN_SLOT.get(d.op, "X"), x, lod=lod)
    if d.op in ("is_empty", "shape", "size", "isfinite", "isinf", "isnan", "fill_zeros_like"):
        d.no_grad()


@draws(*(name for name in _WITH_ATTRS if name not in ("increment",)))
def with_attrs(d: OpDraw) -> None:
    shape = d.shape()
    lod = _maybe_lod(d, shape)
    positive = d.op == "pow"
    if d.op in ("clip", "clip_by_norm", "scale") and d.chance(0.2):
        sparse_one(d)
    else:
        d.put("X", d.floats(shape, 0.2, 2.0) if positive else d.floats(shape, -3.0, 3.0), lod=lod)
    for name, (default, low, high) in _WITH_ATTRS[d.op].items():
        d.real(name, default, low, high)
        if d.op in _NEEDED:
            d.attrs.setdefault(name, default)
    if d.op == "clip_by_norm":
        d.no_grad()  # it has none
    if d.op == "scale":
        d.attr("bias_after_scale", True, False)
        if d.chance(0.2):
            d.put("ScaleTensor", d.floats([1]), fixed=True)
            d.no_grad("ScaleTensor")
    if d.op == "pow" and d.chance(0.2):
        d.put("FactorTensor", d.floats([1], 0.5, 2.0).astype("float32"), fixed=True)
        d.no_grad("FactorTensor")
    if d.op == "clip" and d.chance(0.2):
        d.put("Min", d.floats([1], -1.0, -0.1), fixed=True)
        d.put("Max", d.floats([1], 0.1, 1.0), fixed=True)
        d.no_grad("Min", "Max")


@draws("increment", grad=False)
def increment(d: OpDraw) -> None:
    d.put("X", d.pick(d.floats([1]), d.ids([1], 9)), fixed=True)
    d.real("step", 1.0, -2.0, 3.0)


@draws("gelu")
def gelu(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape(), -3, 3))
    d.attr("approximate", False, True)


def _operand_shapes(d: OpDraw) -> tuple[list[int], list[int], int]:
    """Return shapes of X and Y and the axis; Y is a run of X's dims, perhaps with trailing ones or single sizes."""
    x = d.shape(1, 4)
    start = d.rng.randrange(len(x))
    stop = d.rng.randint(start + 1, len(x))
    y = [size if d.chance(0.8) else 1 for size in x[start:stop]]
    if d.chance(0.3) and stop < len(x):
        y += [1] * d.rng.randint(1, len(x) - stop)
    axis = -1 if start + len(y) == len(x) and d.chance() else start
    if d.chance(0.2):
        return x, list(x), d.pick(-1, 0)
    return x, y, axis


@draws(
    "elementwise_add",
    "elementwise_div",
    "elementwise_max",
    "elementwise_min",
    "elementwise_mul",
    "elementwise_pow",
    "elementwise_sub",
)
def elementwise(d: OpDraw) -> None:
    x, y, axis = _operand_shapes(d)
    if d.chance(0.15):
        x, y = y, x
    if d.op == "elementwise_mul" and d.chance(0.15):
        sparse_one(d)
        d.put("Y", d.floats([1]), fixed=True)
        d.no_grad()
        return
    if d.chance(0.15):
        dtype = d.pick("int32", "int64")
        d.put("X", d.ids(x, 9, 1, dtype))
        d.put("Y", d.ids(y, 4, 1, dtype))
        d.attr("axis", axis, always=axis != -1)
        return
    lod = _maybe_lod(d, x) if x == y else None
    if lod:
        y[0] = x[0]
    low, high = (0.3, 2.0) if d.op in ("elementwise_div", "elementwise_pow") else (-2.0, 2.0)
    if d.op in ("elementwise_max", "elementwise_min"):
        d.put("X", d.apart(x), lod=lod)
    else:
        d.put("X", d.floats(x, low, high), lod=lod)
    d.put("Y", d.floats(y, low, high))
    d.attr("axis", axis, always=axis != -1)


@draws("elementwise_floordiv", "elementwise_mod", grad=False)
def integer_elementwise(d: OpDraw) -> None:
    x, y, axis = _operand_shapes(d)
    if d.chance(0.15) and len(x) > len(y):
        d.put("X", d.ids(y, 9, 1))  # above zero: it divides Y
        d.put("Y", d.ids(x, 20))
        d.attr("axis", axis, always=axis != -1)
        return
    dtype = d.pick("int32", "int64")
    if d.op == "elementwise_mod" and d.chance(0.4):
        d.put("X", d.floats(x, -5, 5))
        d.put("Y", d.floats(y, 0.5, 3.0) * d.pick(1, -1))
    else:
        d.put("X", d.ids(x, 20, -20, dtype))
        d.put("Y", d.ids(y, 6, 1, dtype) * d.numpy.choice([1, -1], y).astype(dtype))
    d.attr("axis", axis, always=axis != -1)


@draws("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal", grad=False)
def compare(d: OpDraw) -> None:
    x, y, axis = _operand_shapes(d)
    dtype = d.pick("int32", "int64", d.float)
    d.put("X", d.ids(x, 3, dtype=dtype))
    d.put("Y", d.ids(y, 3, dtype=dtype))
    d.attr("axis", axis, always=axis != -1)
    d.attr("force_cpu", False, True)


@draws("logical_and", "logical_or", "logical_xor", grad=False)
def logical(d: OpDraw) -> None:
    shape = d.shape()
    d.put("X", d.bools(shape))
    d.put("Y", d.bools(shape))


@draws("logical_not", grad=False)
def logical_not(d: OpDraw) -> None:
    d.put("X", d.bools(d.shape()))


@draws("allclose", grad=False)
def allclose(d: OpDraw) -> None:
    shape = d.shape()
    x = d.floats(shape)
    d.put("Input", x)
    d.put("Other", x + d.floats(shape, -1, 1) * x.dtype.type(d.pick(0, 1e-7, 1e-3, 1)))
    d.real("rtol", 1e-05, 0.0, 0.01)
    d.real("atol", 1e-08, 0.0, 0.01)
    d.attr("equal_nan", False, True)


@draws("cast")
def cast(d: OpDraw) -> None:
    numbers = {"bool": 0, "int32": 2, "int64": 3, "float32": 5, "float64": 6, "uint8": 20, "int8": 21, "float16": 4}
    source = d.pick("bool", "int32", "int64", "float32", "float64", "uint8")
    x = d.floats(d.shape(), 0, 3) if source == "uint8" else d.floats(d.shape(), -3, 3)
    d.put("X", x.astype(source))
    d.attrs = {"in_dtype": numbers[source], "out_dtype": d.pick(*numbers.values())}


@draws("sum")
def sum_(d: OpDraw) -> None:
    shape = d.shape()
    if d.chance(0.25):
        shape = d.shape(2, 2)
        for _ in range(d.size(1, 3)):
            d.put_rows("X", shape[0], shape[1:])
        if d.chance(0.3):
            d.put("X", d.floats(shape), fixed=True)  # together they are dense
        else:
            d.read.add("Out")
        d.no_grad()
        return
    if d.chance(0.15):
        d.put("X", *[d.ids(shape, 9, dtype=d.pick("int32", "int64"))] * d.size(1, 3))
        return
    d.put("X", *[d.floats(shape) for _ in range(d.size(1, 4))])


@draws("minus")
def minus(d: OpDraw) -> None:
    shape = d.shape()
    d.put("X", d.floats(shape))
    d.put("Y", d.floats(shape))


@draws("prelu")
def prelu(d: OpDraw) -> None:
    shape = [d.size(), d.size(), d.size(), d.size()][: d.size(2, 4)]
    mode = d.attr("mode", "all", "channel", "element", always=True)
    alpha = {"all": [1], "channel": [1, shape[1], 1, 1][: max(2, len(shape))], "element": [1, *shape[1:]]}[mode]
    d.put("X", d.floats(shape))
    d.put("Alpha", d.floats(alpha), fixed=True)


@draws("maxout")
def maxout(d: OpDraw) -> None:
    groups = d.attr("groups", 2, 3, always=True)
    axis = d.attr("axis", 1, 3, -1)
    shape = [d.size(1, 3) for _ in range(4)]
    shape[axis] = groups * d.size(1, 3)
    d.put("X", d.apart(shape))


@draws("where")
def where(d: OpDraw) -> None:
    shape = d.shape()
    d.put("Condition", d.bools(shape))
    d.put("X", d.floats(shape))
    d.put("Y", d.floats(shape))


@draws("affine_channel")
def affine_channel(d: OpDraw) -> None:
    channels = d.size()
    layout = d.attr("data_layout", "AnyLayout", "NCHW", "NHWC", always=True)
    shape = [d.size(), d.size(), d.size(), channels] if layout == "NHWC" else [d.size(), channels, d.size(), d.size()]
    d.put("X", d.floats(shape))
    d.put("Scale", d.floats([channels]), fixed=True)
    d.put("Bias", d.floats([channels]), fixed=True)
