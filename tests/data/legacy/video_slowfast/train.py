"""Video: 3-D convolutions, non-local block, shift module, multi-process frame decoding through xmap + pickle files, ParallelExecutor style loops, mixed optimizers over two parameter groups."""
import os, sys, argparse, functools, pickle, random, io, multiprocessing, logging, signal
import numpy as np
from PIL import Image
import paddle
import paddle.fluid as fluid
from paddle.fluid import ParamAttr
try: import cPickle as pickle
except ImportError: import pickle
from io import BytesIO
random.seed(0); np.random.seed(0)

def make(n, path):
    rng = np.random.RandomState(8); vids = []
    for i in range(n):
        c = i % 3; frames = []
        for t in range(6):
            a = rng.randint(0, 60, (14, 14, 3)).astype('uint8'); k = [t, 6 - t, 3][c]
            a[k:k + 4, 2:8, c] = 250
            b = BytesIO(); Image.fromarray(a).save(b, format='PNG'); frames.append(b.getvalue())
        with open(os.path.join(path, 'v_%02d.pkl' % i), 'wb') as f: pickle.dump(('v_%02d' % i, c, frames), f, protocol=2)
def decode(sample, mode, seg, crop):
    path, label = sample
    with open(path, 'rb') as f: vid, label, frames = pickle.load(f, encoding='bytes')
    step = len(frames) // seg; idx = [k * step + (random.randint(0, step - 1) if mode == 'rand' else 0) for k in range(seg)]
    imgs = [Image.open(BytesIO(frames[k])).convert('RGB').resize((crop + 2, crop + 2), Image.BILINEAR) for k in idx]
    w, h = imgs[0].size; x = (w - crop) // 2
    imgs = [i.crop((x, x, x + crop, x + crop)) for i in imgs]
    if mode == 'flip': imgs = [i.transpose(Image.FLIP_LEFT_RIGHT) for i in imgs]
    a = np.array([np.array(i).transpose((2, 0, 1)) for i in imgs], dtype='float32') / 255
    a -= np.array([.485, .456, .406], 'float32').reshape(1, 3, 1, 1); return a / np.float32(.25), label
def reader(files, mode='center'):
    def r():
        for f in files: yield f, 0
    return paddle.reader.xmap_readers(functools.partial(decode, mode=mode, seg=4, crop=12), r, 3, 8, order=True)

