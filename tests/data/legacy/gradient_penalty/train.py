from __future__ import division, print_function
import numpy as np, paddle, paddle.fluid as fluid, os, six, sys, copy, functools
from paddle.fluid.framework import Parameter
from paddle.fluid import unique_name


def norm_layer(input, norm_type='batch_norm', name=None, is_test=False):
    if norm_type == 'batch_norm':
        param_attr = fluid.ParamAttr(name=name + '_w', initializer=fluid.initializer.Constant(1.0))
        bias_attr = fluid.ParamAttr(name=name + '_b', initializer=fluid.initializer.Constant(value=0.0))
        return fluid.layers.batch_norm(input, param_attr=param_attr, bias_attr=bias_attr, is_test=is_test, moving_mean_name=name + '_mean', moving_variance_name=name + '_var')
    elif norm_type == 'instance_norm':
        return fluid.layers.instance_norm(input, param_attr=fluid.ParamAttr(name=name + '_scale'), bias_attr=fluid.ParamAttr(name=name + '_offset'))
    raise NotImplementedError("norm type: [%s] is not support" % norm_type)


def initial_type(name, input, op_type, fan_out, init="normal", use_bias=False, filter_size=0, stddev=0.02):
    if init == "kaiming":
        if op_type == 'conv':
            fan_in = input.shape[1] * filter_size * filter_size
        elif op_type == 'deconv':
            fan_in = fan_out * filter_size * filter_size
        else:
            fan_in = input.shape[1] if len(input.shape) == 2 else int(np.prod(input.shape[1:]))
        bound = 1 / np.sqrt(fan_in)
        param_attr = fluid.ParamAttr(name=name + "_w", initializer=fluid.initializer.Uniform(low=-bound, high=bound))
        bias_attr = fluid.ParamAttr(name=name + '_b', initializer=fluid.initializer.Uniform(low=-bound, high=bound)) if use_bias else False
    else:
        param_attr = fluid.ParamAttr(name=name + "_w", initializer=fluid.initializer.NormalInitializer(loc=0.0, scale=stddev))
        bias_attr = fluid.ParamAttr(name=name + "_b", initializer=fluid.initializer.Constant(0.0)) if use_bias else False
    return param_attr, bias_attr


def conv2d(input, num_filters=64, filter_size=7, stride=1, stddev=0.02, padding=0, name="conv2d", norm=None, activation_fn=None, relufactor=0.0, use_bias=False, initial="kaiming"):
    param_attr, bias_attr = initial_type(name, input, 'conv', num_filters, initial, use_bias, filter_size, stddev)
    conv = fluid.layers.conv2d(input, num_filters, filter_size, name=name, stride=stride, padding=padding, param_attr=param_attr, bias_attr=bias_attr)
    if norm is not None:
        conv = norm_layer(conv, norm, name + "_norm")
    if activation_fn == 'relu':
        conv = fluid.layers.relu(conv, name=name + '_relu')
    elif activation_fn == 'leaky_relu':
        conv = fluid.layers.leaky_relu(conv, alpha=relufactor, name=name + '_leaky_relu')
    elif activation_fn == 'tanh':
        conv = fluid.layers.tanh(conv, name=name + '_tanh')
    elif activation_fn is None:
        conv = conv
    return conv


def generator(img, lab, name='g'):
    shape = img.shape
    lab_expand = fluid.layers.reshape(lab, [-1, lab.shape[1], 1, 1])
    lab_expand = fluid.layers.expand(x=lab_expand, expand_times=[1, 1, shape[2], shape[3]])
    x = fluid.layers.concat([img, lab_expand], 1)
    x = conv2d(x, 8, 7, 1, padding=3, name=name + '0', norm='instance_norm', activation_fn='relu')
    x = conv2d(x, 16, 4, 2, padding=1, name=name + '1', norm='instance_norm', activation_fn='relu')
    r = conv2d(x, 16, 3, 1, padding=1, name=name + '2', norm='instance_norm')
    x = x + r
    p, b = initial_type(name + '3', x, 'deconv', 8, 'kaiming', False, 4)
    x = fluid.layers.conv2d_transpose(x, 8, output_size=[16, 16], filter_size=4, stride=2, padding=1, param_attr=p, bias_attr=b)
    x = fluid.layers.relu(norm_layer(x, 'instance_norm', name + '3n'))
    return conv2d(x, 3, 7, 1, padding=3, name=name + '4', activation_fn='tanh')


def discriminator(img, name='d'):
    x = conv2d(img, 8, 4, 2, padding=1, activation_fn='leaky_relu', relufactor=0.01, use_bias=True, name=name + '0')
    x = conv2d(x, 16, 4, 2, padding=1, activation_fn='leaky_relu', relufactor=0.01, use_bias=True, name=name + '1')
    out1 = conv2d(x, 1, 3, 1, padding=1, name=name + '_src')
    out2 = conv2d(x, 4, 4, 1, name=name + '_cls')
    return out1, fluid.layers.squeeze(out2, axes=[2, 3])


