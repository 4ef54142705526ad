"""Two-level sequences: words of characters, sentences of words; many sequence layers between the embedding and the loss."""
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as L
r = np.random.RandomState(6)
main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 77
with fluid.program_guard(main, start):
    ch = L.data('ch', [1], dtype='int64', lod_level=2)
    wd = L.data('wd', [1], dtype='int64', lod_level=1)
    tg = L.data('tg', [1], dtype='int64', lod_level=1)
    ce = L.embedding(ch, [20, 5])
    cc = L.fc(ce, 6, act='tanh')
    cw = L.sequence_pool(cc, 'max')
    we = L.embedding(wd, [15, 6], is_sparse=True)
    x = L.concat([cw, we], axis=1)
    n2 = L.sequence_enumerate(wd, 2, pad_value=0)
    ne = L.reduce_sum(L.embedding(L.reshape(n2, [-1, 2, 1]), [15, 4]), 1)
    x = L.concat([x, L.lod_reset(ne, wd)], 1)
    fwd, _ = L.dynamic_lstm(L.fc(x, 32), 32, use_peepholes=True)
    bwd = L.dynamic_gru(L.fc(x, 24), 8, is_reverse=True, candidate_activation='relu')
    proj, _ = L.dynamic_lstmp(L.fc(x, 32), 32, proj_size=5)
    h = L.concat([fwd, bwd, proj], 1)
    att = L.sequence_softmax(L.fc(h, 1, act='tanh', bias_attr=False))
    ctx = L.sequence_pool(L.elementwise_mul(h, att, axis=0), 'sum')
    back = L.sequence_expand_as(ctx, h)
    rev = L.sequence_reverse(h)
    h = L.concat([h, back, rev], 1)
    padded, lens = L.sequence_pad(h, L.assign(np.zeros(1, 'float32')), maxlen=7)
    mask = L.sequence_mask(lens, maxlen=7, dtype='float32')
    conv = L.conv2d(L.unsqueeze(padded, [1]), 4, (3, h.shape[1]), padding=(1, 0), act='relu')
    conv = L.transpose(L.squeeze(conv, [3]), [0, 2, 1])
    conv = L.elementwise_mul(conv, mask, axis=0)
    un = L.sequence_unpad(conv, lens)
    un = L.lod_reset(un, wd)
    first, last = L.sequence_first_step(h), L.sequence_last_step(un)
    part = L.sequence_pool(rev, 'average')
    sent = L.fc(L.concat([first, last, part], 1), 2)
    emit = L.fc(L.concat([h, un], 1), 4)
    crf = L.linear_chain_crf(emit, tg, param_attr=fluid.ParamAttr('tr', learning_rate=2.))
    path = L.crf_decoding(emit, fluid.ParamAttr('tr'))
    y = L.data('y', [1], dtype='int64')
    loss = L.mean(crf) + L.mean(L.softmax_with_cross_entropy(sent, y)) + .01 * L.reduce_mean(L.square(L.sequence_scatter(L.fc(sent, 4), L.cast(L.elementwise_mod(wd, L.fill_constant([1], 'int64', 4)), 'int64'), L.sequence_reshape(L.fc(un, 1), 1))))
    er = L.sequence_expand(wd, wd)
    fluid.optimizer.Adam(.02).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)
place = fluid.CPUPlace()
for it in range(8):
    sents = [int(v) for v in r.randint(2, 7, 3)]
    words = [int(v) for v in r.randint(1, 5, sum(sents))]
    f = {'ch': fluid.create_lod_tensor(r.randint(0, 20, (sum(words), 1)).astype('int64'), [sents, words], place),
         'wd': fluid.create_lod_tensor(r.randint(0, 15, (sum(sents), 1)).astype('int64'), [sents], place),
         'tg': fluid.create_lod_tensor(r.randint(0, 4, (sum(sents), 1)).astype('int64'), [sents], place),
         'y': r.randint(0, 2, (3, 1))}
    o = exe.run(main, feed=f, fetch_list=[loss, att, un, path, er, ctx], return_numpy=False)
    a = [np.array(v) for v in o]
    print(it, 'loss %.6f att %.5f un %.5f ctx %.5f' % (a[0][0], np.square(a[1]).sum(), a[2].sum(), a[5].sum()), a[3].ravel().tolist(), o[4].recursive_sequence_lengths(), a[4].ravel().tolist())
