"""Human pose (simple baselines), DB text detection, EAST losses, point clouds, super-resolution, video C3D: one step each of 2018-2020 vision repositories."""

import os, sys, functools, numpy as np, paddle.fluid as fluid, math
import paddle.fluid.layers as L
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid.initializer import MSRA, Xavier, Normal, Bilinear, Constant
from paddle.fluid.regularizer import L2Decay

rng = np.random.RandomState(5)
f32 = lambda *s: rng.rand(*s).astype('float32')


def conv_bn(x, c, k=3, s=1, act='relu', name=None, groups=1, dilation=1):
    y = L.conv2d(
        x,
        c,
        k,
        stride=s,
        padding=(k - 1) // 2 * dilation,
        dilation=dilation,
        groups=groups,
        act=None,
        param_attr=ParamAttr(name=name and name + "_weights", initializer=MSRA()),
        bias_attr=False,
        name=name,
    )
    bn = 'bn_' + name if name else None
    return L.batch_norm(
        y,
        act=act,
        param_attr=bn and ParamAttr(name=bn + '_scale', regularizer=L2Decay(0.0)),
        bias_attr=bn and ParamAttr(bn + '_offset'),
        moving_mean_name=bn and bn + '_mean',
        moving_variance_name=bn and bn + '_variance',
        momentum=0.9,
    )


def pose():
    img = fluid.layers.data('image', [3, 32, 32])
    tgt = L.data('target', [4, 16, 16])
    tw = L.data('target_weight', [4, 1])
    x = conv_bn(img, 8, 7, 2, name='c1')
    x = L.pool2d(x, 3, 'max', 2, 1)
    sc = conv_bn(x, 16, 1, 2, None, 'sc')
    y = conv_bn(conv_bn(x, 16, 3, 2, name='a'), 16, 3, 1, None, 'b')
    x = L.elementwise_add(sc, y, act='relu')
    for i in range(2):
        x = L.conv2d_transpose(
            x,
            8,
            filter_size=4,
            padding=1,
            stride=2,
            param_attr=ParamAttr(initializer=Normal(0.0, 0.001) if i else Xavier()),
            act=None,
            bias_attr=False,
            name='deconv%d' % i,
        )
        x = L.batch_norm(x, act='relu')
    out = L.conv2d(x, 4, 1, param_attr=ParamAttr(initializer=Normal(0.0, 0.01)))
    out = L.image_resize(out, out_shape=[16, 16], resample='BILINEAR') if out.shape[-1] != 16 else out
    bs = 4
    losses = []
    op = L.split(L.reshape(out, [-1, 4, 256]), 4, dim=1)
    tp = L.split(L.reshape(tgt, [-1, 4, 256]), num_or_sections=4, dim=1)
    for i in range(4):
        w = (
            L.expand_as(L.slice(tw, axes=[1], starts=[i], ends=[i + 1]), L.squeeze(op[i], [1]))
            if False
            else L.reshape(L.slice(tw, axes=[1], starts=[i], ends=[i + 1]), [-1, 1])
        )
        losses.append(
            L.reduce_mean(
                L.square_error_cost(
                    L.elementwise_mul(L.squeeze(op[i], [1]), w, axis=0),
                    L.elementwise_mul(L.squeeze(tp[i], [1]), w, axis=0),
                )
            )
            * 0.5
        )
    return (
        [L.sum(losses) / 4.0 if False else L.sums(losses) * 0.25, out],
        lambda: dict(
            image=f32(bs, 3, 32, 32),
            target=f32(bs, 4, 16, 16),
            target_weight=(rng.rand(bs, 4, 1) > 0.3).astype('float32'),
        ),
        fluid.optimizer.Adam(
            L.piecewise_decay([3, 6], [0.001, 0.0001, 0.00001]), regularization=L2Decay(1e-4)
        ),
    )


