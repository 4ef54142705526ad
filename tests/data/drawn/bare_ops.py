"""Ops without a layer that programs and saved models hold."""
import numpy as np
from caselib import case

R = np.random.RandomState(20)
O = '''
def O(kind, ins, outs, attrs={}, many={}, dtypes={}):
    block = main.global_block()
    made = {s: [block.create_var(name="%s_%d" % (s, n), dtype=dtypes.get(s, "float32")) for n in range(many.get(s, 1))] for s in outs}
    block.append_op(type=kind, inputs=ins, outputs=made, attrs=attrs)
    return [v for s in outs for v in made[s]]
'''


def f(*shape, **k):
    return R.uniform(k.get("low", -1), k.get("high", 1), shape).astype(k.get("dtype", "float32"))


def i(high, *shape, **k):
    return R.randint(k.get("low", 0), high, shape).astype(k.get("dtype", "int64"))


def op(name, kind, feeds, slots, outs="Out", attrs=None, wrt="", through=None, dtypes=None, many=None, **more):
    ins = "{%s}" % ", ".join("%r: [%s]" % (s, n) for s, n in (w.split("=") for w in slots.split()))
    code = O + "outs = O(%r, %s, %r, %r, %r, %r)" % (kind, ins, outs.split(), attrs or {}, many or {}, dtypes or {})
    if (attrs or {}).get("is_test"):
        code += "[:1]"  # a scale that is only read is not written
    if through is not None:
        more["through"] = through
    return case(name, code, feeds, wrt, **more)


