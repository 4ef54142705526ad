import paddle.fluid as fluid
from paddle.fluid import ParamAttr
import math


class TSN_ResNet(object):
    def __init__(self, layers=50, seg_num=3, is_training=True):
        self.layers = layers
        self.seg_num = seg_num
        self.is_training = is_training

    def conv_bn_layer(self, input, num_filters, filter_size, stride=1, groups=1, act=None, name=None):
        conv = fluid.layers.conv2d(input=input, num_filters=num_filters, filter_size=filter_size, stride=stride,
                                   padding=(filter_size - 1) // 2, groups=groups, act=None,
                                   param_attr=fluid.param_attr.ParamAttr(name=name + "_weights"), bias_attr=False)
        bn_name = "bn_" + name
        return fluid.layers.batch_norm(input=conv, act=act, is_test=(not self.is_training),
                                       param_attr=ParamAttr(name=bn_name + "_scale"),
                                       bias_attr=ParamAttr(bn_name + '_offset'),
                                       moving_mean_name=bn_name + "_mean",
                                       moving_variance_name=bn_name + '_variance')

    def bottleneck_block(self, input, num_filters, stride, name):
        conv0 = self.conv_bn_layer(input, num_filters, 1, act='relu', name=name + "_branch2a")
        conv1 = self.conv_bn_layer(conv0, num_filters, 3, stride, act='relu', name=name + "_branch2b")
        conv2 = self.conv_bn_layer(conv1, num_filters * 2, 1, act=None, name=name + "_branch2c")
        short = self.conv_bn_layer(input, num_filters * 2, 1, stride, name=name + "_branch1")
        return fluid.layers.elementwise_add(x=short, y=conv2, act='relu')

    def net(self, input, class_dim=101):
        channels = input.shape[2]
        short_size = input.shape[3]
        input = fluid.layers.reshape(x=input, shape=[-1, channels, short_size, short_size])
        conv = self.conv_bn_layer(input=input, num_filters=8, filter_size=7, stride=2, act='relu', name='conv1')
        conv = fluid.layers.pool2d(input=conv, pool_size=3, pool_stride=2, pool_padding=1, pool_type='max')
        for i, nf in enumerate([8, 16]):
            conv = self.bottleneck_block(conv, nf, 1 + i, "res%da" % (i + 2))
        pool = fluid.layers.pool2d(input=conv, pool_size=7, pool_type='avg', global_pooling=True)
        feature = fluid.layers.reshape(x=pool, shape=[-1, self.seg_num, pool.shape[1]])
        out = fluid.layers.reduce_mean(feature, dim=1)
        stdv = 1.0 / math.sqrt(pool.shape[1] * 1.0)
        return fluid.layers.fc(input=out, size=class_dim, act='softmax',
                               param_attr=fluid.param_attr.ParamAttr(
                                   initializer=fluid.initializer.Uniform(-stdv, stdv)),
                               bias_attr=fluid.param_attr.ParamAttr(learning_rate=2.0,
                                                                    regularizer=fluid.regularizer.L2DecayRegularizer(0.)))


class TSN(object):
    def __init__(self, name, cfg, mode='train'):
        self.name, self.cfg, self.mode = name, cfg, mode
        self.seg_num = cfg.MODEL.seg_num
        self.num_classes = cfg.MODEL.num_classes
        self.target_size = cfg.TRAIN.target_size

    def build_input(self, use_pyreader=True):
        image_shape = [self.seg_num, 3, self.target_size, self.target_size]
        image = fluid.layers.data(name='image', shape=image_shape, dtype='float32')
        label = fluid.layers.data(name='label', shape=[1], dtype='int64')
        self.py_reader = fluid.io.PyReader(feed_list=[image, label], capacity=4, iterable=True)
        self.feature_input, self.label_input = [image], label

    def build_model(self):
        videomodel = TSN_ResNet(layers=50, seg_num=self.seg_num, is_training=self.mode == 'train')
        self.network_outputs = [videomodel.net(self.feature_input[0], class_dim=self.num_classes)]

    def optimizer(self):
        total_videos = self.cfg.TRAIN.total_videos
        step = int(total_videos / self.cfg.TRAIN.batch_size + 1)
        bd = [e * step for e in [2, 4]]
        base_lr = self.cfg.TRAIN.learning_rate
        lr_decay = self.cfg.TRAIN.learning_rate_decay
        lr = [base_lr, base_lr * lr_decay, base_lr * lr_decay * lr_decay]
        return fluid.optimizer.Momentum(
            learning_rate=fluid.layers.piecewise_decay(boundaries=bd, values=lr), momentum=self.cfg.TRAIN.momentum,
            regularization=fluid.regularizer.L2Decay(self.cfg.TRAIN.l2_weight_decay))

    def loss(self):
        cost = fluid.layers.cross_entropy(input=self.network_outputs[0], label=self.label_input,
                                          ignore_index=-1)
        self.loss_ = fluid.layers.mean(x=cost)
        return self.loss_

    def fetches(self):
        losses = self.loss()
        fetch_list = [losses, self.network_outputs[0], self.label_input]
        fetch_list += [fluid.layers.accuracy(input=self.network_outputs[0], label=self.label_input, k=k)
                       for k in (1, 3)]
        return fetch_list
