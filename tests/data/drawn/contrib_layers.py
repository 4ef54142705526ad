"""Layers of fluid.contrib, and the last ones of fluid.layers."""
import numpy as np
from caselib import case

R = np.random.RandomState(19)
C = "C = fluid.contrib.layers\n"


def f(*shape, **k):
    return R.uniform(k.get("low", -1), k.get("high", 1), shape).astype(k.get("dtype", "float32"))


def i(high, *shape, **k):
    return R.randint(k.get("low", 0), high, shape).astype(k.get("dtype", "int64"))


def cases():
    for n, (x, y, c, act) in enumerate([([2, 3], [3, 1], 2, None), ([1], [4], 1, None), ([2, 1, 3], [2, 2, 1], 3, "relu"), ([4, 2], [1, 5], 2, "tanh")]):
        code = C + "outs = list(C.match_matrix_tensor(x, y, %d, act=%r%s))" % (c, act, ", name='mm'" if n == 1 else "")
        yield case("match_matrix_%d" % n, code, dict(x=(f(sum(x), 4), x), y=(f(sum(y), 4), y)), "x y params", through=[0])
    for n, (rows, cols, cin, cout, k, s, act) in enumerate([([3, 2], [4, 5], 2, 3, 3, 1, None), ([2], [3], 1, 1, [2, 3], 1, None), ([4, 3, 2], [3, 6, 2], 2, 2, [3, 2], [2, 1], "relu"), ([5, 4], [5, 3], 1, 4, 5, 2, None)]):
        lens = [r * c * cin for r, c in zip(rows, cols)]
        code = C + "outs = C.var_conv_2d(x, r, c, %d, %d, %r, %r, act=%r)" % (cin, cout, k, s, act)
        yield case("var_conv_%d" % n, code, dict(x=(f(sum(lens), 1), lens), r=(f(sum(rows), 2), rows), c=(f(sum(cols), 2), cols)), "x params")
    for n, (rows, cols, ch, topks) in enumerate([([3, 2], [4, 5], 2, [1, 3]), ([1], [2], 1, [1, 2, 5]), ([2, 3, 1], [3, 1, 4], 3, [2]), ([2, 2], [6, 7], 2, [1, 3, 5])]):
        lens = [r * c * ch for r, c in zip(rows, cols)]
        code = C + "outs = C.sequence_topk_avg_pooling(x, r, c, %r, %d)" % (topks, ch)
        yield case("topk_avg_%d" % n, code, dict(x=(f(sum(lens), 1), lens), r=(f(sum(rows), 2), rows), c=(f(sum(cols), 2), cols)), "x")
    edges = np.array([[[1, 2], [1, 3], [2, 4], [2, 5], [3, 6], [0, 0]], [[1, 2], [2, 3], [3, 4], [3, 5], [1, 6], [0, 0]]], "int32")
    for n, (size, filters, depth, act, bias) in enumerate([(3, 1, 2, "tanh", None), (2, 3, 3, None, None), (4, 2, 2, "relu", False), (1, 1, 4, "tanh", None)]):
        code = C + "outs = C.tree_conv(x, e, %d, %d, %d, act=%r, bias_attr=%r%s)" % (size, filters, depth, act, bias, ", name='tc'" if n == 1 else "")
        yield case("tree_conv_%d" % n, code, dict(x=f(2, 6, 5), e=edges), "x params")
    for n, (start, length) in enumerate([(0, -1), (1, 2), (-2, 1), (2, -1), (0, 3)]):
        for kind in ("concat", "sum"):
            if kind == "sum" and start < 0:
                continue  # 1.8.5 reads in front of the memory
            code = C + "outs = C.partial_%s([x, y, z], start_index=%d, length=%d)" % (kind, start, length)
            yield case("partial_%s_%d" % (kind, n), code, dict(x=f(3, 4), y=f(3, 4), z=f(3, 4)), "x y z")
    tree = np.array([[0, 0, 0, 1, 2], [0, 1, 0, 3, 4], [0, 1, 0, 5, 6], [10, 2, 1, 0, 0], [11, 2, 1, 0, 0], [12, 2, 2, 0, 0], [0, 2, 2, 7, 8], [13, 3, 6, 0, 0], [14, 3, 6, 0, 0]], "int32")
    for n, (shape, kind) in enumerate([((4, 1), "int32"), ((2, 3), "int64"), ((6, 1), "int32")]):
        code = C + "outs = list(C.tdm_child(x, %d, 2, param_attr=fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(np.array(%r, 'int32')))))" % (len(tree), tree.tolist())
        yield case("tdm_child_%d" % n, code, dict(x=i(len(tree), *shape, dtype=kind)))
    travel = [[1, 3], [1, 4], [2, 5], [2, 6]]
    layer = [[1], [2], [3], [4], [5], [6]]
    for n, (neg, pos, aslist, seed) in enumerate([([0, 0], True, True, 3), ([1, 1], True, True, 5), ([1, 2], True, True, 7), ([1, 3], False, True, 9), ([1, 2], True, False, 11), ([1, 3], True, True, 13)]):
        code = C + ("outs = C.tdm_sampler(x, %r, [2, 4], 4, tree_travel_attr=fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(np.array(%r, 'int32'))), "
                    "tree_layer_attr=fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(np.array(%r, 'int32'))), output_positive=%r, output_list=%r, seed=%d)\n" % (neg, travel, layer, pos, aslist, seed)
                    + ("outs = [o for group in outs for o in group]" if aslist else "outs = list(outs)"))
        yield case("tdm_sampler_%d" % n, code, dict(x=i(4, 5, 1, dtype="int32")))
    for n, seed in enumerate([1, 7, 100]):
        yield case("shuffle_batch_%d" % n, C + "outs = C.shuffle_batch(x, seed=%d)" % seed, dict(x=f([4, 9, 2][n], 3)), "x")
    for n, (pad, comb) in enumerate([(None, "sum"), (2, "sum"), (-1, "sum")]):
        code = C + "outs = C.fused_embedding_seq_pool(x, [6, 4], padding_idx=%r, combiner=%r)" % (pad, comb)
        yield case("fused_embedding_%d" % n, code, dict(x=(i(6, 5, 1), [2, 3])), "params")
    yield case("fused_embedding_sparse", C + "outs = C.fused_embedding_seq_pool(x, [6, 3], is_sparse=True, param_attr='emb')", dict(x=(i(6, 6, 1), [1, 3, 2])))
    for n, code in enumerate(["return_index=True", "return_index=False, nms_threshold=0.6, background_label=-1", "normalized=False, nms_eta=0.9, nms_threshold=0.7"]):
        a = R.uniform(0, 1, (2, 8, 2))
        boxes = np.concatenate([a, a + R.uniform(0.1, 1, (2, 8, 2))], 2).astype("float32")
        tail = "outs = list(outs)" if n == 0 else ""
        yield case("nms2_%d" % n, C + "outs = C.multiclass_nms2(b, s, 0.1, 6, 5, %s)\n%s" % (code, tail), dict(b=boxes, s=f(2, 3, 8, low=0)))
    for n, shape in enumerate([(4, 1), (7, 1)]):
        yield case("ctr_metric_%d" % n, C + "outs = list(C.ctr_metric_bundle(x, y))", dict(x=f(*shape, low=0), y=i(2, *shape, dtype="float32")))
    for n, extra in enumerate(["", ", forget_bias=0.3, gate_activation=L.tanh, activation=L.relu", ", param_attr='w', bias_attr='b'"]):
        code = C + "unit = C.BasicLSTMUnit('basic', 4%s)\nouts = list(unit(x, h, c))" % extra
        yield case("lstm_unit_%d" % n, code, dict(x=f(3, 5), h=f(3, 4), c=f(3, 4)), "x h c params", through=[0])
        code = C + "unit = C.BasicGRUUnit('basic', 4%s)\nouts = unit(x, h)" % extra.replace("forget_bias=0.3, ", "").replace("'w'", "fluid.ParamAttr(name='w')").replace("'b'", "fluid.ParamAttr(name='b')")
        yield case("gru_unit_%d" % n, code, dict(x=f(3, 5), h=f(3, 4)), "x h params")
    for n, extra in enumerate(["", ", act='leaky_relu', act_alpha=0.1", ", act='elu', momentum=0.7", ", is_test=True", ", act='identity', data_layout='NHWC', epsilon=1e-3", ", use_global_stats=True, act='elu', act_alpha=0.5"]):
        yield case("inplace_abn_%d" % n, "outs = L.inplace_abn(x%s%s)" % (extra, ", name='abn', moving_mean_name='mm'" if n == 1 else ""), dict(x=f(2, 3, 4, 3)))  # its gradient needs memory that the plain Executor of 1.8.5 does not share
    for n, (t, k, hits) in enumerate([(1, 5, True), (1, 3, False), (1, 12, True), (1, 9, False)]):
        code = "outs = L.sampled_softmax_with_cross_entropy(x, y, %d, num_true=%d, remove_accidental_hits=%r, seed=%d)" % (k, t, hits, 5 + n)
        yield case("sampled_softmax_%d" % n, code, dict(x=f(4, 30), y=i(30, 4, t)), "x")
    code = "outs = L.sampled_softmax_with_cross_entropy(x, y, 4, remove_accidental_hits=%r, use_customized_samples=True, customized_samples=s, customized_probabilities=p)"
    y = i(20, 3, 1)
    for hits in (True, False):
        yield case("sampled_softmax_own_%s" % hits, code % hits, dict(x=f(3, 20), y=y, s=np.concatenate([y, np.tile(i(20, 1, 4), (3, 1))], 1), p=f(3, 5, low=0.05, high=0.4)), "x")
    for n, (sampler, dist) in enumerate([("uniform", None), ("log_uniform", None), ("custom_dist", [0.05, 0.2, 0.1, 0.05, 0.3, 0.1, 0.1, 0.1]), ("custom_dist", [0.3, 0.05, 0.05, 0.3, 0.05, 0.05, 0.05, 0.15]), ("uniform", None)]):
        code = "outs = L.nce(x, y, 8, num_neg_samples=%d, sampler=%r, seed=%d, custom_dist=%r)" % (3 + n, sampler, 3 + 7 * n, dist)
        yield case("nce_%d" % n, code, dict(x=f(4, 5), y=i(8, 4, 1)), "x params")
