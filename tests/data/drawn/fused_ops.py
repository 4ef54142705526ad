"""Fused ops of saved models."""
import numpy as np
from bare_ops import O, case, op

R = np.random.RandomState(21)


def f(*shape, **k):
    return R.uniform(k.get("low", -1), k.get("high", 1), shape).astype(k.get("dtype", "float32"))


def i(high, *shape, **k):
    return R.randint(k.get("low", 0), high, shape).astype(k.get("dtype", "int64"))


def cases():
    for n, (shape, dims, act, bias) in enumerate([((3, 4), 1, "", True), ((3, 4), 1, "relu", True), ((2, 3, 4), 2, "relu", True), ((2, 3, 4), 1, "", False), ((5, 6), 1, "", True)]):
        width = int(np.prod(shape[dims:]))
        feeds = dict(x=f(*shape), w=f(width, 5))
        if bias:
            feeds["b"] = f(*((5,) if n % 2 else (1, 5)))
        yield op("fc_%d" % n, "fc", feeds, "Input=x W=w" + (" Bias=b" if bias else ""), attrs=dict(in_num_col_dims=dims, activation_type=act))
    for n, (lens, act, peep, rev, start) in enumerate([([3, 2], "tanh", False, False, False), ([1, 4, 2], "tanh", True, False, False), ([3, 3], "relu", False, True, False), ([2, 5], "tanh", True, True, True)]):
        d, m = 4, 3
        feeds = dict(x=(f(sum(lens), m), lens), u=f(m, 4 * d), w=f(d, 4 * d), b=f(1, 7 * d if peep else 4 * d))
        slots = "X=x WeightX=u WeightH=w Bias=b"
        if start:
            feeds.update(h=f(len(lens), d), c=f(len(lens), d))
            slots += " H0=h C0=c"
        outs = "Hidden Cell XX BatchedInput BatchedHidden BatchedCell ReorderedH0 ReorderedC0 CheckedCell"
        c = op("fusion_lstm_%d" % n, "fusion_lstm", feeds, slots, outs, dict(use_peepholes=peep, is_reverse=rev, use_seq=True, gate_activation="sigmoid", cell_activation=act, candidate_activation=act))
        c["code"] += "[:2]"
        yield c
        feeds = dict(x=(f(sum(lens), m), lens), u=f(m, 3 * d), w=f(d, 3 * d))
        slots = "X=x WeightX=u WeightH=w"
        if n % 2:
            feeds["b"], slots = f(1, 3 * d), slots + " Bias=b"
        if start:
            feeds["h"], slots = f(len(lens), d), slots + " H0=h"
        c = op("fusion_gru_%d" % n, "fusion_gru", feeds, slots, "ReorderedH0 XX BatchedInput BatchedOut Hidden", dict(is_reverse=rev, use_seq=True, activation=act, gate_activation="sigmoid", origin_mode=bool(n > 1)))
        c["code"] += "[4:]"
        yield c
        feeds = dict(i=(i(7, sum(lens), 1), lens), e=f(7, 4 * d), w=f(d, 4 * d), b=f(1, 7 * d if peep else 4 * d))
        slots = "Ids=i Embeddings=e WeightH=w Bias=b"
        if start:
            feeds.update(h=f(len(lens), d), c=f(len(lens), d))
            slots += " H0=h C0=c"
        c = op("fused_embedding_fc_lstm_%d" % n, "fused_embedding_fc_lstm", feeds, slots, "Hidden Cell XX BatchedInput BatchedHidden BatchedCell ReorderedH0 ReorderedC0", dict(use_peepholes=peep, is_reverse=rev, use_seq=True, gate_activation="sigmoid", cell_activation=act, candidate_activation=act))
        c["code"] += "[:2]"
        yield c
    code = O + "outs = O('fusion_repeated_fc_relu', {'X': [x], 'W': [u, v, w], 'Bias': [a, b, c]}, ['ReluOut', 'Out'], {}, {'ReluOut': 2})"
    yield case("repeated_fc", code, dict(x=f(3, 4), u=f(4, 5), v=f(5, 3), w=f(3, 2), a=f(5), b=f(3), c=f(2)))
    for n, (start, length) in enumerate([(-1, 3), (0, 2), (-2, 3)]):
        c = op("seqconv_%d" % n, "fusion_seqconv_eltadd_relu", dict(x=(f(7, 3), [3, 4]), w=f(3 * length, 4), b=f(1, 4)), "X=x Filter=w Bias=b", "Out ColMat", dict(contextStart=start, contextLength=length, contextStride=1))
        c["code"] += "[:1]"
        yield c
    for n, act in enumerate(["identity", "relu", "tanh", "sigmoid"]):
        code = O + "outs = O('fusion_seqexpand_concat_fc', {'X': [x, y, z], 'FCWeight': [w], 'FCBias': [b]}, ['Out', 'FCOut'], {'fc_activation': %r})[:1]" % act
        yield case("seqexpand_%d" % n, code, dict(x=(f(5, 3), [2, 3]), y=(f(2, 2), [1, 1]), z=(f(2, 4), [1, 1]), w=f(9, 4), b=f(1, 4)))
    for n, kind in enumerate(["SUM", "AVERAGE", "SQRT"]):
        code = O + "outs = O('fusion_seqpool_concat', {'X': [x, y]}, ['Out'], {'pooltype': %r, 'axis': 1})" % kind
        yield case("seqpool_%d" % n, code, dict(x=(f(5, 3), [2, 3]), y=(f(4, 3), [1, 3])))
        code = O + "outs = O('fusion_seqpool_cvm_concat', {'X': [x, y], 'CVM': [c]}, ['Out'], {'pooltype': %r, 'axis': 1, 'use_cvm': True})" % kind
        yield case("seqpool_cvm_%d" % n, code, dict(x=(f(5, 4, low=0), [2, 3]), y=(f(4, 4, low=0), [1, 3]), c=f(2, 2)))
    for n in range(2):
        c = op("mat_sub_%d" % n, "fusion_squared_mat_sub", dict(x=f(3, 4), y=f(4, 2)), "X=x Y=y", "SquaredX SquaredY SquaredXY Out", dict(scalar=[0.5, 2.0][n]))
        yield c
    for n, (functors, axis, ys) in enumerate([("elementwise_add,relu", -1, (3, 4)), ("relu,elementwise_add", -1, (3, 4)), ("elementwise_mul,scale", -1, (3, 4)), ("scale,elementwise_add", 0, (3,)), ("tanh,elementwise_add", -1, (4,)), ("elementwise_add,sigmoid", -1, (3, 4)), ("sigmoid,elementwise_add", -1, (3, 4)), ("elementwise_mul,tanh", -1, (3, 4)), ("elementwise_mul,sigmoid", -1, (4,))]):
        code = "outs = fluid.contrib.layers.fused_elemwise_activation(x, y, %r, axis=%d, scale=0.7, save_intermediate_out=%r)" % (functors.split(","), axis, n % 2 == 0)
        yield case("fused_act_%d" % n, code, dict(x=f(3, 4), y=f(*ys)), "x y")
