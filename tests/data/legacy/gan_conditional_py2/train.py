# coding=utf8
"""DCGAN / conditional GAN on 8x8 digits, Python 2: old-style classes, exec of a config, nested scopes, division"""
import os, sys, math, random, imp, inspect, pprint, gzip, array, itertools, functools, threading, thread, time, optparse
import numpy, numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid.framework import Parameter, default_main_program
from paddle.fluid.unique_name import guard, generate

CONF = '''
noise = 10
size = 8
ngf = 16 / 3
batch = 7 / 2 + 5
lr = 2e-3
classes = 1 << 2
label_dtype = "int64"
name = "%s-%d" % ("gan", size / 3)
print "config of", name
'''
cfg = imp.new_module('cfg')
exec CONF in cfg.__dict__

class BN:
    count = 0
    def __init__(self, act=None): self.act = act; BN.count += 1
    def __call__(self, x): return fluid.layers.batch_norm(x, act=self.act, momentum=.8, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(1., .02)))

class Base:
    prefix = 'x'
    def build(self): raise NotImplementedError, 'abstract'
    def named(self, n): return fluid.ParamAttr(name='%s_%s' % (self.prefix, n), initializer=fluid.initializer.NormalInitializer(loc=0., scale=0.02 * 5))
class G(Base):
    prefix = 'gen'
    def build(self, z, y):
        y = fluid.layers.one_hot(y, cfg.classes)
        h = fluid.layers.fc(fluid.layers.concat([z, y], 1), cfg.ngf * 2 * cfg.size / 4 * cfg.size / 4, param_attr=self.named('w0'))
        h = fluid.layers.reshape(BN('relu')(h), [-1, cfg.ngf * 2, cfg.size / 4, cfg.size / 4])
        h = fluid.layers.conv2d_transpose(h, cfg.ngf, output_size=[cfg.size / 2] * 2, filter_size=4, stride=2, padding=1, param_attr=self.named('w1'))
        h = BN('leaky_relu' if False else 'relu')(h)
        return fluid.layers.conv2d_transpose(h, 1, filter_size=4, stride=2, padding=1, act='tanh', param_attr=self.named('w2'))
class D(Base):
    prefix = 'dis'
    def build(self, x, y):
        ymap = fluid.layers.expand(fluid.layers.reshape(fluid.layers.cast(fluid.layers.one_hot(y, cfg.classes), 'float32'), [-1, cfg.classes, 1, 1]), [1, 1, cfg.size, cfg.size])
        h = fluid.layers.concat([x, ymap], 1)
        for i, c in enumerate((cfg.ngf, cfg.ngf * 2)):
            h = fluid.layers.leaky_relu(fluid.layers.conv2d(h, c, 3, 2, 1, param_attr=self.named('c%d' % i)), .2)
        return fluid.layers.fc(fluid.layers.dropout(h, .3, seed=4, dropout_implementation='upscale_in_train'), 1, param_attr=self.named('fc'))

def params(prog, prefix):
    return [p.name for p in filter(lambda v: isinstance(v, Parameter), prog.global_block().vars.values()) if p.name[:3] == prefix]

def loss(x, one):
    shape = [-1, 1]
    t = fluid.layers.fill_constant_batch_size_like(x, shape, 'float32', (0, .9)[one])
    return fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(x, t))

def digits(n):
    r = numpy.random.RandomState(2)
    for i in xrange(n):
        y = r.randint(cfg.classes)
        img = numpy.zeros((cfg.size, cfg.size), 'f'); img[y * 2:y * 2 + 2] = 1; img += r.rand(cfg.size, cfg.size) / 4
        yield (img * 2 - 1).reshape(1, cfg.size, cfg.size).astype('float32').clip(-1, 1), y

class Meter:
    def __init__(self): self.__total = self.__n = 0
    def add(self, v): self.__total += v; self.__n += 1; return self
    __iadd__ = add
    def __nonzero__(self): return self.__n > 0
    def __float__(self): return self.__total / self.__n
    def __div__(self, k): return float(self) / k
    def __str__(self): return '%.5f' % float(self)

def main():
    pprint.pprint(dict([(k, v) for k, v in vars(cfg).items() if k[0] != '_']))
    z, y, img = fluid.layers.data('z', [cfg.noise]), fluid.layers.data('y', [1], dtype=cfg.label_dtype), fluid.layers.data('img', [1, cfg.size, cfg.size])
    g, d = G(), D()
    try: Base().build()
    except NotImplementedError, e: print 'E:', e
    fake_prog, d_prog = fluid.default_main_program().clone(), fluid.default_main_program().clone()
    start = fluid.default_startup_program(); start.random_seed = 12
    with fluid.program_guard(d_prog, start):
        d_loss = loss(d.build(img, y), True) / 2 + loss(d.build(d_prog.global_block().create_var(name='fake', shape=[-1, 1, cfg.size, cfg.size], dtype='float32', is_data=True), y), False) / 2
        fluid.optimizer.Adam(cfg.lr, beta1=.5, name='netD').minimize(d_loss, parameter_list=params(d_prog, 'dis'))
    with fluid.program_guard(fake_prog, start):
        out = g.build(z, y)
        infer = fake_prog.clone()
        g_loss = loss(d.build(out, y), True)
        fluid.optimizer.Adam(cfg.lr, beta1=.5, name='netG').minimize(g_loss, parameter_list=params(fake_prog, 'gen'))
    print ' '.join(params(d_prog, 'dis')), ' '.join(sorted(params(fake_prog, 'gen'))), BN.count, len(fake_prog.blocks[0].ops), inspect.getargspec(loss)
    exe = fluid.Executor(fluid.CPUPlace()); exe.run(start)
    r = random.Random(77); np.random.seed(4)
    meters = {'d': Meter(), 'g': Meter()}
    it = 0
    for ep in range(10):
        for batch in paddle.batch(digits(40).__iter__ and (lambda: digits(40)), cfg.batch)():
            x, lab = map(np.array, zip(*batch)); lab = lab.reshape(-1, 1)
            noise = np.array([[r.gauss(0, 1) for _ in range(cfg.noise)] for _ in lab], 'float32')
            fake = exe.run(infer, feed=dict(z=noise, y=lab), fetch_list=[out.name])[0]
            dl = exe.run(d_prog, feed={'img': x, 'y': lab, 'fake': fake}, fetch_list=[d_loss])[0]
            for _ in range(1 + (it % 4 == 0)): gl = exe.run(fake_prog, feed={'z': noise, 'y': lab}, fetch_list=[g_loss])[0]
            meters['d'] += float(dl); meters['g'].add(gl[0]); it += 1
            print 'it %d d %.6f g %.6f' % (it, dl, gl)
        print ep, ' '.join(['%s:%s' % kv for kv in sorted(meters.iteritems())]), '%.5f' % (meters['d'] / 2), bool(meters['g']), `np.round(fake.mean(), 4)`
    fluid.io.save_params(exe, 'gen', vars=None, main_program=infer) if False else fluid.io.save_vars(exe, 'gen', fake_prog, predicate=lambda v: v.persistable and v.name.startswith('gen'))
    print sorted(os.listdir('gen')), sum([os.path.getsize('gen/' + f) for f in os.listdir('gen')]) / 1024
    px = array.array('B', map(lambda v: int((v + 1) * 127.5), fake[0].ravel().tolist()))
    f = gzip.GzipFile('img.gz', 'wb'); f.write('P5 8 8 255\n' + px.tostring()); f.close()
    s = gzip.open('img.gz').read(); print len(s), s[:2], [ord(c) for c in s[-4:]], sum(px) / len(px)
main()
