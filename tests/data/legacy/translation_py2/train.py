#!/usr/bin/env python2
# -*- coding:utf-8 -*-
"""attention NMT with beam search, BLEU, resume"""
import os, sys, math, time, re, collections, operator, logging, itertools, random, tarfile, StringIO, md5
from optparse import OptionParser, OptionGroup
import numpy as np
import paddle, paddle.fluid as fluid
pd = fluid.layers
from paddle.fluid.layers.control_flow import array_length

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format='%(levelname)s %(message)s')
log = logging.getLogger('nmt')
BOS, EOS, UNK = '<s>', '<e>', '<unk>'
bos, eos = 0, 1

class Vocab(dict):
    def __missing__(self, w): return self[UNK]
    @classmethod
    def build(cls, lines, size=30):
        c = collections.Counter(itertools.chain(*[l.split() for l in lines]))
        ws = sorted(c.iteritems(), key=operator.itemgetter(0))
        ws = sorted(ws, lambda a, b: b[1] - a[1])[:size - 3]
        return cls(itertools.izip([BOS, EOS, UNK] + [w for w, _ in ws], itertools.count()))
    def inv(self): return dict((v, k) for k, v in self.items())

def corpus(n, seed):
    r = random.Random(seed)
    src = u'我 你 他 爱 看 书 猫 狗'.encode('utf8').split(); trg = 'i you he love(s) see book cat dog'.split()
    out = []
    for i in xrange(n):
        ids = [r.randint(0, 2), r.randint(3, 4), r.choice((5, 6, 7))]
        if r.random() < 0.5: ids.append(r.randrange(5, 8))
        out.append(' '.join([src[k] for k in ids]) + ' ||| ' + ' '.join([trg[k] for k in ids]))
    return out

def make_tar(fn, lines):
    t = tarfile.open(fn, 'w:gz')
    body = '\n'.join(lines) + '\n'
    info = tarfile.TarInfo('wmt/train'); info.size = len(body)
    t.addfile(info, StringIO.StringIO(body)); t.close()
    return md5.new(body).hexdigest()

def reader_creator(fn, member, sv, tv):
    def reader():
        with tarfile.open(fn, mode='r') as f:
            names = [m.name for m in f if m.name.endswith(member)]
            for name in names:
                for line in f.extractfile(name):
                    s, t = [x.strip() for x in line.split('|||')]
                    si = [sv[w] for w in [BOS] + s.split() + [EOS]]
                    ti = [tv[w] for w in t.split()]
                    if len(si) > 80: continue
                    yield si, [bos] + ti, ti + [eos]
    return reader

H, E, K, MAXLEN = 16, 12, 3, 7

def encoder(src, n):
    emb = pd.embedding(src, [n, E], param_attr='src_emb')
    f = pd.dynamic_gru(pd.fc(emb, H * 3, bias_attr=False, name='fw'), H, param_attr=fluid.ParamAttr('fw_g'), bias_attr=False)
    b = pd.dynamic_gru(pd.fc(emb, H * 3, bias_attr=False, name='bw'), H, is_reverse=True, param_attr=fluid.ParamAttr('bw_g'), bias_attr=False)
    vec = pd.concat([f, b], axis=1)
    proj = pd.fc(vec, H, bias_attr=False, param_attr='proj_w')
    boot = pd.fc(pd.sequence_pool(b, 'first'), H, act='tanh', bias_attr=False, param_attr='boot_w')
    return vec, proj, boot

def attend(vec, proj, state):
    e = pd.sequence_expand(x=pd.fc(state, H, bias_attr=False, param_attr='att_s'), y=proj)
    w = pd.fc(pd.tanh(pd.elementwise_add(proj, e)), 1, bias_attr=False, param_attr='att_v')
    w = pd.sequence_softmax(w)
    return pd.sequence_pool(pd.elementwise_mul(vec, pd.reshape(w, [-1]), axis=0), 'sum')

