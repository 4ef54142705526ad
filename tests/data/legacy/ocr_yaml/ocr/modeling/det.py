from __future__ import absolute_import, division, print_function
from copy import deepcopy
from collections import OrderedDict
import math
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr
from ..utility import create_module


class MobileNetV3(object):
    def __init__(self, params):
        self.scale = params['scale']

    def conv_bn_layer(self, input, filter_size, num_filters, stride, padding, num_groups=1, if_act=True, act=None, name=None):
        conv = fluid.layers.conv2d(input=input, num_filters=num_filters, filter_size=filter_size, stride=stride, padding=padding, groups=num_groups, act=None, param_attr=ParamAttr(name=name + '_weights'), bias_attr=False)
        bn = fluid.layers.batch_norm(input=conv, param_attr=ParamAttr(name=name + "_bn_scale", regularizer=fluid.regularizer.L2DecayRegularizer(regularization_coeff=0.0)), bias_attr=ParamAttr(name=name + "_bn_offset", regularizer=fluid.regularizer.L2DecayRegularizer(regularization_coeff=0.0)), moving_mean_name=name + '_bn_mean', moving_variance_name=name + '_bn_variance')
        if if_act:
            bn = fluid.layers.relu6(bn) if act == 'relu' else fluid.layers.hard_swish(bn)
        return bn

    def se_block(self, input, num_out_filter, ratio=4, name=None):
        pool = fluid.layers.pool2d(input=input, pool_type='avg', global_pooling=True, use_cudnn=False)
        conv1 = fluid.layers.conv2d(input=pool, filter_size=1, num_filters=int(num_out_filter / ratio), act='relu', param_attr=ParamAttr(name=name + '_1_weights'), bias_attr=ParamAttr(name=name + '_1_offset'))
        conv2 = fluid.layers.conv2d(input=conv1, filter_size=1, num_filters=num_out_filter, act='hard_sigmoid', param_attr=ParamAttr(name=name + '_2_weights'), bias_attr=ParamAttr(name=name + '_2_offset'))
        return fluid.layers.elementwise_mul(x=input, y=conv2, axis=0)

    def __call__(self, input):
        x = self.conv_bn_layer(input, 3, 8, 2, 1, act='hard_swish', name='conv1')
        outs = []
        for i, (n, s, se) in enumerate([(8, 2, True), (12, 2, False), (16, 2, True)]):
            y = self.conv_bn_layer(x, 1, int(n * 2 * self.scale), 1, 0, act='relu', name='conv%d_expand' % (i + 2))
            y = self.conv_bn_layer(y, 3, int(n * 2 * self.scale), s, 1, num_groups=int(n * 2 * self.scale), act='relu', name='conv%d_depthwise' % (i + 2))
            if se:
                y = self.se_block(y, int(n * 2 * self.scale), name='conv%d_se' % (i + 2))
            x = self.conv_bn_layer(y, 1, n, 1, 0, if_act=False, name='conv%d_linear' % (i + 2))
            outs.append(x)
        return outs


