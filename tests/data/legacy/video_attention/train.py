import os, sys, time, logging, argparse, ast, random, functools, pickle
try:
    from configparser import ConfigParser
except ImportError:
    from ConfigParser import ConfigParser
import numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid import ParamAttr
logging.root.handlers = []
logging.basicConfig(level=logging.INFO, format='[%(levelname)s: %(filename)s] %(message)s', stream=sys.stdout)
logger = logging.getLogger(__name__)

CFG = """[MODEL]
name = "TSM"
seg_num = 4
num_classes = 5
seglen = 1
use_gpu = False
[TRAIN]
batch_size = 2
learning_rate = 0.02
decay_epochs = [1, 2]
l2_weight_decay = 1e-4
epoch = 3
"""


class AttrDict(dict):
    def __getattr__(self, key):
        return self[key]
    def __setattr__(self, key, value):
        if key in self.__dict__:
            self.__dict__[key] = value
        else:
            self[key] = value


def parse_config(cfg_file):
    parser = ConfigParser()
    cfg = AttrDict()
    parser.read(cfg_file)
    for sec in parser.sections():
        sec_dict = AttrDict()
        for k, v in parser.items(sec):
            try:
                v = ast.literal_eval(v)
            except:
                pass
            setattr(sec_dict, k, v)
        setattr(cfg, sec.upper(), sec_dict)
    return cfg


def shift(x, seg):
    return fluid.layers.temporal_shift(x, seg, 1.0 / 8)


