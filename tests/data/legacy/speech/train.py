# RNN cells, decoders and sequence ops of 1.7/1.8, deep speech bits, ELMo's lstmp.
import numpy as np, paddle.fluid as fluid
import paddle.fluid.layers as layers
V, H = 12, 8

exe = fluid.Executor(fluid.CPUPlace())
p, s = fluid.Program(), fluid.Program(); p.random_seed = s.random_seed = 3
with fluid.program_guard(p, s), fluid.unique_name.guard():
    x = layers.data('x', [6], lod_level=1); y = layers.data('y', [1], dtype='int32', lod_level=1)
    f = layers.fc(x, 4 * H, bias_attr=False)
    proj, cell = layers.dynamic_lstmp(input=f, size=4 * H, proj_size=5, use_peepholes=False, is_reverse=False, cell_clip=3.0, proj_clip=2.0, proj_activation='identity')
    rc = layers.row_conv(proj, 2, act='relu')
    g = layers.dynamic_gru(layers.fc(rc, 3 * H), H, is_reverse=True, origin_mode=True)
    sc = layers.sequence_conv(g, 6, 3, act='tanh', padding_start=-1)
    br = layers.brelu(sc, t_min=0.0, t_max=2.0)
    rev = layers.sequence_reverse(br)
    cat = layers.sequence_concat([br, rev])
    ex = layers.sequence_expand_as(layers.sequence_pool(br, 'max'), br)
    en = layers.sequence_enumerate(y, 2, 0)
    pad, plen = layers.sequence_pad(br, layers.assign(np.array([0.0], 'float32')))
    un = layers.sequence_unpad(pad, plen)
    sl = layers.sequence_slice(br, layers.fill_constant_batch_size_like(layers.sequence_pool(br, 'last'), [-1, 1], 'int64', 0), layers.fill_constant_batch_size_like(layers.sequence_pool(br, 'last'), [-1, 1], 'int64', 1))
    logits = layers.fc(layers.concat([un, ex], 1), 5)
    ctc = layers.warpctc(logits, y, blank=4, norm_by_times=True)
    loss = layers.mean(ctc) + 0.01 * layers.mean(cat) + 0.1 * layers.mean(sl) + 0.05 * layers.mean(layers.sequence_pool(g, 'sqrt'))
    dec = layers.ctc_greedy_decoder(logits, blank=4)
    ed, n = layers.edit_distance(dec, layers.cast(y, 'int64'), normalized=False)
    fluid.optimizer.Adam(layers.noam_decay(64, 5)).minimize(loss)
exe.run(s)
for i in range(10):
    r = np.random.RandomState(i)
    xl = r.randint(4, 9, 3).tolist(); yl = r.randint(1, 3, 3).tolist()
    f = {'x': fluid.create_lod_tensor(r.randn(sum(xl), 6).astype('float32'), [xl], fluid.CPUPlace()), 'y': fluid.create_lod_tensor(r.randint(0, 4, (sum(yl), 1)).astype('int32'), [yl], fluid.CPUPlace())}
    l, e, nn, d, en_ = exe.run(p, feed=f, fetch_list=[loss, ed, n, dec, en], return_numpy=False)
    print('ds %.5f ed %.2f n %d %s %s' % (np.array(l), np.array(e).sum(), np.array(nn), d.lod(), np.array(en_).tolist()[:2]))
