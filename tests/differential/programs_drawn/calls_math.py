"""Calls of layers: elements, shapes, reductions, comparisons, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.programs_drawn.calls import CallDraw, call

__all__: list[str] = []

_UNIT = ("acos", "asin", "atan", "cos", "sin", "ceil", "floor", "round", "mish", "log_softmax", "log1p")


@call(*_UNIT)
def unary(c: CallDraw) -> None:
    low, high = (-0.9, 0.9) if c.name in ("acos", "asin", "log1p") else (-2.0, 2.0)
    more = c.some(name=["own"]) if c.name not in ("log_softmax",) else c.some(axis=[-1, 0])
    c.out(c.f(*c.shape(), low=low, high=high), **more)


_SQUASH = (
    "exp", "tanh", "tanh_shrink", "sqrt", "rsqrt", "abs", "reciprocal", "square", "softplus", "softsign", "sigmoid",
    "logsigmoid", "relu", "log", "sign", "erf",
)  # fmt: skip


@call(*_SQUASH)
def more_unary(c: CallDraw) -> None:
    c.out(c.f(*c.shape(), low=0.1, high=2.0))


@call(
    "elu", "relu6", "pow", "stanh", "hard_sigmoid", "swish", "brelu", "leaky_relu", "soft_relu", "selu", "hard_swish",
    "hard_shrink", "softshrink", "thresholded_relu", "gelu", "clip", "clip_by_norm", "scale",
)  # fmt: skip
def with_numbers(c: CallDraw) -> None:
    choices: dict[str, dict[str, list[Any]]] = {
        "elu": {"alpha": [0.5]},
        "relu6": {"threshold": [1.0]},
        "stanh": {"scale_a": [0.3], "scale_b": [1.2]},
        "hard_sigmoid": {"slope": [0.3], "offset": [0.1]},
        "swish": {"beta": [0.5]},
        "brelu": {"t_min": [-0.5], "t_max": [0.7]},
        "leaky_relu": {"alpha": [0.3]},
        "soft_relu": {"threshold": [1.0]},
        "selu": {"scale": [1.2], "alpha": [1.1]},
        "hard_swish": {"threshold": [3.0], "scale": [2.0], "offset": [1.0]},
        "hard_shrink": {"threshold": [0.3]},
        "softshrink": {"alpha": [0.3]},
        "thresholded_relu": {"threshold": [0.3]},
        "gelu": {"approximate": [True]},
        "scale": {"scale": [2.0], "bias": [0.5], "bias_after_scale": [False], "act": ["relu"]},
    }
    x = c.f(*c.shape(), low=0.2 if c.name == "pow" else -2.0)
    if c.name == "clip":
        c.out(x, -0.5, 0.7)
    elif c.name == "clip_by_norm":
        c.no_grad()
        c.out(x, 1.5)
    elif c.name == "pow":
        c.out(x, c.number(2.0, "float32")) if c.chance() else c.out(x, **c.some(factor=[0.5]))
    else:
        c.out(x, **c.some(**choices[c.name]))


@call(
    "elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div", "elementwise_max", "elementwise_min",
    "elementwise_pow",
)  # fmt: skip
def elementwise(c: CallDraw) -> None:
    x = c.shape(2, 4)
    start = c.rng.randrange(len(x))
    y = x if c.chance(0.3) else x[start:]
    axis = -1 if y == x or c.chance() else start
    c.out(c.f(*x, low=0.3), c.f(*y, low=0.3), axis=axis, **c.some(act=["relu", "tanh"]))


@call("elementwise_mod", "elementwise_floordiv", grad=False)
def whole(c: CallDraw) -> None:
    shape, dtype = c.shape(), c.pick("int32", "int64")
    c.out(c.i(20, *shape, dtype=dtype), c.i(6, *shape, low=1, dtype=dtype))


@call("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal", grad=False)
def compared(c: CallDraw) -> None:
    shape = c.shape()
    kind = c.pick("int64", "int32", "float32")
    x, y = (c.put(c.numpy.randint(0, 3, shape).astype(kind)) for _ in range(2))
    c.out(x, y)


@call("logical_and", "logical_or", "logical_xor", grad=False)
def logical(c: CallDraw) -> None:
    shape = c.shape()
    c.out(c.b(*shape), c.b(*shape))


@call("logical_not", grad=False)
def logical_not(c: CallDraw) -> None:
    c.out(c.b(*c.shape()))


@call("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
def reduced(c: CallDraw) -> None:
    shape = c.shape(1, 4)
    dims = sorted(c.rng.sample(range(len(shape)), c.size(1, len(shape))))
    some = dims if len(dims) < len(shape) else dims[:1]  # all of them give stray memory
    dim = c.pick(None, dims[0], dims[0] - len(shape), some, [-1]) if len(shape) > 1 else None
    c.out(c.apart(*shape), dim=dim, **c.some(keep_dim=[True, False]))


@call("reduce_all", "reduce_any", grad=False)
def reduced_bools(c: CallDraw) -> None:
    c.out(c.b(*c.shape(1, 3)), **c.some(dim=[0, [0], None], keep_dim=[True]))


@call("argmax", "argmin", grad=False)
def arg(c: CallDraw) -> None:
    c.out(c.apart(*c.shape(1, 3)), **c.some(axis=[0, -1]))


@call("argsort")
def argsort(c: CallDraw) -> None:
    c.out(c.apart(*c.shape(1, 3)), **c.some(axis=[0, -1], descending=[True]))


@call("topk")
def topk(c: CallDraw) -> None:
    c.out(c.apart(c.size(), c.size(2, 4)), c.number(2))


@call("cast")
def cast(c: CallDraw) -> None:
    kinds = ("float32", "float64", "int32", "int64", "bool", "uint8", "float16")
    source = c.pick("float32", "int32", "int64", "bool", "uint8")
    array = c.numpy.uniform(0, 3, c.shape()).astype(source)
    c.out(c.put(array), c.pick(*kinds))
    c.no_grad()


@call("concat")
def concat(c: CallDraw) -> None:
    shape = c.shape(1, 4)
    axis = c.rng.randrange(len(shape))
    parts = []
    for _ in range(c.size(1, 3)):
        shape[axis] = c.size()
        parts.append(c.f(*shape))
    c.out(parts, axis=c.pick(axis, axis - len(shape)))


@call("split")
def split(c: CallDraw) -> None:
    shape = c.shape(1, 4)
    axis = c.rng.randrange(len(shape))
    shape[axis] = 6
    c.out(c.f(*shape, fixed=True), c.pick(2, 3, [1, 5], [2, -1, 1]), dim=c.pick(axis, axis - len(shape)))


@call("stack", "sum", "sums")
def joined(c: CallDraw) -> None:
    shape = c.shape(1, 3)
    parts = [c.f(*shape) for _ in range(c.size(1, 3))]
    c.out(parts, **(c.some(axis=[0, -1, 1]) if c.name == "stack" else {}))


@call("unstack")
def unstack(c: CallDraw) -> None:
    shape = c.shape(1, 3)
    c.out(c.f(*shape, fixed=True), **c.some(axis=[0, -1]))


@call("reshape")
def reshape(c: CallDraw) -> None:
    x = c.f(4, 6)
    two = c.before("fill_constant", [1], "int32", 2)
    target = c.put(np.array([8, 3], "int32"), fixed=True)
    c.out(x, c.pick([2, 12], [-1, 3], [0, 2, 3], [two, 12], (4, 3, -1), target), **c.some(act=["relu"]))


@call("squeeze", "unsqueeze")
def squeeze(c: CallDraw) -> None:
    axes = c.pick([1], [1, -1], [-1])
    if c.name == "unsqueeze":
        c.out(c.f(2, 3), c.pick(axes, 0, c.before("fill_constant", [1], "int32", 1)))
    else:
        c.out(c.f(2, 1, 3, 1), axes)


@call("flatten")
def flatten(c: CallDraw) -> None:
    c.out(c.f(*c.shape(2, 4)), **c.some(axis=[0, 1, 2]))


@call("transpose")
def transpose(c: CallDraw) -> None:
    shape = c.shape(1, 4)
    c.out(c.f(*shape), c.rng.sample(range(len(shape)), len(shape)))


@call("expand")
def expand(c: CallDraw) -> None:
    shape = c.shape(1, 3)
    times = [c.size(1, 3) for _ in shape]
    c.out(c.f(*shape), c.pick(times, tuple(times), [c.number(n) for n in times]))


@call("expand_as")
def expand_as(c: CallDraw) -> None:
    c.out(c.f(2, 1), c.f(4, 3))


@call("slice")
def slice_(c: CallDraw) -> None:
    shape = [c.size(2, 5) for _ in range(c.size(1, 3))]
    axes = sorted(c.rng.sample(range(len(shape)), c.size(1, len(shape))))
    c.out(c.f(*shape), axes, [c.number(0) for _ in axes], [c.number(c.pick(1, 2)) for _ in axes])


@call("strided_slice")
def strided_slice(c: CallDraw) -> None:
    c.out(c.f(4, 5), [1], [c.number(0)], [c.number(4)], [c.number(2)])


@call("crop_tensor")
def crop_tensor(c: CallDraw) -> None:
    kw = c.some(offsets=[[1, 0], [0, 1]])
    c.out(c.f(4, 5, fixed=True), shape=c.pick([2, 3], (3, 2), [c.number(2), 3], [-1, 2]), **kw)


@call("crop")
def crop(c: CallDraw) -> None:
    c.out(c.f(4, 5, fixed=True), shape=c.pick([2, 3], (3, 2)), **c.some(offsets=[[1, 0], (0, 1)]))


@call("pad", "pad2d", "pad_constant_like")
def pad(c: CallDraw) -> None:
    if c.name == "pad":
        c.out(c.f(2, 3), [1, 0, 2, 1], **c.some(pad_value=[0.5]))
    elif c.name == "pad2d":
        kw = c.some(mode=["edge", "reflect"], pad_value=[0.5], data_format=["NHWC"])
        c.out(c.f(1, 3, 3, 3), c.pick([1, 0, 1, 2], [0, 1, 1, 0]), **kw)
    else:
        c.out(c.f(3, 4), c.f(2, 3), **c.some(pad_value=[0.5]))


@call("gather", "gather_nd", "index_select", "index_sample", "scatter", "scatter_nd", "scatter_nd_add")
def picked(c: CallDraw) -> None:
    kind = c.pick("int32", "int64")
    if c.name == "gather":
        c.out(c.f(5, 3), c.i(5, 4, dtype=kind), **c.some(overwrite=[False]))
    elif c.name == "gather_nd":
        c.out(c.f(4, 3, 2), c.i(2, 2, c.size(1, 3), dtype=kind))
    elif c.name == "index_select":
        c.out(c.f(4, 3), c.i(3, 2, dtype=kind), **c.some(dim=[0, 1]))
    elif c.name == "index_sample":
        c.out(c.f(4, 3), c.i(3, 4, 2, dtype=kind))
    elif c.name == "scatter":
        c.out(c.f(4, 3), c.put(np.array([2, 0], kind)), c.f(2, 3), **c.some(overwrite=[False]))
    elif c.name == "scatter_nd":
        c.out(c.i(4, 3, 1), c.f(3, 2), [5, 2])
    else:
        c.out(c.f(5, 2), c.i(5, 3, 1), c.f(3, 2))


@call("cumsum", "reverse", "flip", "roll", "tril", "triu", "trace", "diag_embed")
def along(c: CallDraw) -> None:
    x = c.f(3, 4)
    kw = {
        "cumsum": c.some(axis=[0, -1], exclusive=[True], reverse=[True]),
        "reverse": {"axis": c.pick(0, [1], [0, 1])},
        "flip": {"dims": c.pick([0], [1], [0, 1])},
        "roll": {"shifts": c.pick(1, [1]), "dims": [0]} if c.chance() else {"shifts": 2},
        "tril": c.some(diagonal=[1, -1]),
        "triu": c.some(diagonal=[1, -1]),
        "trace": c.some(offset=[1, -1]),
        "diag_embed": c.some(offset=[1, -1]),
    }
    c.values_only = c.name == "roll"  # a variable that changes its shape has a gradient of either
    c.out(x, **kw[c.name])


@call("matmul", "mul", "bmm", "dot", "addmm", "kron", "dist", "cross", "t", "addcmul", "logsumexp")
def products(c: CallDraw) -> None:
    if c.name == "matmul":
        left = c.chance()
        shape = [4, 2] if left else [2, 4]
        c.out(c.f(*shape, fixed=True), c.f(4, 3, fixed=True), transpose_x=left, **c.some(alpha=[0.5]))
    elif c.name == "mul":
        c.out(c.f(2, 3, 2), c.f(6, 2, fixed=True), **c.some(y_num_col_dims=[1]))
    elif c.name == "bmm":
        c.out(c.f(2, 3, 2), c.f(2, 2, 4))
    elif c.name == "dot":
        c.out(c.f(2, 3), c.f(2, 3))
    elif c.name == "addmm":
        c.out(c.f(2, 4), c.f(2, 3), c.f(3, 4, fixed=True), **c.some(alpha=[0.5], beta=[2.0]))
    elif c.name in ("kron", "dist"):
        c.out(c.f(2, 3), c.f(2, 3))
    elif c.name == "cross":
        c.out(c.f(2, 3), c.f(2, 3), **c.some(dim=[1]))
    elif c.name == "addcmul":
        c.out(c.f(2, 3), c.f(2, 3), c.f(2, 3), **c.some(value=[0.5]))
    elif c.name == "logsumexp":
        c.out(c.f(2, 3), c.pick(1, [0]), **c.some(keepdim=[True]))
    else:
        c.out(c.f(2, 3))


@call("where", "nonzero", "unique", "unique_with_counts", "allclose", "increment", "shard_index", "one_hot", grad=False)
def odd(c: CallDraw) -> None:
    if c.name == "where":
        c.out(c.b(2, 3))
    elif c.name == "nonzero":
        c.out(c.i(2, 2, 3), **c.some(as_tuple=[True]))
    elif c.name in ("unique", "unique_with_counts"):
        c.out(c.i(4, 6), **c.some(dtype=["int64"]))
    elif c.name == "allclose":
        c.out(c.f(2), c.f(2), **c.some(rtol=[0.1], atol=[3.0], equal_nan=[True]))
    elif c.name == "increment":
        c.out(c.before("fill_constant", [1], "float32", 2.0), **c.some(value=[2.0], in_place=[False]))
    elif c.name == "shard_index":
        c.out(c.i(20, 4, 1), 20, 2, c.pick(0, 1), **c.some(ignore_value=[-5]))
    else:
        c.out(c.i(4, 3, 1), 4, **c.some(allow_out_of_range=[True]))


@call("multiplex")
def multiplex(c: CallDraw) -> None:
    c.out([c.f(3, 2), c.f(3, 2)], c.i(2, 3, 1, dtype="int32"))


@call("meshgrid")
def meshgrid(c: CallDraw) -> None:
    c.out([c.f(2, fixed=True), c.f(3, fixed=True)])


@call("label_smooth", "l2_normalize", "cos_sim", "bilinear_tensor_product", "prelu", "maxout", "lrn", "fsp_matrix")
def small(c: CallDraw) -> None:
    if c.name == "label_smooth":
        c.out(c.f(2, 4, low=0, high=1), **c.some(epsilon=[0.2]))
    elif c.name == "l2_normalize":
        c.out(c.f(2, 3, 2), c.pick(1, -1, 0), **c.some(epsilon=[1e-3]))
    elif c.name == "cos_sim":
        c.out(c.f(3, 4), c.f(c.pick(1, 3), 4, fixed=True))
    elif c.name == "bilinear_tensor_product":
        c.out(c.f(2, 3), c.f(2, 2), 3, **c.some(act=["tanh"], bias_attr=[False]))
    elif c.name == "prelu":
        c.out(c.f(2, 3, 2, 2), c.pick("all", "channel", "element"))
    elif c.name == "maxout":
        c.out(c.apart(2, 4, 2, 2), 2, **c.some(axis=[1]))
    elif c.name == "lrn":
        c.out(c.f(2, 4, 2, 2), **c.some(n=[3], k=[2.0], alpha=[0.01], beta=[0.5]))
    else:
        c.out(c.f(2, 3, 2, 2), c.f(2, 4, 2, 2))
