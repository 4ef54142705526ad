import paddle.fluid as fluid, numpy as np, paddle, sys, os, random, argparse, string, pickle, ConfigParser
import models, tools
from tools import *
from tools.meters import make, Registry
ap = argparse.ArgumentParser(); ap.add_argument('--nets', default='unet,deeplab', type=str); ap.add_argument('--steps', type=lambda s: int(s, 0), default=0x1c); args = ap.parse_args()
def losses(logit, label):
    n, c = logit.shape[1], logit.shape[1]
    logit = fluid.layers.transpose(logit, [0, 2, 3, 1]); logit = fluid.layers.reshape(logit, [-1, c])
    flat = fluid.layers.reshape(label, [-1, 1]); flat = fluid.layers.cast(flat, 'int64')
    ce, prob = fluid.layers.softmax_with_cross_entropy(logit, flat, ignore_index=255, return_softmax=True)
    mask = fluid.layers.cast(flat != 255, 'float32')
    mask.stop_gradient = True; flat.stop_gradient = True
    one = fluid.layers.one_hot(fluid.layers.elementwise_min(flat, fluid.layers.fill_constant([1], 'int64', c)), c + 1)
    one = fluid.layers.slice(one, [1], [0], [c])
    inter = fluid.layers.reduce_sum(prob * one * mask, 0)
    dice = 1 - fluid.layers.reduce_mean((2 * inter + 1) / (fluid.layers.reduce_sum(prob * mask, 0) + fluid.layers.reduce_sum(one, 0) + 1))
    return fluid.layers.reduce_sum(ce) / (fluid.layers.reduce_sum(mask) + 1e-5), dice, fluid.layers.argmax(prob, 1)
def run(name, steps):
    main, start = fluid.Program(), fluid.Program(); main.random_seed, start.random_seed = 3, 4
    with fluid.program_guard(main, start):
        with fluid.unique_name.guard(name + '_'):
            pr = fluid.layers.py_reader(4, [[-1, 3, 16, 16], [-1, 16, 16]], ['float32', 'int32'], name='r', use_double_buffer=True)
            img, lab = fluid.layers.read_file(pr)
            ce, dice, pred = losses(models.get(name, classes=3)(img), lab)
            loss = ce + .5 * dice
            miou, wrong, right = fluid.layers.mean_iou(fluid.layers.cast(pred, 'int32'), fluid.layers.elementwise_min(fluid.layers.reshape(lab, [-1]), fluid.layers.fill_constant([1], 'int32', 2)), 3)
            test = main.clone(True)
            lr = fluid.layers.polynomial_decay(.05, steps, 1e-4, .9)
            fluid.optimizer.Momentum(lr, .9, regularization=fluid.regularizer.L2Decay(4e-5)).minimize(loss)
    rnd = random.Random(8)
    pipe = Compose(flip(rnd), crop(rnd, 16), normalize([127.5] * 3, [127.5] * 3), lambda i, l: (i.astype('f'), l.astype('i4')))
    pr.decorate_paddle_reader(paddle.batch(SegReader(24, 6, pipe, 1), 6))
    exe = fluid.Executor(fluid.CPUPlace()); exe.run(start)
    print name, str(main.global_block().all_parameters()[0].name), len(main.global_block().all_parameters()), len(list(main.list_vars()))
    ms = [make(m) for m in 'mean pixel iou'.split()]; step = 0
    while step < steps:
        pr.start()
        try:
            while True:
                l, d, r, w, i = exe.run(main, fetch_list=[loss, dice, right, wrong, miou])
                ms[0](l[0]); ms[1](r.sum(), r.sum() + w.sum()); ms[2](r.tolist(), w.tolist()); step += 1
                print 'step %02d loss %.5f dice %.5f' % (step, l, d), u' '.join(map(unicode, ms)), '%.5f' % i
        except fluid.core.EOFException, e:
            pr.reset()
        print str(ms[1]), ms[0] / 2, max(ms).__class__.__name__, bool(ms[0]), `ms[0].value() > 3`
        for m in ms: m.reset()
    fluid.save(main, 'out/' + name) if os.path.isdir('out') or not os.mkdir('out') else None
    print sorted(os.listdir('out'))
    st = pickle.load(open('out/%s.pdparams' % name, 'rb')); print len(st), '%.4f' % sum([np.abs(v).sum() for v in st.values()])
    pr.start()
    try:
        tot = 0.
        while 1: tot += exe.run(test, fetch_list=[loss.name])[0]
    except fluid.core.EOFException: pr.reset()
    print 'test %.5f' % tot
for n in args.nets.split(','):
    with fluid.scope_guard(fluid.Scope()): run(n, args.steps)
try: models.get('pspnet')
except LookupError, (what,): print 'no', what
try: make('kappa')
except ValueError as e: print e.message, len(tools.VERSION), tools.meters.Registry is Registry