def db():
    img = fluid.data('image', [None, 3, 32, 32])
    sm = fluid.data('shrink_map', [None, 16, 16])
    mk = fluid.data('shrink_mask', [None, 16, 16])
    tm = fluid.data('threshold_map', [None, 16, 16])
    tk = fluid.data('threshold_mask', [None, 16, 16])
    c2 = conv_bn(img, 8, 3, 2)
    c3 = conv_bn(c2, 12, 3, 2)
    in3 = L.conv2d(c3, 8, 1, bias_attr=False)
    up = L.elementwise_add(L.resize_nearest(in3, scale=2), L.conv2d(c2, 8, 1, bias_attr=False))
    fuse = L.concat([up, L.resize_nearest(in3, scale=2)], axis=1)

    def head(x):
        y = L.batch_norm(L.conv2d(x, 6, 3, padding=1, bias_attr=False), act='relu')
        y = L.conv2d_transpose(
            y,
            6,
            filter_size=3,
            stride=1,
            padding=1,
            param_attr=ParamAttr(initializer=MSRA(uniform=False)),
            bias_attr=ParamAttr(initializer=Constant(1e-4)),
        )
        return L.conv2d(L.relu(y), 1, 3, padding=1, act='sigmoid')

    s, t = head(fuse), head(fuse)
    binary = L.reciprocal(1 + L.exp(-50 * (s - t)))

    def dice(p, g, m):
        p = L.reshape(p, [0, 16, 16])
        inter = L.reduce_sum(p * g * m)
        return 1 - 2.0 * inter / (L.reduce_sum(p * m) + L.reduce_sum(g * m) + 1e-6)

    def bce(p, g, m, ratio=3):
        p = L.reshape(p, [0, 16, 16])
        pos = g * m
        neg = (1 - g) * m
        pc = L.reduce_sum(pos)
        nc = L.reduce_min(
            L.concat([L.reduce_sum(neg), pc * ratio], 0)
            if False
            else L.elementwise_min(L.reduce_sum(neg), pc * ratio)
        )
        ce = L.log_loss(L.reshape(p, [-1, 1]), L.reshape(g, [-1, 1]), epsilon=1e-6)
        ce = L.reshape(ce, [-1, 16, 16])
        pl = L.reduce_sum(ce * pos)
        nl = L.reshape(ce * neg, [-1])
        top, _ = L.topk(nl, k=L.cast(nc, 'int32') if False else 50)
        return (pl + L.reduce_sum(top)) / (pc + nc + 1e-6)

    l1 = L.reduce_sum(L.abs(L.reshape(t, [0, 16, 16]) - tm) * tk) / (L.reduce_sum(tk) + 1e-6)
    loss = dice(binary, sm, mk) + 5.0 * bce(s, sm, mk) + 10.0 * l1
    cnt = L.cast(L.where(s > 0.5), 'int64')
    return (
        [loss, l1],
        lambda: dict(
            image=f32(2, 3, 32, 32),
            shrink_map=(rng.rand(2, 16, 16) > 0.6).astype('float32'),
            shrink_mask=(rng.rand(2, 16, 16) > 0.1).astype('float32'),
            threshold_map=f32(2, 16, 16),
            threshold_mask=(rng.rand(2, 16, 16) > 0.5).astype('float32'),
        ),
        fluid.optimizer.AdamOptimizer(0.005, beta1=0.9),
    )


