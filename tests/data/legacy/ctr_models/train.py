import paddle.fluid as fluid, numpy as np, math, sys
F, NF, E = 6, 50, 4

def inputs():
    idx = fluid.data('idx', [None, F], 'int64'); val = fluid.data('val', [None, F], 'float32'); y = fluid.data('y', [None, 1], 'float32')
    return idx, val, y

def emb(idx, val, size, name=None, reg=1e-4):
    e = fluid.embedding(fluid.layers.reshape(idx, [-1, 1]), size=[NF + 1, size], padding_idx=0, param_attr=fluid.ParamAttr(name=name, initializer=fluid.initializer.TruncatedNormalInitializer(0.0, 0.1), regularizer=fluid.regularizer.L1DecayRegularizer(reg)))
    e = fluid.layers.reshape(e, [-1, F, size])
    return e * fluid.layers.reshape(val, [-1, F, 1])

def xdeepfm(idx, val, y):
    feat = emb(idx, val, E)
    lin = fluid.layers.reduce_sum(emb(idx, val, 1), 1)
    Xs, last = [feat], F
    X0 = fluid.layers.transpose(feat, [0, 2, 1])
    for i, s in enumerate([5, 3]):
        Xk = fluid.layers.transpose(Xs[-1], [0, 2, 1])
        d0 = fluid.layers.expand(fluid.layers.unsqueeze(X0, [3]), [1, 1, 1, Xk.shape[-1]])
        dk = fluid.layers.expand(fluid.layers.unsqueeze(Xk, [2]), [1, 1, F, 1])
        Z = fluid.layers.elementwise_mul(d0, dk)
        Z = fluid.layers.reshape(Z, [-1, E, last * F])
        Z = fluid.layers.transpose(Z, [0, 2, 1])
        Z = fluid.layers.reshape(Z, [-1, last * F, 1, E])
        c = fluid.layers.conv2d(Z, num_filters=s, filter_size=(1, 1), bias_attr=False)
        c = fluid.layers.reshape(c, [-1, s, E])
        Xs.append(c); last = s
    cin = fluid.layers.fc(fluid.layers.concat([fluid.layers.reduce_sum(x, -1) for x in Xs[1:]], 1), 1)
    h = fluid.layers.reshape(feat, [-1, F * E])
    for s in (16, 8):
        h = fluid.layers.fc(h, s, act='relu')
    return fluid.layers.sigmoid(lin + cin + fluid.layers.fc(h, 1))

def dcn(idx, val, y):
    x0 = fluid.layers.reshape(emb(idx, val, E), [-1, F * E])
    x = x0
    l2 = []
    for i in range(2):
        w = fluid.layers.create_parameter([F * E], 'float32', attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(0, 0.1)))
        b = fluid.layers.create_parameter([F * E], 'float32', is_bias=True)
        xw = fluid.layers.reduce_sum(fluid.layers.elementwise_mul(x, w), dim=1, keep_dim=True)
        x = fluid.layers.elementwise_add(fluid.layers.elementwise_mul(x0, xw), b) + x
        l2.append(fluid.layers.reduce_sum(fluid.layers.square(w)))
    h = fluid.layers.fc(x0, 8, act=None)
    h = fluid.layers.batch_norm(h, act='relu')
    h = fluid.layers.dropout(h, 0.2, dropout_implementation='upscale_in_train')
    return fluid.layers.sigmoid(fluid.layers.fc(fluid.layers.concat([x, h], 1), 1)), fluid.layers.sums(l2)