def cell(word, ctx, hidden, lod=None):
    inp = pd.fc([word, ctx], H * 3, bias_attr=False, param_attr=['in_w', 'in_c'] and fluid.ParamAttr.__call__ and [fluid.ParamAttr('in_w'), fluid.ParamAttr('in_c')])
    h, _, _ = pd.gru_unit(inp, hidden, H * 3, param_attr='gu_w', bias_attr='gu_b')
    return h, pd.fc(h if lod is None else pd.lod_reset(h, lod), OUT, act='softmax', param_attr='out_w', bias_attr='out_b')

def train_net(ns, nt):
    src = pd.data('src', [1], dtype='int64', lod_level=1); trg = pd.data('trg', [1], dtype='int64', lod_level=1); nxt = pd.data('next', [1], dtype='int64', lod_level=1)
    vec, proj, boot = encoder(src, ns)
    emb = pd.embedding(trg, [nt, E], param_attr='trg_emb')
    rnn = pd.DynamicRNN()
    with rnn.block():
        cur = rnn.step_input(emb)
        v = rnn.static_input(vec); p = rnn.static_input(proj)
        mem = rnn.memory(init=boot, need_reorder=True)
        h, out = cell(cur, attend(v, p, mem), mem)
        rnn.update_memory(mem, h); rnn.output(out)
    cost = pd.cross_entropy(rnn(), nxt)
    return [src, trg, nxt], pd.mean(pd.sequence_pool(cost, 'sum'))

def decode_net(ns, nt):
    src = pd.data('src', [1], dtype='int64', lod_level=1)
    vec, proj, boot = encoder(src, ns)
    limit = pd.fill_constant([1], 'int64', MAXLEN); i = pd.zeros([1], 'int64', force_cpu=True)
    ids0 = pd.data('init_ids', [1], dtype='int64', lod_level=2); sc0 = pd.data('init_scores', [1], dtype='float32', lod_level=2)
    st, ids, sc = pd.create_array('float32'), pd.create_array('int64'), pd.create_array('float32')
    cx = pd.create_array('float32'); pd.array_write(pd.sequence_pool(vec, 'average'), i, cx)
    pd.array_write(boot, i, st); pd.array_write(ids0, i, ids); pd.array_write(sc0, i, sc)
    cond = pd.less_than(i, limit); w = pd.While(cond)
    with w.block():
        pi, ps, s = pd.array_read(ids, i), pd.array_read(sc, i), pd.array_read(st, i)
        s = pd.sequence_expand(s, ps)
        emb = pd.embedding(pi, [nt, E], param_attr='trg_emb')
        ctx = pd.reshape(pd.sequence_expand(pd.array_read(cx, i), ps), [-1, 2 * H])
        h, prob = cell(emb, ctx, pd.reshape(s, [-1, H]), ps)
        tk, ti = pd.topk(prob, K)
        acc = pd.elementwise_add(pd.log(tk), pd.reshape(ps, [-1]), axis=0)
        si, ss = pd.beam_search(pi, ps, ti, acc, K, end_id=eos, level=0)
        pd.increment(i, 1, in_place=True)
        pd.array_write(h, i, st); pd.array_write(ctx, i, cx); pd.array_write(si, i, ids); pd.array_write(ss, i, sc)
        pd.logical_and(pd.less_than(i, limit), pd.logical_not(pd.is_empty(si)), out=cond)
    return pd.beam_search_decode(ids, sc, beam_size=K, end_id=eos)

def bleu(cands, refs, N=2):
    p, bp = [], 0
    for n in range(1, N + 1):
        hit = tot = 0
        for c, r in zip(cands, refs):
            cg = collections.Counter(zip(*[c[i:] for i in range(n)])); rg = collections.Counter(zip(*[r[i:] for i in range(n)]))
            hit += sum((cg & rg).values()); tot += max(1, len(c) - n + 1)
        p.append(math.log(max(hit, 1e-9) * 1.0 / tot))
    lc, lr = sum(map(len, cands)), sum(map(len, refs))
    return (1 if lc > lr else math.exp(1 - lr * 1. / max(lc, 1))) * math.exp(sum(p) / N)

