"""Text matching with the contrib layers: match matrix, top-k pooling, tree convolution, convolution over pairs."""
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import layers
from paddle.fluid.contrib import layers as clayers

rng = np.random.RandomState(5)
VOCAB, DIM = 60, 8
main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 17
with fluid.program_guard(main, start):
    q = fluid.data('q', [None, 1], 'int64', lod_level=1)
    t = fluid.data('t', [None, 1], 'int64', lod_level=1)
    y = fluid.data('y', [None, 1], 'float32')
    qe = fluid.embedding(q, (VOCAB, DIM), param_attr='emb')
    te = fluid.embedding(t, (VOCAB, DIM), param_attr='emb')
    qe, te = layers.reshape(qe, [-1, DIM]), layers.reshape(te, [-1, DIM])
    qe, te = layers.lod_reset(qe, q), layers.lod_reset(te, t)
    mm, tmp = clayers.match_matrix_tensor(qe, te, channel_num=3, act='tanh', param_attr='mm.w')
    conv = clayers.var_conv_2d(mm, layers.lod_reset(qe, q), layers.lod_reset(te, t), input_channel=3, output_channel=2, filter_size=3, stride=1, act='relu')
    pooled = clayers.sequence_topk_avg_pooling(mm, row=qe, col=te, topks=[1, 2], channel_num=3)
    pooled = layers.sequence_pool(pooled, 'sum')
    gq = clayers.fused_embedding_seq_pool(q, (VOCAB, DIM), is_sparse=True, combiner='sum', param_attr='emb2')
    lq = layers.sequence_pool(qe, 'average')
    rows = layers.sequence_first_step(te)
    fea = layers.concat([pooled, gq, lq, rows], axis=1)
    hid = layers.fc(fea, 12, act='tanh')
    logit = layers.fc(hid, 1)
    loss = layers.mean(layers.sigmoid_cross_entropy_with_logits(logit, y))
    test = main.clone(for_test=True)
    fluid.optimizer.Adagrad(0.05).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)


def seqs(lens):
    return fluid.create_lod_tensor(rng.randint(0, VOCAB, (sum(lens), 1)).astype('int64'), [lens], fluid.CPUPlace())


for step in range(8):
    a, b = list(rng.randint(2, 6, 4)), list(rng.randint(2, 6, 4))
    a, b = [int(v) for v in a], [int(v) for v in b]
    feed = {'q': seqs(a), 't': seqs(b), 'y': rng.randint(0, 2, (4, 1)).astype('float32')}
    l, p, c = exe.run(main, feed=feed, fetch_list=[loss, pooled, conv], return_numpy=False)
    print(step, 'loss %.6f' % np.array(l)[0], 'pooled %.5f' % np.abs(np.array(p)).sum(), 'conv %.5f' % np.array(c).sum(), c.recursive_sequence_lengths(), np.array(c).shape)
print('test %.6f' % exe.run(test, feed=feed, fetch_list=[loss.name])[0][0])
for p in main.all_parameters():
    v = np.array(fluid.global_scope().find_var(p.name).get_tensor())
    print(p.name, v.shape, '%.5f' % np.abs(v).sum())

# a tree, TBCNN style
main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 3
with fluid.program_guard(main, start), fluid.unique_name.guard():
    nodes = fluid.data('nodes', [None, 6, 5], 'float32')
    edges = fluid.data('edges', [None, 6, 2], 'int32')
    lab = fluid.data('lab', [None, 1], 'int64')
    nodes = layers.fc(nodes, 5, num_flatten_dims=2, act='tanh')
    h = clayers.tree_conv(nodes, edges, 4, 1, 2, act='tanh')
    h = layers.reshape(h, [-1, 6, 4])
    h = layers.reduce_max(h, dim=1)
    loss = layers.mean(layers.softmax_with_cross_entropy(layers.fc(h, 3), lab))
    fluid.optimizer.Momentum(.1, .9).minimize(loss)
exe.run(start)
E = np.array([[[1, 2], [1, 3], [2, 4], [2, 5], [3, 6], [0, 0]]] * 3, 'int32')
X = rng.randn(3, 6, 5).astype('float32')
for step in range(5):
    print('tree', step, '%.6f' % exe.run(main, feed={'nodes': X, 'edges': E, 'lab': np.array([[0], [1], [2]])}, fetch_list=[loss])[0][0])