def pointnet():
    xyz = fluid.layers.data('xyz', [32, 3])
    y = L.data('label', [1], dtype='int64')
    x = L.unsqueeze(L.transpose(xyz, [0, 2, 1]), [3])
    t = L.reshape(L.pool2d(conv_bn(x, 16, 1), [32, 1], 'max'), [-1, 16])
    t = L.fc(
        t,
        9,
        param_attr=Constant(0.0),
        bias_attr=ParamAttr(
            initializer=fluid.initializer.NumpyArrayInitializer(np.eye(3).reshape(-1).astype('float32'))
        ),
    )
    t = L.reshape(t, [-1, 3, 3])
    p = L.matmul(xyz, t)
    q = L.unsqueeze(L.transpose(p, [0, 2, 1]), [3])
    f = conv_bn(conv_bn(q, 16, 1), 24, 1)
    idx = L.cast(L.assign(np.array([0, 5, 9, 31], 'int32')), 'int32')
    sub = L.gather(L.transpose(L.squeeze(f, [3]), [2, 0, 1]), idx)
    d = L.reduce_sum(
        L.square(L.expand(L.unsqueeze(p, [2]), [1, 1, 32, 1]) - L.expand(L.unsqueeze(p, [1]), [1, 32, 1, 1])),
        -1,
    )
    k, ki = L.topk(-1.0 * d, 4)
    g = L.reshape(L.pool2d(f, [32, 1], 'max'), [-1, 24])
    h = L.dropout(
        L.fc(
            L.concat([g, L.reshape(L.transpose(sub, [1, 0, 2]), [-1, 96]), L.reduce_mean(k, -1)], 1),
            20,
            act='relu',
        ),
        0.3,
        seed=6,
    )
    pr = L.fc(h, 5, act='softmax')
    c = L.mean(L.cross_entropy(pr, y, soft_label=False))
    I = L.eye(3, batch_shape=[1]) if False else L.assign(np.eye(3, dtype='float32'))
    reg = L.reduce_mean(L.square(L.matmul(t, t, transpose_y=True) - I))
    a = L.accuracy(pr, y)
    return (
        [c + 0.001 * reg, a],
        lambda: dict(xyz=f32(6, 32, 3), label=rng.randint(0, 5, (6, 1)).astype('int64')),
        fluid.optimizer.Adam(L.exponential_decay(0.01, 2, 0.7, True)),
    )


def sr():
    x = fluid.data('lr', [None, 3, 12, 12])
    y = fluid.data('hr', [None, 3, 24, 24])
    h = L.conv2d(x, 12, 3, padding=1, act=None)
    h = L.prelu(h, 'channel')
    r = h
    for i in range(2):
        z = L.conv2d(L.relu(L.conv2d(h, 12, 3, padding=1)), 12, 3, padding=1)
        a = L.fc(L.pool2d(z, pool_type='avg', global_pooling=True), 3, act='relu')
        a = L.fc(a, 12, act='sigmoid')
        h = h + L.elementwise_mul(z, a, axis=0)
    h = L.pixel_shuffle(L.conv2d(h + r, 12, 3, padding=1), 2)
    o = h + L.resize_bilinear(x, scale=2.0, align_corners=False, align_mode=0)
    sd = L.space_to_depth(L.concat([o, o, o, o], 1), 2)
    tv = L.reduce_mean(
        L.abs(
            L.crop_tensor(o, [-1, 3, 23, 24], [0, 0, 1, 0]) - L.crop_tensor(o, [-1, 3, 23, 24], [0, 0, 0, 0])
        )
    )
    u = L.unfold(y, [3, 3], 1, 1, 1)
    loss = L.mean(L.sqrt(L.square(o - y) + 1e-6)) + 0.01 * tv + 0.0 * L.reduce_mean(sd)
    psnr = -10.0 * L.log(L.mse_loss(o, y)) / math.log(10.0)
    return (
        [loss, psnr, L.reduce_mean(u)],
        lambda: dict(lr=f32(3, 3, 12, 12), hr=f32(3, 3, 24, 24)),
        fluid.optimizer.AdamOptimizer(1e-3, grad_clip=fluid.clip.GradientClipByValue(0.1, -0.1)),
    )