def cases():
    x = f(3, 4, low=0.02, high=0.98); x[0, 0] = 0; x[1, 1] = 1
    yield op("bce", "bce_loss", dict(x=f(3, 4, low=0.02, high=0.98), l=f(3, 4, low=0)), "X=x Label=l", wrt="x")
    yield op("bce_edges", "bce_loss", dict(x=x, l=i(2, 3, 4, dtype="float32")), "X=x Label=l", wrt="x")
    for n, (m, w) in enumerate([(7, 3), (5, 5), (4, 1), (9, 7)]):
        yield op("conv_shift_%d" % n, "conv_shift", dict(x=f(2, m), y=f(2, w)), "X=x Y=y", wrt="x y")
    yield op("fill", "fill", {}, "", attrs=dict(value=[1., 2.5, 3., 4.], shape=[2, 2], dtype=5, force_cpu=False)) if 0 else case(
        "fill", O + "outs = O('fill', {}, ['Out'], dict(value=[1., 2.5, 3., 4.], shape=[2, 2], dtype=5))", {})
    yield case("fill_int", O + "outs = O('fill', {}, ['Out'], dict(value=[1., 2., 7.], shape=[3], dtype=3), {}, {'Out': 'int64'})", {})
    yield op("zeros_like2", "fill_zeros_like2", dict(x=f(2, 3)), "X=x", attrs=dict(dtype=5))
    for n, a in enumerate([dict(dim=[1]), dict(dim=[0, 2], keep_dim=True), dict(dim=[-1]), dict(reduce_all=True)]):
        yield op("frobenius_%d" % n, "frobenius_norm", dict(x=f(2, 3, 4)), "X=x", attrs=a, wrt="x")
    for n, a in enumerate([dict(porder=2.0, axis=1), dict(porder=3.0, axis=-1, keepdim=True), dict(porder=1.0, axis=0), dict(porder=0.5, axis=1), dict(porder=4.0, axis=2, keepdim=True)]):
        yield op("p_norm_%d" % n, "p_norm", dict(x=f(2, 5, 3)), "X=x", attrs=a, wrt="x")
    yield op("minus", "minus", dict(x=f(3, 4), y=f(3, 4)), "X=x Y=y", wrt="x y")
    yield op("l1", "l1_norm", dict(x=f(3, 4)), "X=x", wrt="x")
    yield op("huber", "modified_huber_loss", dict(x=f(9, 1, low=-3, high=3), y=i(2, 9, 1, dtype="float32")), "X=x Y=y", "IntermediateVal Out", wrt="x", through=[1])
    for n, (shape, red, ign, wt) in enumerate([((5, 4), "mean", -100, False), ((5, 4), "sum", 2, True), ((5, 4), "none", 1, True), ((2, 3, 2, 4), "mean", -100, True), ((2, 3, 2, 4), "none", 0, False), ((2, 3, 2, 4), "sum", 1, True)]):
        feeds = dict(x=f(*shape), l=i(shape[1], shape[0], *shape[2:]))
        if wt:
            feeds["w"] = f(shape[1], low=0.1)
        yield op("nll_%d" % n, "nll_loss", feeds, "X=x Label=l" + (" Weight=w" if wt else ""), "Out Total_weight", dict(reduction=red, ignore_index=ign), wrt="x", through=[0])
    for n, wt in enumerate([False, True]):
        feeds = dict(s=f(8, 1), l=i(3, 8, 1, dtype="float32"), q=i(3, 8, 1))
        if wt:
            feeds["w"] = f(8, 1, low=0)
        yield op("pairs_%d" % n, "positive_negative_pair", feeds, "Score=s Label=l QueryID=q" + (" Weight=w" if wt else ""), "PositivePair NegativePair NeutralPair", dict(column=-1))
    yield op("pairs_sums", "positive_negative_pair", dict(s=f(8, 2), l=i(3, 8, 1, dtype="float32"), q=i(3, 8, 1), a=f(1), b=f(1), c=f(1)),
             "Score=s Label=l QueryID=q AccumulatePositivePair=a AccumulateNegativePair=b AccumulateNeutralPair=c", "PositivePair NegativePair NeutralPair", dict(column=0))
    for n, (wt, st) in enumerate([(False, False), (True, False), (True, True)]):
        feeds, slots = dict(p=f(7, 1, low=0), k=i(4, 7, 1, dtype="int32"), l=i(4, 7, 1, dtype="int32")), "MaxProbs=p Indices=k Labels=l"
        if wt:
            feeds["w"], slots = f(7, 1, low=0), slots + " Weights=w"
        if st:
            feeds["t"], slots = f(4, 4, low=0, high=9), slots + " StatesInfo=t"
        yield op("precision_recall_%d" % n, "precision_recall", feeds, slots, "BatchMetrics AccumMetrics AccumStatesInfo", dict(class_number=4), dtypes=dict(BatchMetrics="float64", AccumMetrics="float64"))
    for n, (l1, l2) in enumerate([(0., 0.), (0.1, 0.2), (0.5, 0.), (0., 0.3)]):
        yield op("proximal_gd_%d" % n, "proximal_gd", dict(p=f(3, 4), g=f(3, 4), r=f(1, low=0.1)), "Param=p Grad=g LearningRate=r", "ParamOut", dict(l1=l1, l2=l2))
        yield op("proximal_adagrad_%d" % n, "proximal_adagrad", dict(p=f(3, 4), m=f(3, 4, low=0.1), g=f(3, 4), r=f(1, low=0.1)), "Param=p Moment=m Grad=g LearningRate=r", "ParamOut MomentOut", dict(l1=l1, l2=l2))
    yield op("split_byref", "split_byref", dict(x=f(6, 3)), "X=x", attrs=dict(sections=[1, 3, 2]), many=dict(Out=3))
    for n, (h, kind, size) in enumerate([(2, "max", (4, 4)), (3, "avg", (8, 8)), (2, "avg", (5, 7)), (1, "max", (3, 2)), (3, "max", (6, 9))]):
        yield op("spp_%d" % n, "spp", dict(x=f(2, 3, *size)), "X=x", attrs=dict(pyramid_height=h, pooling_type=kind), wrt="x")
    for n, (a, b) in enumerate([((3, 4), (3, 4)), ((3, 4), (1, 4)), ((4, 2, 3), (4, 2, 3)), ((5, 1), (1, 1))]):
        yield op("l2_distance_%d" % n, "squared_l2_distance", dict(x=f(*a), y=f(*b)), "X=x Y=y", "sub_result Out", wrt="x y", through=[1])
    for n, (k, s, p, size) in enumerate([([2, 2], [2, 2], [0, 0], 3), ([3, 3], [2, 2], [1, 1], 3), ([2, 2], [1, 1], [0, 0], 4)]):
        out = (size - 1) * s[0] - 2 * p[0] + k[0]
        place = np.stack([np.stack([R.permutation(out * out)[:size * size].reshape(size, size) for _ in range(2)]) for _ in range(2)]).astype("int32")
        yield op("unpool_%d" % n, "unpool", dict(x=f(2, 2, size, size), k=place), "X=x Indices=k", attrs=dict(unpooling_type="max", ksize=k, strides=s, paddings=p), wrt="x")
    yield case("seed", O + "outs = O('seed', {}, ['Out'], dict(seed=77), {}, {'Out': 'int32'})", {})
    for n, (size, a) in enumerate([((7, 5), dict(align_corners=False)), ((7, 5), dict(align_corners=True)), ((2, 9), dict(align_corners=False)), ((3, 2), dict(align_corners=True)), ((1, 1), dict(align_corners=False))]):
        yield op("bicubic_%d" % n, "bicubic_interp", dict(x=f(1, 2, 4, 3)), "X=x", attrs=dict(out_h=size[0], out_w=size[1], interp_method="bicubic", **a), wrt="x")
    yield op("bicubic_scale", "bicubic_interp", dict(x=f(2, 1, 5, 4)), "X=x", attrs=dict(scale=1.7, interp_method="bicubic", align_corners=False), wrt="x")
    yield op("bicubic_last", "bicubic_interp", dict(x=f(1, 4, 3, 2)), "X=x", attrs=dict(out_h=6, out_w=5, data_layout="NHWC", interp_method="bicubic"), wrt="x")
    # quantisation
    for n, bits in enumerate([8, 4, 16]):
        x = f(3, 4, low=-3, high=3)
        yield op("quant_abs_%d" % n, "fake_quantize_abs_max", dict(x=x), "X=x", "Out OutScale", dict(bit_length=bits))
        yield op("quant_channel_%d" % n, "fake_channel_wise_quantize_abs_max", dict(x=f(3, 2, 2, 2, low=-3)), "X=x", "Out OutScale", dict(bit_length=bits))
        yield op("dequant_abs_%d" % n, "fake_dequantize_max_abs", dict(x=i(127, 3, 4, low=-127, dtype="float32"), s=f(1, low=0.5)), "X=x Scale=s", attrs=dict(max_range=float(2 ** (bits - 1) - 1)))
        for t in (False, True):
            yield op("quant_range_%d_%s" % (n, t), "fake_quantize_range_abs_max", dict(x=x, s=f(1, low=0.5, high=4), i=np.array([n * 2], "int64")), "X=x InScale=s Iter=i", "Out OutScale" + ("" if t else " OutScales"), dict(bit_length=bits, is_test=t, window_size=5))
            yield op("quant_moving_%d_%s" % (n, t), "fake_quantize_moving_average_abs_max", dict(x=x, s=f(1, low=0.5, high=4), a=f(1, low=0.5, high=3), t=f(1, low=1, high=2)), "X=x InScale=s InAccum=a InState=t", "Out OutScale" + ("" if t else " OutState OutAccum"), dict(bit_length=bits, is_test=t, moving_rate=0.8))
            yield op("quant_dequant_moving_%d_%s" % (n, t), "fake_quantize_dequantize_moving_average_abs_max", dict(x=x, s=f(1, low=0.5, high=4), a=f(1, low=0.5, high=3), t=f(1, low=1, high=2)), "X=x InScale=s InAccum=a InState=t", "Out OutScale" + ("" if t else " OutState OutAccum"), dict(bit_length=bits, is_test=t, moving_rate=0.8))
    for n, t in enumerate([False, True]):
        yield op("moving_scale_%d" % n, "moving_average_abs_max_scale", dict(x=f(3, 4), a=f(1, low=0.5), t=f(1, low=1, high=2)), "X=x InAccum=a InState=t", "Out OutScale OutState OutAccum" if not t else "Out OutScale", dict(is_test=t, moving_rate=0.7))
    yield op("dequant_channel", "fake_channel_wise_dequantize_max_abs", dict(x=i(99, 3, 2, 2, low=-99, dtype="float32"), s=f(3, low=0.3)), "X=x Scales=s", attrs=dict(quant_bits=[8]))
    yield case("dequant_channel_two", O + "outs = O('fake_channel_wise_dequantize_max_abs', {'X': [x], 'Scales': [s, t]}, ['Out'], dict(quant_bits=[8, 6]))", dict(x=i(99, 2, 3, 4, low=-99, dtype="float32"), s=f(3, low=0.3), t=f(1, low=0.3)))
    yield op("dequantize_abs_max", "dequantize_abs_max", dict(x=i(100, 3, 4, low=-100, dtype="int8"), s=f(1, low=0.4)), "X=x Scale=s", attrs=dict(max_range=127.0))
    yield op("dequantize_log", "dequantize_log", dict(x=i(120, 3, 4, low=-120, dtype="int8"), d=f(128, low=0.1)), "X=x Dict=d")
