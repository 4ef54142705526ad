"""Small layers on tensors: products, picks, triangles, fills, draws."""
import numpy as np
from caselib import case

R = np.random.RandomState(16)


def f(*shape, **k):
    return R.uniform(k.get("low", -2), k.get("high", 2), shape).astype(k.get("dtype", "float32"))


def i(high, *shape, **k):
    return R.randint(k.get("low", 0), high, shape).astype(k.get("dtype", "int64"))


# The layer of 1.8.5 refuses every hash_size: its own check is broken. The op works.
HASH = """
def H(x, **attrs):
    out = main.global_block().create_var(name="hashed", dtype="int64", stop_gradient=True)
    main.global_block().append_op(type="hash", inputs={"X": x}, outputs={"Out": out}, attrs=attrs)
    return out
"""


def cases():
    yield case("addmm", "outs = L.addmm(a, x, y)", dict(a=f(3, 5), x=f(3, 4), y=f(4, 5)), "a x y")
    yield case("addmm_scaled", "outs = L.addmm(a, x, y, alpha=-2.5, beta=0.3)", dict(a=f(3, 5), x=f(3, 4), y=f(4, 5)), "a x y")
    yield case("addmm_row", "outs = L.addmm(a, x, y, alpha=2., beta=3.)", dict(a=f(1, 5), x=f(3, 4), y=f(4, 5)), "a x y")
    yield case("addmm_column", "outs = L.addmm(a, x, y, alpha=2., beta=3., name='mm')", dict(a=f(3, 1), x=f(3, 4), y=f(4, 5)), "a x y")
    yield case("addmm_one", "outs = L.addmm(a, x, y, alpha=0.)", dict(a=f(1, 1, dtype="float64"), x=f(3, 4, dtype="float64"), y=f(4, 5, dtype="float64")), "a x y")
    yield case("addcmul", "outs = L.addcmul(a, x, y, value=0.4)", dict(a=f(3, 5), x=f(3, 5), y=f(3, 5)), "a x y")
    yield case("addcmul_default", "outs = L.addcmul(a, x, y)", dict(a=f(3, 2, 2), x=f(3, 2, 2), y=f(3, 2, 2)), "a x y")
    for n, other in (("same", 0.0), ("near", 1e-7), ("far", 1e-3)):
        x = f(3, 4)
        yield case("allclose_" + n, "outs = L.allclose(x, y)", dict(x=x, y=x + np.float32(other)))
    x = f(3, 4); x[0, 0] = np.nan
    yield case("allclose_nan", "outs = L.allclose(x, y)", dict(x=x, y=x))
    yield case("allclose_nan_equal", "outs = L.allclose(x, y, equal_nan=True, name='same')", dict(x=x, y=x))
    yield case("allclose_loose", "outs = L.allclose(x, y, rtol=0.1, atol=0.2)", dict(x=f(3, dtype="float64"), y=f(3, dtype="float64")))
    yield case("clamp", "outs = L.clamp(x, min=-0.5, max=1.0)", dict(x=f(3, 4)), "x")
    yield case("clamp_low", "outs = L.clamp(x, min=-0.5, name='cl')", dict(x=f(3, 4)), "x")
    yield case("clamp_high", "outs = L.clamp(x, max=0.25)", dict(x=f(3, 4, dtype="float64")), "x")
    yield case("cross", "outs = L.cross(x, y)", dict(x=f(4, 3), y=f(4, 3)), "x y")
    yield case("cross_first", "outs = L.cross(x, y)", dict(x=f(3, 3, 2), y=f(3, 3, 2)), "x y")
    yield case("cross_dim", "outs = L.cross(x, y, dim=1)", dict(x=f(2, 3, 3), y=f(2, 3, 3)), "x y")
    yield case("cross_negative", "outs = L.cross(x, y, dim=-1)", dict(x=f(3, 4, 3, dtype="float64"), y=f(3, 4, 3, dtype="float64")), "x y")
    for o in (0, 1, -2):
        yield case("diag_embed_%d" % o, "outs = L.diag_embed(x, offset=%d)" % o, dict(x=f(2, 3)), "x")
    yield case("diag_embed_dims", "outs = L.diag_embed(x, offset=1, dim1=0, dim2=2)", dict(x=f(2, 3)), "x")
    yield case("diag_embed_dims2", "outs = L.diag_embed(x, offset=-1, dim1=0, dim2=2)", dict(x=f(2, 3, 2)), "x")
    yield case("diag_embed_vector", "outs = L.diag_embed(x)", dict(x=f(4, dtype="float64")), "x")
    yield case("diag_embed_numpy", "outs = L.diag_embed(np.array([[1., 2.], [3., 4.]], 'float32'))", {})
    yield case("diag_embed_swapped", "outs = L.diag_embed(x, offset=1, dim1=2, dim2=0)", dict(x=f(2, 3)), "x")
    yield case("dot", "outs = L.dot(x, y)", dict(x=f(5), y=f(5)), "x y")
    yield case("dot_rows", "outs = L.dot(x, y, name='d')", dict(x=f(3, 5, dtype="float64"), y=f(3, 5, dtype="float64")), "x y")
    yield case("dot_int", "outs = L.dot(x, y)", dict(x=i(9, 3, 5), y=i(9, 3, 5)))
    for p in (0, 1, 2, 3, 0.5, "float('inf')", "float('-inf')"):
        yield case("dist_%s" % str(p).strip("float()'"), "outs = L.dist(x, y, p=%s)" % p, dict(x=f(3, 4), y=f(3, 4)), "x y" if p not in (0,) else "")
    yield case("dist_broadcast", "outs = L.dist(x, y, p=2)", dict(x=f(3, 1, 4), y=f(2, 4)), "x y")
    yield case("elementwise_equal", "outs = L.elementwise_equal(x, y)", dict(x=i(3, 4, 5), y=i(3, 4, 5)))
    yield case("elementwise_equal_float", "outs = L.elementwise_equal(x, x)", dict(x=f(4, 5)))
    yield case("flip", "outs = L.flip(x, dims=[0, 2])", dict(x=f(2, 3, 4)), "x")
    yield case("flip_last", "outs = L.flip(x, dims=[-1])", dict(x=f(2, 3, dtype="float64")), "x")
    yield case("flip_int", "outs = L.flip(x, dims=[1, -2], name='fl')", dict(x=i(9, 2, 3)))
    yield case("full", "outs = L.full([2, 3], 1.5)", {})
    yield case("full_int", "outs = L.full([2], 7, dtype='int64', stop_gradient=False, name='fu')", {})
    yield case("full_device", "outs = L.full([2, 1], True, dtype='bool', device='cpu')", {})
    yield case("full_like", "outs = L.full_like(x, 2.5)", dict(x=f(2, 3)))
    yield case("full_like_dtype", "outs = L.full_like(x, 3, dtype='int32', name='fl')", dict(x=f(2, 3)), batch=["x"])
    yield case("hash", HASH + "outs = H(x, mod_by=1000)", dict(x=(i(90, 5, 1), [2, 3])))
    yield case("hash_many", HASH + "outs = H(x, mod_by=10000, num_hash=4)", dict(x=(i(90, 5, 2), [2, 3])))
    yield case("hash_int32", HASH + "outs = H(x, mod_by=77, num_hash=2)", dict(x=(i(90, 5, 3, dtype="int32"), [2, 3])))
    yield case("hash_long", HASH + "outs = H(x, mod_by=100000, num_hash=3)", dict(x=(i(1 << 40, 4, 9), [4])))
    for w in (2, 4, 5, 8, 33):
        yield case("hash_w%d" % w, HASH + "outs = H(x, mod_by=1000003, num_hash=2)", dict(x=(i(1 << 40, 2, w), [2])))
    yield case("index_sample", "outs = L.index_sample(x, k)", dict(x=f(3, 5), k=i(5, 3, 4)), "x")
    yield case("index_sample_int32", "outs = L.index_sample(x, k)", dict(x=f(3, 5, dtype="float64"), k=i(5, 3, 2, dtype="int32")), "x")
    yield case("index_select", "outs = L.index_select(x, k)", dict(x=f(4, 5), k=i(4, 6)), "x")
    yield case("index_select_dim", "outs = L.index_select(x, k, dim=1)", dict(x=f(2, 5, 3), k=i(5, 3, dtype="int32")), "x")
    yield case("index_select_last", "outs = L.index_select(x, k, dim=-1)", dict(x=f(2, 5, 3, dtype="float64"), k=i(3, 7)), "x")
    yield case("kron", "outs = L.kron(x, y)", dict(x=f(2, 3), y=f(3, 2)), "x y")
    yield case("kron_ranks", "outs = L.kron(x, y, name='kr')", dict(x=f(2, 3), y=f(2, 1, 3)), "x y")
    yield case("kron_vectors", "outs = L.kron(x, y)", dict(x=f(4, dtype="float64"), y=f(3, dtype="float64")), "x y")
    yield case("kron_int", "outs = L.kron(x, y)", dict(x=i(9, 2, 2), y=i(9, 3)))
    yield case("meshgrid", "outs = L.meshgrid([x, y])", dict(x=f(3), y=f(2)), "x y")
    yield case("meshgrid_three", "outs = L.meshgrid([x, y, z], name='m')", dict(x=f(3, dtype="float64"), y=f(2, dtype="float64"), z=f(4, dtype="float64")), "x y z")
    yield case("meshgrid_int", "outs = L.meshgrid([x, y])", dict(x=i(9, 3), y=i(9, 1)))
    yield case("nonzero", "outs = L.nonzero(x)", dict(x=i(2, 3, 4)))
    yield case("nonzero_tuple", "outs = list(L.nonzero(x, as_tuple=True))", dict(x=f(3, 4) * (i(2, 3, 4)).astype("float32")))
    yield case("nonzero_vector", "outs = list(L.nonzero(x, as_tuple=True))", dict(x=i(2, 6).astype("bool")))
    yield case("roll", "outs = L.roll(x, shifts=2)", dict(x=f(3, 4)))
    yield case("roll_dims", "outs = L.roll(x, shifts=[1, -2], dims=[0, 2])", dict(x=f(2, 3, 4)), "x")
    yield case("roll_negative", "outs = L.roll(x, shifts=[-5], dims=[-1])", dict(x=f(2, 4, dtype="float64")), "x")
    yield case("roll_int", "outs = L.roll(x, shifts=3, dims=1)", dict(x=i(9, 2, 4)))
    for n, (s, d) in enumerate([(1, 0), (-1, 0), (3, 1), (-7, 1), (5, None), (-3, None), ([2, 1], [1, 0])]):
        yield case("roll_drawn%d" % n, "outs = L.roll(x, shifts=%s, dims=%s)" % (s, d), dict(x=f(4, 5)), "x" if d is not None else "")
    yield case("trace_swapped", "outs = L.trace(x, offset=1, dim1=2, dim2=1)", dict(x=f(2, 3, 4)), "x")
    yield case("t", "outs = L.t(x)", dict(x=f(3, 4)), "x")
    yield case("t_vector", "outs = L.t(x, name='tt')", dict(x=f(3)))
    yield case("trace", "outs = L.trace(x)", dict(x=f(3, 4)), "x")
    yield case("trace_offset", "outs = L.trace(x, offset=1, dim1=1, dim2=2, name='tr')", dict(x=f(2, 3, 4)), "x")
    yield case("trace_back", "outs = L.trace(x, offset=-1, dim1=-1, dim2=0)", dict(x=f(3, 2, 4, dtype="float64")), "x")
    yield case("trace_int", "outs = L.trace(x)", dict(x=i(9, 3, 3, 2)))
    for k in ("tril", "triu"):
        for d in (0, 1, -2, 9):
            yield case("%s_%d" % (k, d), "outs = L.%s(x, diagonal=%d)" % (k, d), dict(x=f(3, 4)), "x")
        yield case(k + "_batch", "outs = L.%s(x, diagonal=-1, name='tri')" % k, dict(x=f(2, 2, 4, 3, dtype="float64")), "x")
        yield case(k + "_int", "outs = L.%s(x)" % k, dict(x=i(9, 4, 3)))
    yield case("similarity_focus", "outs = L.similarity_focus(x, axis=1, indexes=[0])", dict(x=f(2, 3, 2, 2)))
    yield case("similarity_focus_two", "outs = L.similarity_focus(x, axis=2, indexes=[0, 2], name='sf')", dict(x=f(2, 3, 4, 5)))
    yield case("similarity_focus_last", "outs = L.similarity_focus(x, axis=3, indexes=[1])", dict(x=f(2, 4, 3, 2, dtype="float64")))
    ins, tags = f(4, 3), i(3, 6)
    yield case("filter_by_instag", "outs = list(L.filter_by_instag(x, t, w, True))", dict(x=(ins, [1, 1, 1, 1]), t=(tags, [1, 2, 1, 2]), w=i(3, 1)), "x")
    yield case("filter_by_instag_rows", "outs = list(L.filter_by_instag(x, t, w, True))", dict(x=(f(6, 2), [1, 3, 2]), t=(np.array([1, 2, 3, 2], "int64"), [1, 2, 1]), w=np.array([2, 7], "int64")), "x")
    yield case("filter_by_instag_plain", "outs = list(L.filter_by_instag(x, t, w, False))", dict(x=f(4, 3), t=(tags, [1, 2, 1, 2]), w=i(3, 1)), "x")
    yield case("filter_by_instag_none", "outs = list(L.filter_by_instag(x, t, w, True, out_val_if_empty=5))", dict(x=(ins, [1, 1, 2]), t=(tags, [1, 2, 3]), w=np.array([9], "int64")), "x")
    yield case("randint", "outs = L.randint(low=-5, high=5, shape=[3, 4], seed=10)", {})
    yield case("randint_low", "outs = L.randint(9, shape=[5], dtype='int32', seed=3, name='ri')", {})
    yield case("randint_wide", "outs = L.randint(0, 2000000000, shape=[6], seed=12, stop_gradient=True)", {})
    yield case("randint_unseeded", "outs = L.randint(0, 1, shape=[2, 2])", {})
    yield case("randint_tensor", "s = L.fill_constant([2], 'int64', 3)\nouts = L.randint(0, 50, shape=s, seed=4)", {})
    yield case("randint_list", "s = L.fill_constant([1], 'int64', 3)\nouts = L.randint(0, 50, shape=[2, s], seed=4)", {})
    yield case("randn", "outs = L.randn([2, 3])", {}, values=False, free=['seed'])
    yield case("randn_double", "outs = L.randn([2, 3], dtype='float64', name='rn', stop_gradient=False)", {}, values=False, free=['seed'])
    for n in (1, 2, 5, 10, 33):
        yield case("randperm_%d" % n, "outs = L.randperm(%d, seed=%d)" % (n, 100 + n), {})
    yield case("randperm_int32", "outs = L.randperm(6, dtype='int32', seed=5, device='cpu')", {})
    yield case("randperm_float", "outs = L.randperm(7, dtype='float32', seed=6, stop_gradient=False)", {})
    for u in (True, False):
        yield case("cvm_%s" % u, "outs = L.continuous_value_model(x, c, use_cvm=%s)" % u, dict(x=np.abs(f(3, 6)), c=f(3, 2, low=1, high=3)), "x")
    yield case("cvm_lod", "outs = L.continuous_value_model(x, c)", dict(x=(np.abs(f(5, 4)), [2, 3]), c=f(2, 2, low=0, high=3)), "x")
    yield case("interpolate", "outs = L.interpolate(x, out_shape=[4, 6])", dict(x=f(1, 2, 3, 3)), "x")
    yield case("interpolate_nearest", "outs = L.interpolate(x, scale=2, resample='NEAREST', align_corners=False)", dict(x=f(1, 2, 3, 3)), "x")
    yield case("unbind", "outs = [main.global_block().create_var(name='o%d' % n, dtype='float32') for n in range(3)]\nmain.global_block().append_op(type='unbind', inputs={'X': x}, outputs={'Out': outs}, attrs={'axis': 1})", dict(x=f(2, 3, 4)), "x")