def conv3(x, c, k, s=1, name=None, act='relu'):
    y = fluid.layers.conv3d(x, c, k, s, padding=[(v - 1) // 2 for v in (k if isinstance(k, (list, tuple)) else [k] * 3)], bias_attr=False, param_attr=ParamAttr(name=name + '_w', initializer=fluid.initializer.MSRA(uniform=False)))
    return fluid.layers.batch_norm(y, act=act, param_attr=ParamAttr(name + '_s'), bias_attr=ParamAttr(name + '_b'), moving_mean_name=name + '_m', moving_variance_name=name + '_v', use_global_stats=False)
def nonlocal_block(x, c, name):
    t, p, g = [fluid.layers.conv3d(x, c, 1, name=name + n, bias_attr=False) for n in ('_t', '_p', '_g')]
    t, p, g = [fluid.layers.reshape(v, [0, c, -1]) for v in (t, p, g)]
    a = fluid.layers.softmax(fluid.layers.matmul(t, p, transpose_x=True, alpha=c ** -.5))
    y = fluid.layers.matmul(g, a, transpose_y=True)
    y = fluid.layers.reshape(y, fluid.layers.shape(x)[0:1] if False else [-1, c] + list(x.shape[2:]))
    return x + conv3(y, x.shape[1], 1, name=name + '_o', act=None)
def net(name, x):
    if name == 'tsm':
        n, t, c, h, w = x.shape
        y = fluid.layers.reshape(x, [-1, c, h, w]); y = fluid.layers.conv2d(y, 8, 3, padding=1, stride=2, act='relu')
        y = fluid.layers.temporal_shift(y, seg_num=t, shift_ratio=.25)
        y = fluid.layers.conv2d(y, 8, 3, padding=1, groups=2, act='relu'); y = fluid.layers.pool2d(y, pool_type='avg', global_pooling=True)
        y = fluid.layers.dropout(fluid.layers.reshape(y, [-1, t, 8]), .2, seed=5)
        return fluid.layers.fc(fluid.layers.reduce_mean(y, 1), 3)
    x = fluid.layers.transpose(x, [0, 2, 1, 3, 4])
    slow = conv3(fluid.layers.strided_slice(x, [2], [0], [4], [2]) if hasattr(fluid.layers, 'strided_slice') else x, 8, [1, 3, 3], [1, 2, 2], 'slow')
    fast = conv3(x, 4, [3, 3, 3], [1, 2, 2], 'fast')
    lat = conv3(fast, 4, [3, 1, 1], [2, 1, 1], 'lat')
    y = nonlocal_block(fluid.layers.concat([slow, lat], 1), 6, 'nl')
    y = fluid.layers.pool3d(y, [1, 2, 2], 'max', [1, 2, 2]); f = fluid.layers.pool3d(fast, 3, 'avg', 2, 1, exclusive=False)
    y = fluid.layers.concat([fluid.layers.reduce_mean(fluid.layers.flatten(y, 2), 1) if False else fluid.layers.reshape(fluid.layers.pool3d(y, pool_type="avg", global_pooling=True), [-1, y.shape[1]]), fluid.layers.reduce_mean(fluid.layers.reshape(f, [0, f.shape[1], -1]), 2)], 1)
    return fluid.layers.fc(y, 3, param_attr=ParamAttr(initializer=fluid.initializer.Uniform(-.1, .1)))
def train(name, files, args):
    main, start = fluid.Program(), fluid.Program(); main.random_seed = start.random_seed = 1000
    with fluid.program_guard(main, start), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        img, lab = fluid.layers.data('img', [4, 3, 12, 12]), fluid.layers.data('lab', [1], dtype='int64')
        logit = net(name, img); prob = fluid.layers.softmax(logit)
        loss = fluid.layers.mean(fluid.layers.cross_entropy(prob, fluid.layers.label_smooth(fluid.one_hot(fluid.layers.reshape(lab, [-1]), 3), epsilon=.1), soft_label=True)); a1, a2 = fluid.layers.accuracy(prob, lab, 1), fluid.layers.accuracy(prob, lab, 2)
        test = main.clone(for_test=True)
        fc = [p for p in main.all_parameters() if p.name.startswith('fc')]; rest = [p for p in main.all_parameters() if not p.name.startswith('fc')]
        pg = fluid.backward.append_backward(loss)
        by = {p.name: g for p, g in pg}
        o1 = fluid.optimizer.Momentum(fluid.layers.linear_lr_warmup(fluid.layers.cosine_decay(.02, 4, 8), 6, 0., .02), .9, use_nesterov=True, regularization=fluid.regularizer.L2Decay(1e-4)); o2 = fluid.optimizer.Adam(.01)
        o1.apply_gradients([(p, by[p.name]) for p in rest if p.name in by]); o2.apply_gradients([(p, by[p.name]) for p in fc])
        exe = fluid.Executor(fluid.CPUPlace()); exe.run(start)
        prog = fluid.compiler.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=[fluid.CPUPlace()]) if name == 'tsm' else main
        feeder = fluid.DataFeeder([img, lab], fluid.CPUPlace())
        for ep in range(args.epochs):
            for it, d in enumerate(paddle.batch(reader(files, 'flip' if ep % 2 else 'center'), 3, drop_last=True)()):
                l, a, b = exe.run(prog, feed=feeder.feed(d), fetch_list=[loss.name, a1.name, a2.name])
                print('[TRAIN %s] epoch %d iter %d loss %.6f acc %.3f %.3f' % (name, ep, it, float(l), np.mean(a), np.mean(b)))
            if ep % 3 == 2:
                r = [exe.run(test, feed=feeder.feed(d), fetch_list=[loss, a1]) for d in paddle.batch(reader(files), 4)()]
                print('[TEST] %.5f %.4f' % tuple(np.mean([np.array(v).ravel() for v in r], 0)))
                fluid.io.save_persistables(exe, 'ck/%s_%d' % (name, ep), main)
        from paddle.fluid.io import load_program_state, set_program_state
        st = load_program_state('ck/%s_%d' % (name, 2)); set_program_state(test, {k: v for k, v in st.items() if k in {p.name for p in test.list_vars()}})
        print('restored %.5f' % float(exe.run(test, feed=feeder.feed([decode((f, 0), 'center', 4, 12) for f in files[:5]]), fetch_list=[loss])[0]), len(st))
if __name__ == '__main__':
    p = argparse.ArgumentParser(); p.add_argument('--epochs', type=int, default=7); p.add_argument('--model', action='append'); args = p.parse_args()
    os.makedirs('vids'); make(12, 'vids'); files = sorted(os.path.join('vids', f) for f in os.listdir('vids'))
    for m in args.model or ['tsm', 'slowfast']: train(m, files, args)