def conv_bn(x, ch, k, stride=1, act=None, name=None):
    c = fluid.layers.conv2d(x, ch, k, stride, (k - 1) // 2, act=None, param_attr=ParamAttr(name=name + "_weights"), bias_attr=False)
    return fluid.layers.batch_norm(c, act=act, param_attr=ParamAttr(name=name + '_bn_scale'), bias_attr=ParamAttr(name + '_bn_offset'), moving_mean_name=name + "_bn_mean", moving_variance_name=name + '_bn_variance')


def nonlocal_block(x, dim, name):
    theta = fluid.layers.conv2d(x, dim, 1, param_attr=ParamAttr(name=name + '_theta', initializer=fluid.initializer.Normal(0.0, 0.01)), bias_attr=False)
    phi = fluid.layers.pool2d(x, 2, 'max', 2)
    g = fluid.layers.conv2d(phi, dim, 1, param_attr=ParamAttr(name=name + '_g'), bias_attr=False)
    phi = fluid.layers.conv2d(phi, dim, 1, param_attr=ParamAttr(name=name + '_phi'), bias_attr=False)
    shp = fluid.layers.shape(theta)
    theta_r = fluid.layers.reshape(theta, shape=[0, 0, -1])
    theta_r = fluid.layers.transpose(theta_r, [0, 2, 1])
    phi_r, g_r = fluid.layers.reshape(phi, [0, 0, -1]), fluid.layers.reshape(g, [0, 0, -1])
    p = fluid.layers.matmul(theta_r, phi_r) * (dim ** -.5)
    p = fluid.layers.softmax(p)
    t = fluid.layers.matmul(p, fluid.layers.transpose(g_r, [0, 2, 1]))
    t = fluid.layers.transpose(t, [0, 2, 1])
    t = fluid.layers.reshape(t, shape=[0, 0, -1, 1], actual_shape=None)
    t = fluid.layers.reshape(x=t, shape=list(theta.shape), actual_shape=shp)
    out = fluid.layers.conv2d(t, x.shape[1], 1, param_attr=ParamAttr(name=name + '_out'), bias_attr=False)
    return fluid.layers.affine_channel(out, scale=fluid.layers.create_parameter([x.shape[1]], 'float32', attr=ParamAttr(name=name + '_s'), default_initializer=fluid.initializer.Constant(0.5)), bias=fluid.layers.create_parameter([x.shape[1]], 'float32', attr=ParamAttr(name=name + '_b'), default_initializer=fluid.initializer.Constant(0.0))) + x


class TSM(object):
    def __init__(self, name, cfg, mode='train'):
        self.cfg, self.mode = cfg, mode
    def build_input(self, use_pyreader=True):
        m = self.cfg.MODEL
        image = fluid.layers.data(name='image', shape=[m.seg_num, 3 * m.seglen, 16, 16], dtype='float32')
        label = fluid.layers.data(name='label', shape=[1], dtype='int64')
        self.feature_input, self.label_input = [image], label
        self.py_reader = fluid.io.PyReader(feed_list=[image, label], capacity=4, iterable=True) if use_pyreader else None
    def build_model(self):
        m = self.cfg.MODEL
        x = fluid.layers.reshape(self.feature_input[0], shape=[-1, 3, 16, 16], inplace=True)
        x = conv_bn(x, 8, 3, 2, 'relu', 'conv1')
        x = shift(x, m.seg_num)
        x = conv_bn(x, 8, 3, 1, 'relu', 'conv2')
        x = nonlocal_block(x, 4, 'nl')
        x = fluid.layers.pool2d(x, pool_type='avg', global_pooling=True)
        x = fluid.layers.dropout(x, 0.5, is_test=self.mode != 'train')
        feature = fluid.layers.reshape(x, shape=[-1, m.seg_num, x.shape[1]])
        out = fluid.layers.reduce_mean(feature, dim=1)
        stdv = 0.01
        self.out = fluid.layers.fc(out, m.num_classes, act='softmax', param_attr=ParamAttr(initializer=fluid.initializer.Uniform(-stdv, stdv)), bias_attr=ParamAttr(learning_rate=2.0, regularizer=fluid.regularizer.L2Decay(0.)))
        cost = fluid.layers.cross_entropy(self.out, self.label_input, ignore_index=-1)
        self.loss_ = fluid.layers.mean(cost)
    def optimizer(self):
        t = self.cfg.TRAIN
        bd = [4 * e for e in t.decay_epochs]
        lr = [t.learning_rate * 0.1 ** i for i in range(len(bd) + 1)]
        return fluid.optimizer.Momentum(learning_rate=fluid.layers.piecewise_decay(boundaries=bd, values=lr), momentum=0.9, regularization=fluid.regularizer.L2Decay(t.l2_weight_decay))


def make_reader(cfg, mode):
    def r():
        rng = np.random.RandomState(3 if mode == 'train' else 4)
        out = []
        for i in range(9):
            out.append((rng.rand(cfg.MODEL.seg_num, 3, 16, 16).astype('float32'), int(rng.randint(5))))
            if len(out) == cfg.TRAIN.batch_size:
                yield out
                out = []
        if len(out) > 1:
            yield out
    return r


class Metrics(object):
    def __init__(self):
        self.reset()
    def reset(self):
        self.acc1, self.n, self.loss = 0., 0, 0.
    def accumulate(self, loss, pred, label):
        top = np.argsort(pred, axis=1)[:, ::-1][:, 0]
        self.acc1 += np.sum(top == label.reshape(-1)); self.n += len(label); self.loss += np.sum(loss) * len(label)
    def finalize(self):
        return self.loss / self.n, self.acc1 / float(self.n)


def main():
    with open('cfg.txt', 'w') as f:
        f.write(CFG)
    cfg = parse_config('cfg.txt')
    train_prog, startup, test_prog = fluid.Program(), fluid.Program(), fluid.Program()
    train_prog.random_seed = startup.random_seed = 11
    with fluid.program_guard(train_prog, startup):
        with fluid.unique_name.guard():
            model = TSM('TSM', cfg)
            model.build_input()
            model.build_model()
            model.optimizer().minimize(model.loss_)
    with fluid.program_guard(test_prog, startup):
        with fluid.unique_name.guard():
            vm = TSM('TSM', cfg, 'valid')
            vm.build_input()
            vm.build_model()
    test_prog = test_prog.clone(for_test=True)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup)
    for p in train_prog.global_block().all_parameters()[:3]:
        logger.info('%s %s' % (p.name, p.shape))
    bs = fluid.BuildStrategy(); bs.enable_inplace = True
    ct = fluid.compiler.CompiledProgram(train_prog).with_data_parallel(loss_name=model.loss_.name, build_strategy=bs, exec_strategy=fluid.ExecutionStrategy())
    cv = fluid.compiler.CompiledProgram(test_prog).with_data_parallel(share_vars_from=ct, build_strategy=bs)
    model.py_reader.decorate_sample_list_generator(make_reader(cfg, 'train'), places=[place])
    vm.py_reader.decorate_sample_list_generator(make_reader(cfg, 'valid'), places=[place])
    m = Metrics()
    for epoch in range(cfg.TRAIN.epoch):
        for it, data in enumerate(model.py_reader()):
            l, o, y = exe.run(ct, fetch_list=[model.loss_, model.out, model.label_input], feed=data)
            logger.info('[TRAIN] Epoch %d, iter %d loss %.5f acc %.3f' % (epoch, it, np.mean(l), np.mean(np.argmax(o, 1) == np.array(y).reshape(-1))))
        m.reset()
        for data in vm.py_reader():
            l, o, y = exe.run(cv, fetch_list=[vm.loss_.name, vm.out.name, 'label'], feed=data)
            m.accumulate(l, o, np.array(y))
        logger.info('[TEST] loss %.5f acc %.4f' % m.finalize())
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        pass
    fluid.io.save_inference_model('infer', ['image'], [vm.out], exe, main_program=test_prog, params_filename='p')


if __name__ == '__main__':
    main()