def gradient_penalty(f, real, fake=None, cfg=None, name=None):
    def _interpolate(a, b=None):
        shape = [a.shape[0]]
        alpha = fluid.layers.uniform_random_batch_size_like(input=a, shape=shape, min=0.0, max=1.0, seed=17)
        inner = fluid.layers.elementwise_sub(b, a, axis=0)
        inner = fluid.layers.elementwise_mul(inner, alpha, axis=0)
        inner = fluid.layers.elementwise_add(a, inner, axis=0)
        return inner
    x = _interpolate(real, fake)
    pred, _ = f(x, name=name)
    if isinstance(pred, tuple):
        pred = pred[0]
    vars = []
    for var in fluid.default_main_program().list_vars():
        if fluid.io.is_parameter(var) and var.name.startswith('d'):
            vars.append(var.name)
    grad = fluid.gradients(pred, x, no_grad_set=set(vars))[0]
    grad_shape = grad.shape
    grad = fluid.layers.reshape(grad, [-1, grad_shape[1] * grad_shape[2] * grad_shape[3]])
    epsilon = 1e-16
    norm = fluid.layers.sqrt(fluid.layers.reduce_sum(fluid.layers.square(grad), dim=1) + epsilon)
    gp = fluid.layers.reduce_mean(fluid.layers.square(norm - 1.0))
    return gp


class DTrainer():
    def __init__(self, real, label_org, label_trg):
        self.program = fluid.default_main_program().clone()
        with fluid.program_guard(self.program):
            fake = generator(real, label_trg)
            src, cls = discriminator(real)
            fsrc, _ = discriminator(fake)
            self.d_loss_cls = fluid.layers.sigmoid_cross_entropy_with_logits(cls, label_org)
            self.d_loss_cls = fluid.layers.reduce_sum(self.d_loss_cls) / 4
            self.d_loss_real = -fluid.layers.reduce_mean(src)
            self.d_loss_fake = fluid.layers.reduce_mean(fsrc)
            self.gp = gradient_penalty(discriminator, real, fake, name='d')
            self.d_loss = self.d_loss_real + self.d_loss_fake + 10.0 * self.gp + self.d_loss_cls
            vars = [v.name for v in self.program.list_vars() if fluid.io.is_parameter(v) and v.name.startswith('d')]
            self.d_loss.persistable = True
            self.gp.persistable = True
            optimizer = fluid.optimizer.Adam(learning_rate=fluid.layers.piecewise_decay(boundaries=[99999], values=[1e-3, 5e-4]), beta1=0.5, beta2=0.999, name="net_D")
            optimizer.minimize(self.d_loss, parameter_list=vars)


class GTrainer():
    def __init__(self, real, label_org, label_trg):
        self.program = fluid.default_main_program().clone()
        with fluid.program_guard(self.program):
            self.fake = generator(real, label_trg)
            self.rec = generator(self.fake, label_org)
            self.g_loss_rec = fluid.layers.reduce_mean(fluid.layers.abs(fluid.layers.elementwise_sub(x=real, y=self.rec)))
            src, cls = discriminator(self.fake)
            self.g_loss_fake = -fluid.layers.reduce_mean(src)
            self.g_loss_cls = fluid.layers.reduce_sum(fluid.layers.sigmoid_cross_entropy_with_logits(cls, label_trg)) / 4
            self.g_loss = self.g_loss_fake + 10 * self.g_loss_rec + self.g_loss_cls
            vars = [v.name for v in self.program.list_vars() if fluid.io.is_parameter(v) and v.name.startswith('g')]
            self.param = vars
            fluid.optimizer.Adam(learning_rate=1e-3, beta1=0.5, name='net_G').minimize(self.g_loss, parameter_list=vars)


def main():
    fluid.default_startup_program().random_seed = 1000
    fluid.default_main_program().random_seed = 1000
    img = fluid.data(name='image_real', shape=[None, 3, 16, 16], dtype='float32')
    org = fluid.data(name='label_org', shape=[None, 4], dtype='float32')
    trg = fluid.data(name='label_trg', shape=[None, 4], dtype='float32')
    loader = fluid.io.DataLoader.from_generator(feed_list=[img, org, trg], capacity=4, iterable=True, use_double_buffer=True)
    g, d = GTrainer(img, org, trg), DTrainer(img, org, trg)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    def gen():
        rng = np.random.RandomState(0)
        for _ in range(20):
            o = (rng.rand(3, 4) > .5).astype('float32')
            t = o[rng.permutation(3)]
            yield (rng.rand(3, 3, 16, 16) * 2 - 1).astype('float32'), o, t
    loader.set_batch_generator(gen, places=place)
    exe.run(fluid.default_startup_program())
    for i, data in enumerate(loader()):
        dl, gp, r, f = exe.run(d.program, fetch_list=[d.d_loss, d.gp, d.d_loss_real, d.d_loss_fake], feed=data)
        line = 'batch %d d_loss %.5f gp %.5f real %.5f fake %.5f' % (i, dl, gp, r, f)
        if (i + 1) % 4 == 0:
            gl, fake, rec = exe.run(g.program, fetch_list=[g.g_loss.name, g.g_loss_fake, g.g_loss_rec], feed=data)
            line += ' g_loss %.5f %.5f %.5f' % (gl[0], fake[0], rec[0])
        print(line)
    fluid.save(g.program, 'ck/g'); fluid.save(d.program, 'ck/d')
    fluid.load(g.program, 'ck/g', exe)
    print(sorted(os.listdir('ck')))


main()
