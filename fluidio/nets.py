"""Small networks made of layers: convolution with pooling, attention, gated units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio import layers
from fluidio.era import era
from fluidio.param_attr import AttrLike
from fluidio.program import Variable
from fluidio.program.arguments import Sizes
from fluidio.program.type_checks import check_variable_and_dtype

__all__ = [
    "glu",
    "img_conv_group",
    "scaled_dot_product_attention",
    "sequence_conv_pool",
    "simple_img_conv_pool",
]


def simple_img_conv_pool(
    input: Variable,
    num_filters: int,
    filter_size: Sizes,
    pool_size: Sizes,
    pool_stride: Sizes,
    pool_padding: Sizes | str = 0,
    pool_type: str = "max",
    global_pooling: bool = False,
    conv_stride: Any = 1,
    conv_padding: Any = 0,
    conv_dilation: Any = 1,
    conv_groups: int = 1,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    use_cudnn: bool = True,
) -> Variable:
    """One convolution and one pooling."""
    convolved = layers.conv2d(
        input=input,
        num_filters=num_filters,
        filter_size=filter_size,
        stride=conv_stride,
        padding=conv_padding,
        dilation=conv_dilation,
        groups=conv_groups,
        param_attr=param_attr,
        bias_attr=bias_attr,
        act=act,
        use_cudnn=use_cudnn,
    )
    pooled: Variable = layers.pool2d(
        input=convolved,
        pool_size=pool_size,
        pool_type=pool_type,
        pool_stride=pool_stride,
        pool_padding=pool_padding,
        global_pooling=global_pooling,
        use_cudnn=use_cudnn,
    )
    return pooled


def img_conv_group(
    input: Variable,
    conv_num_filter: Sequence[int],
    pool_size: Sizes,
    conv_padding: object = 1,
    conv_filter_size: object = 3,
    conv_act: str | None = None,
    param_attr: AttrLike = None,
    conv_with_batchnorm: object = False,
    conv_batchnorm_drop_rate: object = 0.0,
    pool_stride: Sizes = 1,
    pool_type: str = "max",
    use_cudnn: bool = True,
) -> Variable:
    """Several convolutions, each optionally with batch norm and dropout, and one pooling: a block of VGG.

    Arguments that are not lists apply to every convolution.
    """
    if not isinstance(conv_num_filter, (list, tuple)):
        raise AssertionError(f"img_conv_group: conv_num_filter must be a list or tuple, got {conv_num_filter!r}")
    count = len(conv_num_filter)
    paddings, sizes, attrs = (_each(v, count) for v in (conv_padding, conv_filter_size, param_attr))
    norms, drops = _each(conv_with_batchnorm, count), _each(conv_batchnorm_drop_rate, count)
    out = input
    for index, filters in enumerate(conv_num_filter):
        out = layers.conv2d(
            input=out,
            num_filters=filters,
            filter_size=sizes[index],
            padding=paddings[index],
            param_attr=attrs[index],
            act=None if norms[index] else conv_act,
            use_cudnn=use_cudnn,
        )
        if norms[index]:
            out = layers.batch_norm(input=out, act=conv_act)
            if abs(drops[index]) > 1e-5:
                out = layers.dropout(x=out, dropout_prob=drops[index])
    pooled: Variable = layers.pool2d(
        input=out, pool_size=pool_size, pool_type=pool_type, pool_stride=pool_stride, use_cudnn=use_cudnn
    )
    return pooled


def _each(value: object, count: int) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise AssertionError(f"img_conv_group: got {len(value)} values for {count} convolutions: {value!r}")
    return list(value)


def sequence_conv_pool(
    input: Variable,
    num_filters: int,
    filter_size: int,
    param_attr: AttrLike = None,
    act: str = "sigmoid",
    pool_type: str = "max",
    bias_attr: AttrLike = None,
) -> Variable:
    """One convolution over sequences, and one pooling of each sequence to a row."""
    convolved = layers.sequence_conv(
        input=input,
        num_filters=num_filters,
        filter_size=filter_size,
        param_attr=param_attr,
        bias_attr=bias_attr,
        act=act,
    )
    return layers.sequence_pool(input=convolved, pool_type=pool_type)


def glu(input: Variable, dim: int = -1) -> Variable:
    """Split in two along `dim`: a * sigmoid(b)."""
    if era().checks_layer_arguments:
        check_variable_and_dtype(input, "input", ["float16", "float32", "float64"], "glu")
    a, b = layers.split(input, num_or_sections=2, dim=dim)
    return layers.elementwise_mul(x=a, y=layers.sigmoid(x=b))


def scaled_dot_product_attention(
    queries: Variable, keys: Variable, values: Variable, num_heads: int = 1, dropout_rate: float = 0.0
) -> Variable:
    """softmax(q k' / sqrt(d)) v over the second dim of 3-D tensors, optionally with several heads."""
    if era().checks_layer_arguments:
        for name, given in (("queries", queries), ("keys", keys), ("values", values)):
            check_variable_and_dtype(given, name, ["float32", "float64"], "scaled_dot_product_attention")
    _check_attention(queries, keys, values, num_heads)
    if num_heads > 1:
        queries, keys, values = (
            layers.fc(input=x, size=x.shape[-1], num_flatten_dims=2) for x in (queries, keys, values)
        )
    q, k, v = (_split_heads(x, num_heads) for x in (queries, keys, values))
    width = queries.shape[-1] // num_heads
    product = layers.matmul(x=layers.scale(x=q, scale=width**-0.5), y=k, transpose_y=True)
    rows = layers.reshape(x=product, shape=[-1, product.shape[-1]], act="softmax")
    weights = layers.reshape(x=rows, shape=list(product.shape))
    if dropout_rate:
        weights = layers.dropout(weights, dropout_prob=dropout_rate, is_test=False)
    return _join_heads(layers.matmul(weights, v))


def _check_attention(queries: Variable, keys: Variable, values: Variable, num_heads: int) -> None:
    if not len(queries.shape) == len(keys.shape) == len(values.shape) == 3:
        raise ValueError(
            "scaled_dot_product_attention: queries, keys and values must have 3 dims, got "
            f"{len(queries.shape)}, {len(keys.shape)} and {len(values.shape)}"
        )
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "scaled_dot_product_attention: the last dims of queries and keys must be equal, got "
            f"{queries.shape[-1]} and {keys.shape[-1]}"
        )
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            "scaled_dot_product_attention: keys and values must have the same number of steps, got "
            f"{keys.shape[-2]} and {values.shape[-2]}"
        )
    if keys.shape[-1] % num_heads:
        raise ValueError(
            f"scaled_dot_product_attention: num_heads ({num_heads}) must divide the last dim of keys ({keys.shape[-1]})"
        )
    if values.shape[-1] % num_heads:
        raise ValueError(
            f"scaled_dot_product_attention: num_heads ({num_heads}) must divide the last dim of values "
            f"({values.shape[-1]})"
        )


def _split_heads(x: Variable, num_heads: int) -> Variable:
    """[batch, n, d] -> [batch, heads, n, d / heads]."""
    if num_heads == 1:
        return x
    reshaped = layers.reshape(x=x, shape=[*x.shape[:-1], num_heads, x.shape[-1] // num_heads])
    return layers.transpose(x=reshaped, perm=[0, 2, 1, 3])


def _join_heads(x: Variable) -> Variable:
    if len(x.shape) == 3:
        return x
    joined = layers.transpose(x, perm=[0, 2, 1, 3])
    return layers.reshape(x=joined, shape=[*joined.shape[:2], joined.shape[2] * joined.shape[3]])