class DBHead(object):
    def __init__(self, params):
        self.k, self.inner_channels = params['k'], params['inner_channels']

    def _w(self, name):
        return ParamAttr(name=name + '.w_0', initializer=fluid.initializer.MSRAInitializer(uniform=False))

    def _b(self, value, in_channels):
        stdv = 1.0 / math.sqrt(in_channels * 1.0)
        return ParamAttr(initializer=fluid.initializer.Uniform(-stdv, stdv))

    def binarize(self, x, branch):
        conv1 = fluid.layers.conv2d(input=x, num_filters=self.inner_channels // 4, filter_size=3, padding=1, param_attr=self._w('%s_conv1' % branch), bias_attr=False)
        bn1 = fluid.layers.batch_norm(input=conv1, param_attr=ParamAttr(name=branch + '_bn1.w_0', initializer=fluid.initializer.Constant(1.0)), bias_attr=ParamAttr(name=branch + '_bn1.b_0', initializer=fluid.initializer.Constant(1e-4)), moving_mean_name=branch + '_bn1.w_1', moving_variance_name=branch + '_bn1.w_2', act='relu')
        conv2 = fluid.layers.conv2d_transpose(input=bn1, num_filters=self.inner_channels // 4, filter_size=2, stride=2, param_attr=self._w('%s_conv2' % branch), bias_attr=self._b(1e-4, self.inner_channels // 4), act=None)
        return fluid.layers.conv2d_transpose(input=conv2, num_filters=1, filter_size=2, stride=2, param_attr=self._w('%s_conv3' % branch), bias_attr=self._b(1e-4, 4), act='sigmoid')

    def step_function(self, x, y):
        return fluid.layers.reciprocal(1 + fluid.layers.exp(-self.k * (x - y)))

    def __call__(self, conv_features, mode="train"):
        c2, c3, c4 = conv_features
        lat = [fluid.layers.conv2d(input=c, num_filters=self.inner_channels, filter_size=1, param_attr=self._w('in%d' % i), bias_attr=False) for i, c in enumerate((c2, c3, c4))]
        out3 = fluid.layers.elementwise_add(x=fluid.layers.resize_nearest(input=lat[2], scale=2), y=lat[1])
        out2 = fluid.layers.elementwise_add(x=fluid.layers.resize_nearest(input=out3, scale=2), y=lat[0])
        p4 = fluid.layers.resize_nearest(fluid.layers.conv2d(lat[2], self.inner_channels // 4, 3, padding=1, param_attr=self._w('p4'), bias_attr=False), scale=4)
        p2 = fluid.layers.conv2d(out2, self.inner_channels // 4, 3, padding=1, param_attr=self._w('p2'), bias_attr=False)
        fuse = fluid.layers.concat(input=[p4, p2], axis=1)
        shrink_maps = self.binarize(fuse, 'binarize')
        if mode != "train":
            return shrink_maps
        threshold_maps = self.binarize(fuse, 'thresh')
        binary_maps = self.step_function(shrink_maps, threshold_maps)
        return fluid.layers.concat(input=[shrink_maps, threshold_maps, binary_maps], axis=1)


def BalanceLoss(pred, gt, mask, balance_loss=True, main_loss_type="DiceLoss", negative_ratio=3, eps=1e-6):
    positive = gt * mask
    negative = (1 - gt) * mask
    positive_count = fluid.layers.reduce_sum(positive)
    positive_count_int = fluid.layers.cast(positive_count, dtype='int32')
    negative_count_max = fluid.layers.cast(fluid.layers.reduce_sum(negative), dtype='int32')
    negative_count = fluid.layers.elementwise_min(fluid.layers.cast(positive_count * negative_ratio, dtype='int32'), negative_count_max)
    loss = fluid.layers.log_loss(fluid.layers.reshape(pred, [-1, 1]), fluid.layers.reshape(gt, [-1, 1]), epsilon=1e-7)
    loss = fluid.layers.reshape(loss, [-1])
    positive_loss = fluid.layers.reshape(positive, [-1]) * loss
    negative_loss = fluid.layers.reshape(negative, [-1]) * loss
    negative_loss, _ = fluid.layers.topk(negative_loss, k=negative_count)
    total = fluid.layers.cast(positive_count_int + negative_count, 'float32') + eps
    return (fluid.layers.reduce_sum(positive_loss) + fluid.layers.reduce_sum(negative_loss)) / total


def DiceLoss(pred, gt, mask, weights=None, eps=1e-6):
    intersection = fluid.layers.reduce_sum(pred * gt * mask)
    union = fluid.layers.reduce_sum(pred * mask) + fluid.layers.reduce_sum(gt * mask) + eps
    return 1 - 2.0 * intersection / union


def MaskL1Loss(pred, gt, mask, eps=1e-6):
    return fluid.layers.reduce_sum(fluid.layers.abs(pred - gt) * mask) / (fluid.layers.reduce_sum(mask) + eps)


class DBLoss(object):
    def __init__(self, params):
        self.params = params

    def __call__(self, predicts, labels):
        pred = predicts['maps']
        shrink_maps = fluid.layers.slice(pred, axes=[1], starts=[0], ends=[1])
        threshold_maps = fluid.layers.slice(pred, axes=[1], starts=[1], ends=[2])
        binary_maps = fluid.layers.slice(pred, axes=[1], starts=[2], ends=[3])
        for v in labels.values():
            v.stop_gradient = True
        loss_shrink = self.params['alpha'] * BalanceLoss(shrink_maps, labels['shrink_map'], labels['shrink_mask'], negative_ratio=self.params['ohem_ratio'])
        loss_threshold = self.params['beta'] * MaskL1Loss(threshold_maps, labels['threshold_map'], labels['threshold_mask'])
        loss_binary = DiceLoss(binary_maps, labels['shrink_map'], labels['shrink_mask'])
        return {'total_loss': loss_shrink + loss_threshold + loss_binary, "loss_shrink_maps": loss_shrink, "loss_threshold_maps": loss_threshold, "loss_binary_maps": loss_binary}


class DetModel(object):
    def __init__(self, params):
        self.image_shape = params['Global']['image_shape']
        parts = {}
        for key in ('Backbone', 'Head', 'Loss'):
            p = deepcopy(params[key])
            p.update(params['Global'])
            parts[key] = create_module(p['function'])(params=p)
        self.backbone, self.head, self.loss = parts['Backbone'], parts['Head'], parts['Loss']

    def __call__(self, mode):
        shape = deepcopy(self.image_shape)
        image = fluid.layers.data(name='image', shape=shape, dtype='float32')
        if mode != 'train':
            return None, {'maps': self.head(self.backbone(image), mode)}, ['image']
        names = ['shrink_map', 'shrink_mask', 'threshold_map', 'threshold_mask']
        labels = OrderedDict((n, fluid.layers.data(name=n, shape=[1] + shape[1:], dtype='float32')) for n in names)
        loader = fluid.io.DataLoader.from_generator(feed_list=[image] + list(labels.values()), capacity=64, use_double_buffer=True, iterable=False)
        predicts = {'maps': self.head(self.backbone(image), mode)}
        return loader, self.loss(predicts, labels), None