def din():
    hist = fluid.data('hist', [None, 7], 'int64')
    tgt = fluid.data('tgt', [None], 'int64'); ln = fluid.data('len', [None], 'int64'); y = fluid.data('y', [None, 1], 'float32')
    tab = lambda v: fluid.embedding(v, [NF, E], param_attr='item')
    h, t = tab(hist), tab(tgt)
    te = fluid.layers.expand(fluid.layers.unsqueeze(t, [1]), [1, 7, 1])
    a = fluid.layers.concat([te, h, te - h, te * h], axis=2)
    a = fluid.layers.fc(a, 8, num_flatten_dims=2, act='sigmoid')
    a = fluid.layers.fc(a, 1, num_flatten_dims=2)
    m = fluid.layers.sequence_mask(ln, maxlen=7, dtype='float32')
    a = fluid.layers.squeeze(a, [2]) + (m - 1.0) * 1e9
    w = fluid.layers.softmax(a * (E ** -0.5))
    v = fluid.layers.squeeze(fluid.layers.matmul(fluid.layers.unsqueeze(w, [1]), h), [1])
    z = fluid.layers.concat([v, t], 1)
    z = fluid.layers.prelu(fluid.layers.fc(z, 8), 'all')
    out = fluid.layers.fc(z, 1)
    pw = fluid.layers.create_parameter([NF], 'float32', name='item_bias', default_initializer=fluid.initializer.Constant(0.0))
    out = out + fluid.layers.reshape(fluid.layers.gather(pw, tgt), [-1, 1])
    return hist, tgt, ln, y, out

def fm_data(i):
    r = np.random.RandomState(i)
    idx = r.randint(0, NF, (8, F)).astype('int64'); val = np.round(r.rand(8, F), 3).astype('float32')
    return {'idx': idx, 'val': val, 'y': (idx.sum(1, keepdims=True) % 2).astype('float32')}

exe = fluid.Executor(fluid.CPUPlace())
for name, f in (('xdeepfm', xdeepfm), ('dcn', dcn)):
    p, s = fluid.Program(), fluid.Program(); p.random_seed = s.random_seed = 8
    with fluid.program_guard(p, s), fluid.unique_name.guard():
        idx, val, y = inputs()
        o = f(idx, val, y)
        extra = None
        if isinstance(o, tuple):
            o, extra = o
        loss = fluid.layers.reduce_mean(fluid.layers.log_loss(o, y, epsilon=1e-7))
        if extra is not None:
            loss = loss + 1e-3 * extra
        auc, bauc, st = fluid.layers.auc(fluid.layers.concat([1 - o, o], 1), fluid.layers.cast(y, 'int64'), num_thresholds=200, slide_steps=1)
        t = p.clone(for_test=True)
        fluid.optimizer.Adam(0.02, lazy_mode=True).minimize(loss)
    exe.run(s)
    for i in range(12):
        l, a, b = exe.run(p, feed=fm_data(i % 6), fetch_list=[loss, auc, bauc])
        print('%s %d %.5f auc %.5f %.5f' % (name, i, l, a, b))
    if name == 'xdeepfm':
        print('%s test %.5f' % (name, exe.run(t, feed=fm_data(3), fetch_list=[loss])[0]))
p, s = fluid.Program(), fluid.Program(); p.random_seed = s.random_seed = 1
with fluid.program_guard(p, s), fluid.unique_name.guard():
    hist, tgt, ln, y, out = din()
    loss = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(out, y))
    fluid.optimizer.SGD(fluid.layers.exponential_decay(1.0, 4, .5, True)).minimize(loss)
exe.run(s)
loader = fluid.io.DataLoader.from_generator(feed_list=[hist, tgt, ln, y], capacity=4, iterable=True)
def gen():
    r = np.random.RandomState(0)
    for _ in range(40):
        n = r.randint(1, 8)
        h = np.zeros(7, 'int64'); h[:n] = r.randint(1, NF, n)
        yield h, np.int64(r.randint(1, NF)), np.int64(n), np.array([n % 2], 'float32')
loader.set_sample_generator(gen, batch_size=5, places=fluid.cpu_places(1))
for e in range(2):
    for d in loader():
        print('din %.5f' % exe.run(p, feed=d, fetch_list=[loss])[0])