def main():
    global OUT
    op = OptionParser('usage: %prog [options]', version='%prog 0.1'); g = OptionGroup(op, 'training')
    g.add_option('-n', '--epochs', type='int', default=6, metavar='N'); g.add_option('--optim', type='choice', choices=['adam', 'sgd'], default='adam')
    op.add_option_group(g); o, a = op.parse_args()
    lines = corpus(48, 5)
    digest = make_tar('wmt.tgz', lines)
    sv, tv = [Vocab.build([l.split('|||')[k] for l in lines]) for k in 0, 1]
    OUT = len(tv)
    log.info('vocab %d %d %s %s', len(sv), len(tv), digest, ' '.join(w for w, _ in sorted(sv.items(), key=lambda (k, v): v)[:5]))
    read = paddle.batch(reader_creator('wmt.tgz', 'train', sv, tv), 6)
    main_p, start, dec_p = fluid.Program(), fluid.Program(), fluid.Program(); start.random_seed = 7
    with fluid.program_guard(main_p, start):
        with fluid.unique_name.guard():
            feeds, loss = train_net(len(sv), len(tv))
            opt = {'adam': lambda: fluid.optimizer.Adam(pd.exponential_decay(1e-2, 10, .9, staircase=True)), 'sgd': lambda: fluid.optimizer.SGD(.1)}[o.optim]()
            _, pg = opt.minimize(loss)
            log.info('%d parameters: %s', len(pg), ' '.join(sorted([p.name for p, g in pg])[:3]))
    with fluid.program_guard(dec_p, fluid.Program()), fluid.unique_name.guard():
        out_ids, out_sc = decode_net(len(sv), len(tv))
    place = fluid.CPUPlace(); exe = fluid.Executor(place); exe.run(start)
    feeder = fluid.DataFeeder(feeds, place, main_p)
    start_epoch = 0
    for phase in 'first', 'resumed':
        for ep in xrange(start_epoch, o.epochs):
            tot, words = 0., 0
            for b, d in enumerate(read()):
                c, = exe.run(main_p, feed=feeder.feed(d), fetch_list=[loss])
                tot += c * len(d); words += sum(len(x[1]) for x in d)
                if b % 2: log.info('epoch %d batch %d cost %.6f' % (ep, b, c))
            log.info('%s epoch %d ppl %.5f words %d' % (phase, ep, math.exp(tot / words), words))
            if ep == o.epochs / 2: fluid.io.save_persistables(exe, 'nmt', main_p, filename='all')
        start_epoch = o.epochs / 2 + 1
        fluid.io.load_persistables(exe, 'nmt', main_p, filename='all')
    inv = tv.inv(); hyps, refs = [], []
    for d in itertools.islice(read(), 3):
        n = len(d)
        src = fluid.create_lod_tensor([x[0] for x in d], [[len(x[0]) for x in d]], place)
        ii = fluid.create_lod_tensor(np.zeros((n, 1), 'int64'), [[1] * n] * 2, place); isc = fluid.create_lod_tensor(np.ones((n, 1), 'float32'), [[1] * n] * 2, place)
        ri, rs = exe.run(dec_p, feed={'src': fluid.create_lod_tensor(np.concatenate([x[0] for x in d]).reshape(-1, 1), [[len(x[0]) for x in d]], place), 'init_ids': ii, 'init_scores': isc}, fetch_list=[out_ids, out_sc], return_numpy=False)
        lod = ri.lod(); flat = np.array(ri).ravel(); fs = np.array(rs).ravel()
        for i in xrange(n):
            b0 = lod[0][i]; s, e = lod[1][b0], lod[1][b0 + 1]
            h = [inv[k] for k in flat[s + 1:e] if k != eos]; r = [inv[k] for k in d[i][1][1:]]
            hyps.append(h); refs.append(r)
            print '%s => %s | %s %.4f' % (' '.join(sv.inv()[k] for k in d[i][0][1:-1]), ' '.join(h), ' '.join(r), fs[e - 1])
    print 'BLEU %.4f' % bleu(hyps, refs)

if __name__ == '__main__': main()
