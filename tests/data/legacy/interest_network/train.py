"""DIN / DIEN (GRU with attentional update through StaticRNN), yaml config, py_reader by data, aux loss, piecewise decay, AUC with reset."""
import sys, os, yaml, pickle, time, logging
import numpy as np
import paddle, paddle.fluid as fluid
import reader
logging.basicConfig(format='%(asctime)s - %(levelname)s - %(message)s'); logger = logging.getLogger("fluid"); logger.setLevel(logging.INFO)
conf = yaml.load(open('config.yaml'), Loader=yaml.FullLoader)['train']
class Net:
    def __init__(s, model): s.model = model
    def att(s, hist, target, mask):
        n = hist.shape[2]
        cat = fluid.layers.concat([hist, target, hist - target, hist * target], axis=2)
        h = fluid.layers.fc(cat, 12, num_flatten_dims=2, act='sigmoid', name='a1'); w = fluid.layers.fc(h, 1, num_flatten_dims=2, name='a2')
        w = fluid.layers.transpose(w + mask, [0, 2, 1])
        return fluid.layers.softmax(fluid.layers.scale(w, scale=n ** -0.5))
    def augru(s, x, w, size):
        xs, ws = fluid.layers.transpose(x, [1, 0, 2]), fluid.layers.transpose(w, [2, 0, 1])
        rnn = fluid.layers.StaticRNN()
        with rnn.step():
            xt, at = rnn.step_input(xs), rnn.step_input(ws)
            prev = rnn.memory(shape=[-1, size], batch_ref=xs, init_value=0., init_batch_dim_idx=0, ref_batch_dim_idx=1)
            both = fluid.layers.concat([xt, prev], 1)
            u = fluid.layers.elementwise_mul(fluid.layers.fc(both, size, act='sigmoid', name='u'), at, axis=0); r = fluid.layers.fc(both, size, act='sigmoid', name='r')
            c = fluid.layers.fc(fluid.layers.concat([xt, r * prev], 1), size, act='tanh', name='c')
            h = (1. - u) * prev + u * c
            rnn.update_memory(prev, h); rnn.step_output(h)
        out = rnn()
        return fluid.layers.transpose(out, [1, 0, 2])
    def __call__(s, feeds, static_len=None):
        hi, hc, ti, tc, label, mask, tseq, ln = feeds
        D = conf['dim']
        def emb(x, n, name): return fluid.embedding(x, (n, D), param_attr=fluid.ParamAttr(name=name, initializer=fluid.initializer.XavierInitializer(seed=3)), is_sparse=True)
        hist = fluid.layers.concat([emb(hi, conf['items'], 'item'), emb(hc, conf['cats'], 'cat')], 2)
        tgt = fluid.layers.concat([emb(ti, conf['items'], 'item'), emb(tc, conf['cats'], 'cat')], 1)
        one = fluid.layers.fill_constant_batch_size_like(hist, [-1, 1, D * 2], 'float32', 0.)
        texp = hist * 0. + fluid.layers.unsqueeze(tgt, [1]) if s.model == 'din' else fluid.layers.concat([emb(tseq, conf['items'], 'item'), fluid.layers.elementwise_add(emb(tseq, conf['items'], 'item') * 0., fluid.layers.unsqueeze(emb(tc, conf['cats'], 'cat'), 1))], 2)
        w = s.att(hist, texp, mask)
        if s.model == 'din': pooled = fluid.layers.squeeze(fluid.layers.matmul(w, hist), [1])
        else:
            seq = s.augru(hist, w, D * 2)
            last = fluid.layers.slice(fluid.layers.reverse(seq, 1), [1], [0], [1]); pooled = fluid.layers.reshape(last, [-1, D * 2])
        x = fluid.layers.concat([pooled, tgt, pooled * tgt], 1)
        x = fluid.layers.fc(fluid.layers.prelu(fluid.layers.fc(x, 16), 'all'), 8, act='swish')
        logit = fluid.layers.fc(x, 1) + fluid.layers.reshape(fluid.embedding(ti, [conf['items'], 1], param_attr='item_b'), [-1, 1])
        loss = fluid.layers.sigmoid_cross_entropy_with_logits(logit, label, name='loss')
        return fluid.layers.mean(loss), fluid.layers.sigmoid(logit)
def train(model):
    start, main = fluid.Program(), fluid.Program(); start.random_seed = main.random_seed = 99
    with fluid.program_guard(main, start), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        names = ['hist_item', 'hist_cat', 'target_item', 'target_cat', 'label', 'mask', 'target_seq', 'len']
        m = -1 if model == 'din' else 7
        shapes = [[-1, m], [-1, m], [-1], [-1], [-1, 1], [-1, m, 1], [-1, m], [-1, 1]]; types = ['int64'] * 4 + ['float32'] * 2 + ['int64'] * 2
        data = [fluid.data(n, s, t) for n, s, t in zip(names, shapes, types)]
        loader = fluid.io.DataLoader.from_generator(data, capacity=8, use_double_buffer=False, iterable=False)
        loss, prob = Net(model)(data)
        auc, bauc, stats = fluid.layers.auc(fluid.layers.concat([1 - prob, prob], 1), fluid.layers.cast(data[4], 'int64'), num_thresholds=199)
        lr = fluid.layers.piecewise_decay(conf['boundaries'], [conf['lr'], conf['lr'] / 2, conf['lr'] / 10])
        fluid.optimizer.SGD(lr, regularization=fluid.regularizer.L1DecayRegularizer(1e-5)).minimize(loss) if model == 'din' else fluid.optimizer.RMSPropOptimizer(lr, rho=.9, momentum=.1, grad_clip=fluid.clip.GradientClipByGlobalNorm(1.)).minimize(loss)
        src = reader.batches('train.pkl', 8)
        def padded():
            for b in src():
                k = 7 - b[0].shape[1]
                if k and model != 'din':
                    b = list(b); b[0], b[1] = [np.pad(v, ((0, 0), (0, k)), 'constant') for v in b[:2]]; b[5] = np.pad(b[5], [(0, 0), (0, k), (0, 0)], 'constant', constant_values=-1e9); b[6] = np.pad(b[6], ((0, 0), (0, k)), 'edge')
                yield b
        loader.set_batch_generator(padded, places=[fluid.CPUPlace()])
        exe = fluid.Executor(fluid.CPUPlace()); exe.run(start); n = 0
        for ep in range(conf['epochs']):
            loader.start(); tot = 0.
            try:
                while True:
                    l, a, b, p, r = exe.run(main, fetch_list=[loss, auc, bauc, prob, lr]); n += 1; tot += l
                    print('%s epoch %d step %d loss %.6f auc %.4f batch %.4f mean %.5f lr %.4f' % (model, ep, n, l, a, b, p.mean(), r))
            except fluid.core.EOFException: loader.reset()
            for st in stats:
                t = fluid.global_scope().find_var(st.name).get_tensor(); t.set(np.zeros(t.shape()).astype('int64'), fluid.CPUPlace())
            print('epoch %d total %.5f' % (ep, tot), conf['name'])
        fluid.io.save_inference_model('m_' + model, names[:4] + names[5:(6 if model == 'din' else 7)], [prob], exe)
        p, f, t = fluid.io.load_inference_model('m_' + model, exe)
        b = dict(zip(names, next(padded())))
        print(f, '%.6f' % exe.run(p, feed={k: b[k] for k in f}, fetch_list=t)[0].sum())
pickle.dump(reader.raw(64, 3, conf['items'], conf['cats']), open('train.pkl', 'wb'), 2)
for m in ('din', 'dien'): train(m)
