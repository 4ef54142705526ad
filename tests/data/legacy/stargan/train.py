from __future__ import print_function
import argparse
import numpy as np
import paddle.fluid as fluid

parser = argparse.ArgumentParser()
parser.add_argument('--steps', type=int, default=14)
args = parser.parse_args()


def conv2d(input, nf, k=3, s=1, p=1, name='c', norm=None, act=None, relufactor=0.0, use_bias=False, stddev=0.02, init='normal'):
    param_attr = fluid.ParamAttr(name=name + "_w", initializer=fluid.initializer.NormalInitializer(loc=0.0, scale=stddev) if init == 'normal' else fluid.initializer.UniformInitializer(low=-stddev, high=stddev))
    bias_attr = fluid.ParamAttr(name=name + "_b", initializer=fluid.initializer.Constant(0.0)) if use_bias else False
    c = fluid.layers.conv2d(input, nf, k, name=name, stride=s, padding=p, use_cudnn=False, param_attr=param_attr, bias_attr=bias_attr)
    if norm == 'instance_norm':
        c = fluid.layers.instance_norm(input=c, param_attr=fluid.ParamAttr(name=name + "_norm_w", initializer=fluid.initializer.Constant(1.0), trainable=False), bias_attr=fluid.ParamAttr(name=name + "_norm_b", trainable=False))
    elif norm == 'batch_norm':
        c = fluid.layers.batch_norm(c, is_test=False, use_global_stats=False, param_attr=fluid.ParamAttr(name=name + '_bn_w', initializer=fluid.initializer.NormalInitializer(loc=1.0, scale=0.02)), bias_attr=fluid.ParamAttr(name=name + '_bn_b'), moving_mean_name=name + '_mean', moving_variance_name=name + '_var')
    if act == 'relu':
        c = fluid.layers.relu(c, name=name + '_relu')
    elif act == 'leaky_relu':
        c = fluid.layers.leaky_relu(c, alpha=relufactor, name=name + '_leaky_relu')
    elif act == 'tanh':
        c = fluid.layers.tanh(c, name=name + '_tanh')
    return c


def train_stargan():
    start = fluid.default_startup_program()
    start.random_seed = 5
    def gen(x, c):
        c = fluid.layers.expand(fluid.layers.unsqueeze(c, [2, 3]), [1, 1, 16, 16])
        h = fluid.layers.concat([x, c], 1)
        h = conv2d(h, 8, 7, 1, 3, 'g_1', 'instance_norm', 'relu', init='uniform', stddev=.1)
        h = h + conv2d(h, 8, 3, 1, 1, 'g_2', 'instance_norm', init='uniform', stddev=.1)
        return conv2d(h, 3, 7, 1, 3, 'g_3', None, 'tanh', init='uniform', stddev=.1)
    def dis(x):
        h = conv2d(x, 8, 4, 2, 1, 'd_1', None, 'leaky_relu', .01, True, init='uniform', stddev=.1)
        h = conv2d(h, 16, 4, 2, 1, 'd_2', None, 'leaky_relu', .01, True, init='uniform', stddev=.1)
        return conv2d(h, 1, 3, 1, 1, 'd_src'), fluid.layers.reshape(conv2d(h, 3, 4, 1, 0, 'd_cls'), [-1, 3])
    gp, dp = fluid.Program(), fluid.Program()
    gp.random_seed = dp.random_seed = 5
    with fluid.program_guard(gp, start):
        x = fluid.data('img', [None, 3, 16, 16]); co = fluid.data('org', [None, 3]); ct = fluid.data('trg', [None, 3])
        fk = gen(x, ct)
        rec = gen(fk, co)
        rl = fluid.layers.reduce_mean(fluid.layers.abs(rec - x))
        src, cls = dis(fk)
        gf = -1 * fluid.layers.reduce_mean(src)
        gc = fluid.layers.reduce_sum(fluid.layers.sigmoid_cross_entropy_with_logits(cls, ct)) / ct.shape[1]
        gl = gf + 10 * rl + gc
        fluid.optimizer.Adam(1e-3, beta1=.5, name='net_G').minimize(gl, parameter_list=[p.name for p in gp.all_parameters() if p.name.startswith('g_')])
    with fluid.program_guard(dp, start):
        x = fluid.data('img', [None, 3, 16, 16]); co = fluid.data('org', [None, 3]); f = fluid.data('fake', [None, 3, 16, 16])
        s1, c1 = dis(x)
        s2, _ = dis(f)
        beta = fluid.layers.uniform_random_batch_size_like(input=x, shape=[x.shape[0]], min=0.0, max=1.0, seed=7)
        inter = fluid.layers.elementwise_mul(f - x, beta, axis=0) + x
        pred, _ = dis(inter)
        grad = fluid.gradients([pred], inter)[0]
        grad = fluid.layers.reshape(grad, [-1, 3 * 16 * 16])
        epsilon = 1e-16
        norm = fluid.layers.sqrt(fluid.layers.reduce_sum(fluid.layers.square(grad), dim=1) + epsilon)
        gpn = fluid.layers.reduce_mean(fluid.layers.square(norm - 1.0))
        dl = -fluid.layers.reduce_mean(s1) + fluid.layers.reduce_mean(s2) + 10. * gpn + fluid.layers.reduce_sum(fluid.layers.sigmoid_cross_entropy_with_logits(c1, co)) / 3
        fluid.optimizer.Adam(1e-3, beta1=.5, name='net_D').minimize(dl, parameter_list=[p.name for p in dp.all_parameters() if p.name.startswith('d_')])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(start)
    rng = np.random.RandomState(0)
    for i in range(args.steps):
        x = rng.rand(4, 3, 16, 16).astype('float32'); o = np.eye(3)[rng.randint(0, 3, 4)].astype('float32'); t = o[::-1].copy()
        r = exe.run(gp, feed={'img': x, 'org': o, 'trg': t}, fetch_list=[gl, rl, fk])
        d = exe.run(dp, feed={'img': x, 'org': o, 'fake': r[2]}, fetch_list=[dl, gpn])
        print('%d g %.5f rec %.5f d %.5f gp %.5f' % (i, r[0], r[1], d[0], d[1]))


if __name__ == '__main__':
    train_stargan()