def c3d():
    v = L.data('clip', [3, 4, 16, 16])
    y = L.data('label', [1], dtype='int64')
    h = L.conv3d(v, 6, 3, padding=1, act=None, bias_attr=False)
    h = L.batch_norm(h, act='relu')
    h = L.pool3d(h, [1, 2, 2], 'max', [1, 2, 2])
    h = L.conv3d(h, 8, (3, 1, 1), padding=(1, 0, 0), groups=2, act='relu')
    h = L.pool3d(h, 2, 'avg', 2, ceil_mode=True, exclusive=False)
    n = L.reshape(L.transpose(h, [0, 2, 1, 3, 4]), [-1, 8, 4, 4])
    s = L.shuffle_channel(n, 2)
    th = L.conv2d(s, 4, 1)
    ph = L.reshape(L.conv2d(s, 4, 1), [-1, 4, 16])
    at = L.softmax(L.matmul(L.transpose(L.reshape(th, [-1, 4, 16]), [0, 2, 1]), ph))
    g = L.matmul(L.reshape(n, [-1, 8, 16]), at, transpose_y=True)
    z = L.reshape(g, [-1, 2, 8, 16])
    p = L.fc(L.dropout(L.reduce_mean(z, [1, 3]), 0.2, dropout_implementation='upscale_in_train', seed=8), 4)
    loss, sm = L.softmax_with_cross_entropy(p, y, return_softmax=True)
    ls = L.label_smooth(L.one_hot(y, 4), epsilon=0.1)
    kl = L.mean(L.cross_entropy(sm, ls, soft_label=True))
    return (
        [L.mean(loss) + kl, L.accuracy(sm, y, k=2)],
        lambda: dict(clip=f32(4, 3, 4, 16, 16), label=rng.randint(0, 4, (4, 1)).astype('int64')),
        fluid.optimizer.Momentum(
            L.cosine_decay(0.02, 3, 4), 0.9, use_nesterov=True, regularization=L2Decay(1e-3)
        ),
    )


def arc():
    x = L.data('x', [3, 12, 12])
    y = L.data('y', [1], dtype='int64')
    e = L.fc(conv_bn(x, 8, 3, 2), 16)
    e = L.l2_normalize(e, axis=-1)
    w = L.create_parameter([16, 10], 'float32', name='weight', default_initializer=Xavier())
    wn = L.l2_normalize(w, axis=0)
    cos = L.mul(e, wn)
    theta = L.acos(L.clip(cos, -1 + 1e-6, 1 - 1e-6))
    oh = L.one_hot(y, 10)
    mc = L.cos(theta + 0.5)
    out = 30.0 * (oh * mc + (1.0 - oh) * cos)
    loss = L.softmax_with_cross_entropy(out, y)
    f = (
        L.sigmoid_focal_loss(out, L.cast(y, 'int32') + 1, L.fill_constant([1], 'int32', 6))
        if False
        else L.pow(1.0 - L.softmax(out), 2.0)
    )
    tri = L.reduce_mean(
        L.relu(0.5 + L.reduce_sum(L.square(e - L.gather(e, L.assign(np.array([1, 2, 3, 0], 'int32')))), 1))
    )
    return (
        [L.mean(loss) + 0.1 * tri, L.accuracy(L.softmax(out), y), L.mean(f)],
        lambda: dict(x=f32(4, 3, 12, 12), y=rng.randint(0, 10, (4, 1)).astype('int64')),
        fluid.optimizer.LarsMomentum(0.1, 0.9),
    )


for name in sys.argv[1:] or ['pose', 'db', 'pointnet', 'sr', 'c3d', 'arc']:
    rng.seed(5)
    main, start = fluid.Program(), fluid.Program()
    main.random_seed = start.random_seed = 17
    with fluid.program_guard(main, start), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        try:
            outs, feed, opt = globals()[name]()
            test = main.clone(for_test=True)
            opt.minimize(outs[0])
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(start)
            for i in range(6):
                o = exe.run(main, feed=feed(), fetch_list=outs)
                print(name, i, ' '.join('%.5f' % np.mean(v) for v in o))
            o = exe.run(test, feed=feed(), fetch_list=outs)
            print(name, 'test', ' '.join('%.5f' % np.mean(v) for v in o))
            print(name, [op.type for op in main.global_block().ops])
            print(name, [(p.name, tuple(p.shape)) for p in main.all_parameters()])
        except Exception as e:
            print('FAILED', name, type(e).__name__, ' | '.join(str(e).strip().splitlines()[-4:])[:300])
