"""VQ-VAE with straight-through codes, plus a PixelCNN prior with masked convolutions; images of digits drawn by PIL-free code."""

import os, sys, math, argparse, itertools
import numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid import layers as L

K, D = 8, 6


def data(seed):
    r = np.random.RandomState(seed)
    while True:
        x = np.zeros((8, 1, 12, 12), "float32")
        for i in range(8):
            a, b, c = r.randint(0, 8, 3)
            x[i, 0, a : a + 4, b : b + 4] = 1
            x[i, 0, c] += 0.5
        yield (x + r.randn(8, 1, 12, 12) * 0.05).astype("float32")


def enc(x):
    h = L.conv2d(x, 8, 4, 2, 1, act="relu", name="e0")
    h = L.conv2d(h, 12, 3, 1, 1, act="elu", name="e1")
    return L.conv2d(h, D, 1, name="e2")


def dec(z):
    h = L.conv2d(z, 12, 3, 1, 1, act="softplus", name="d0")
    h = L.conv2d_transpose(h, 8, filter_size=4, stride=2, padding=1, act="relu", name="d1")
    return L.conv2d(h, 1, 3, 1, 1, name="d2")


def quantise(z):
    code = L.create_parameter(
        [K, D], "float32", name="codes", default_initializer=fluid.initializer.Uniform(-1.0 / K, 1.0 / K)
    )
    flat = L.reshape(L.transpose(z, [0, 2, 3, 1]), [-1, D])
    d = (
        L.reduce_sum(L.square(flat), 1, keep_dim=True)
        - 2 * L.matmul(flat, code, transpose_y=True)
        + L.reshape(L.reduce_sum(L.square(code), 1), [1, K])
    )
    idx = L.argmin(d, 1)
    q = L.gather(code, idx)
    stop = lambda v: (setattr(v, "stop_gradient", True), v)[1]
    fz, fq = L.assign(flat), L.assign(q)
    fz.stop_gradient = True
    fq.stop_gradient = True
    loss = L.reduce_mean(L.square(q - fz)) + 0.25 * L.reduce_mean(L.square(fq - flat))
    res = L.assign(q - flat)
    res.stop_gradient = True
    st = flat + res
    s = L.shape(z)
    st = L.transpose(L.reshape(st, [-1, 6, 6, D]), [0, 3, 1, 2])
    one = L.one_hot(L.reshape(idx, [-1, 1]), K)
    p = L.reduce_mean(one, 0)
    perp = L.exp(0 - L.reduce_sum(p * L.log(p + 1e-10)))
    return st, L.reshape(idx, [-1, 6, 6]), loss, perp


def masked(x, n, kind, name):
    w = L.create_parameter([n, x.shape[1], 3, 3], "float32", name=name)
    m = np.ones((n, x.shape[1], 3, 3), "float32")
    m[:, :, 1, 1 + (kind == "B") :] = 0
    m[:, :, 2:] = 0
    mask = L.assign(m)
    mask.stop_gradient = True
    wm = L.elementwise_mul(w, mask)
    h = fluid.layer_helper.LayerHelper("conv2d")
    o = h.create_variable_for_type_inference("float32")
    h.append_op(
        type="conv2d",
        inputs={"Input": [x], "Filter": [wm]},
        outputs={"Output": [o]},
        attrs={
            "strides": [1, 1],
            "paddings": [1, 1],
            "dilations": [1, 1],
            "groups": 1,
            "use_cudnn": False,
            "use_mkldnn": False,
        },
    )
    return o


def main():
    a, s1 = fluid.Program(), fluid.Program()
    a.random_seed = s1.random_seed = 31
    with fluid.program_guard(a, s1), fluid.unique_name.guard():
        x = fluid.data("x", [None, 1, 12, 12])
        z = enc(x)
        q, idx, vq, perp = quantise(z)
        y = dec(q)
        rec = L.reduce_mean(L.square_error_cost(y, x))
        loss = rec + vq
        inf = a.clone(for_test=True)
        fluid.optimizer.Adam(L.cosine_decay(0.01, 10, 6)).minimize(loss)
    b, s2 = fluid.Program(), fluid.Program()
    b.random_seed = s2.random_seed = 32
    with fluid.program_guard(b, s2), fluid.unique_name.guard("prior_"):
        c = fluid.data("c", [None, 6, 6], "int64")
        oh = L.transpose(L.one_hot(L.unsqueeze(c, [3]), K), [0, 3, 1, 2])
        h = L.relu(masked(oh, 12, "A", "m0"))
        h = h + L.relu(L.group_norm(masked(h, 12, "B", "m1"), 3))
        lg = L.transpose(L.conv2d(h, K, 1), [0, 2, 3, 1])
        nll = L.reduce_mean(L.softmax_with_cross_entropy(lg, L.unsqueeze(c, [3])))
        samp = L.sampling_id(L.softmax(L.reshape(lg, [-1, K])), seed=4)
        fluid.optimizer.RMSProp(0.005, momentum=0.5).minimize(nll)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(s1)
    exe.run(s2)
    it = data(1)
    for i in range(55):
        v = next(it)
        l, r, g, p, k = exe.run(a, feed={"x": v}, fetch_list=[loss, rec, vq, perp, idx])
        print("ae %d %.6f rec %.6f vq %.6f perp %.5f" % (i, l, r, g, p))
        if i >= 35:
            (n,) = exe.run(b, feed={"c": k.astype("int64")}, fetch_list=[nll])
            print("prior %d %.6f" % (i, n))
    k, o = exe.run(inf, feed={"x": next(data(9))}, fetch_list=[idx.name, y.name])
    print(np.bincount(k.ravel(), minlength=K).tolist(), "%.6f" % o.mean())


main()
