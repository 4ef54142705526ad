from __future__ import division
import numpy as np
import six
from collections import OrderedDict
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid.regularizer import L2Decay
from paddle.fluid.initializer import Constant, Normal
from ..core.workspace import register, serializable
from .ops import MultiClassNMS


@register
class TinyDark(object):
    __shared__ = ['norm_type']

    def __init__(self, depth=2, norm_type='bn', norm_decay=0., weight_prefix_name=''):
        self.depth, self.norm_type, self.norm_decay, self.prefix_name = depth, norm_type, norm_decay, weight_prefix_name

    def _conv_norm(self, input, ch_out, filter_size, stride, padding, act='leaky', name=None):
        conv = fluid.layers.conv2d(input=input, num_filters=ch_out, filter_size=filter_size, stride=stride, padding=padding, act=None, param_attr=ParamAttr(name=name + ".conv.weights"), bias_attr=False)
        bn_name = name + ".bn"
        out = fluid.layers.batch_norm(input=conv, act=None, param_attr=ParamAttr(regularizer=L2Decay(float(self.norm_decay)), name=bn_name + '.scale'), bias_attr=ParamAttr(regularizer=L2Decay(float(self.norm_decay)), name=bn_name + '.offset'), moving_mean_name=bn_name + '.mean', moving_variance_name=bn_name + '.var')
        return fluid.layers.leaky_relu(x=out, alpha=0.1) if act == 'leaky' else out

    def __call__(self, input):
        x = self._conv_norm(input, 8, 3, 2, 1, name=self.prefix_name + 'conv_input')
        feats = []
        for i in six.moves.xrange(self.depth + 1):
            x = self._conv_norm(x, 12 * (i + 1), 3, 2, 1, name='stage.%d.down' % i)
            y = self._conv_norm(x, 6 * (i + 1), 1, 1, 0, name='stage.%d.0' % i)
            y = self._conv_norm(y, 12 * (i + 1), 3, 1, 1, name='stage.%d.1' % i)
            x = fluid.layers.elementwise_add(x=x, y=y, act=None)
            feats.append(x)
        return feats[1:]


@register
class YOLOv3Loss(object):
    __shared__ = ['use_fine_grained_loss']

    def __init__(self, ignore_thresh=0.7, label_smooth=True, use_fine_grained_loss=False):
        self._ignore_thresh, self._label_smooth, self._fine = ignore_thresh, label_smooth, use_fine_grained_loss

    def __call__(self, outputs, gt_box, gt_label, gt_score, anchors, anchor_masks, mask_anchors, num_classes, prefix_name):
        losses = []
        downsample = 16
        for i, output in enumerate(outputs):
            loss = fluid.layers.yolov3_loss(x=output, gt_box=gt_box, gt_label=gt_label, gt_score=gt_score, anchors=anchors, anchor_mask=anchor_masks[i], class_num=num_classes, ignore_thresh=self._ignore_thresh, downsample_ratio=downsample, use_label_smooth=self._label_smooth, name=prefix_name + "yolo_loss" + str(i))
            losses.append(fluid.layers.reduce_mean(loss))
            downsample //= 2
        return {'loss': sum(losses)}


@register
class YOLOv3Head(object):
    __inject__ = ['yolo_loss', 'nms']
    __shared__ = ['num_classes', 'weight_prefix_name']

    def __init__(self, norm_decay=0., num_classes=80, anchors=[[10, 13], [16, 30]], anchor_masks=[[0], [1]], yolo_loss="YOLOv3Loss", nms=MultiClassNMS(score_threshold=0.01, nms_top_k=1000, keep_top_k=100, nms_threshold=0.45, background_label=-1).__dict__, weight_prefix_name=''):
        self.norm_decay, self.num_classes, self.anchor_masks, self.yolo_loss, self.nms, self.prefix_name = norm_decay, num_classes, anchor_masks, yolo_loss, nms, weight_prefix_name
        if isinstance(nms, dict):
            self.nms = MultiClassNMS(**nms)
        self.anchors, self.mask_anchors = [], []
        for a in anchors:
            assert len(a) == 2, "anchor {} len should be 2".format(a)
            self.anchors.extend(a)
        for masks in anchor_masks:
            self.mask_anchors.append([])
            for m in masks:
                self.mask_anchors[-1].extend(anchors[m])

    def _outputs(self, feats):
        outputs, route = [], None
        for i, block in enumerate(feats[::-1]):
            if i > 0:
                block = fluid.layers.concat(input=[route, block], axis=1)
            tip = TinyDark()._conv_norm(block, 16, 3, 1, 1, name=self.prefix_name + 'yolo_block.%d.tip' % i)
            with fluid.name_scope('yolo_output'):
                out = fluid.layers.conv2d(tip, num_filters=len(self.anchor_masks[i]) * (self.num_classes + 5), filter_size=1, param_attr=ParamAttr(name='yolo_output.%d.conv.weights' % i), bias_attr=ParamAttr(regularizer=L2Decay(0.), name='yolo_output.%d.conv.bias' % i))
            outputs.append(out)
            if i < len(feats) - 1:
                route = fluid.layers.resize_nearest(input=TinyDark()._conv_norm(tip, 8, 1, 1, 0, name='yolo_transition.%d' % i), scale=float(2.))
        return outputs

    def get_loss(self, feats, gt_box, gt_label, gt_score):
        return self.yolo_loss(self._outputs(feats), gt_box, gt_label, gt_score, self.anchors, self.anchor_masks, self.mask_anchors, self.num_classes, self.prefix_name)

    def get_prediction(self, feats, im_size):
        boxes, scores = [], []
        downsample = 16
        for i, output in enumerate(self._outputs(feats)):
            box, score = fluid.layers.yolo_box(x=output, img_size=im_size, anchors=self.mask_anchors[i], class_num=self.num_classes, conf_thresh=self.nms.score_threshold, downsample_ratio=downsample, name="yolo_box" + str(i))
            boxes.append(box)
            scores.append(fluid.layers.transpose(score, perm=[0, 2, 1]))
            downsample //= 2
        pred = self.nms(bboxes=fluid.layers.concat(boxes, axis=1), scores=fluid.layers.concat(scores, axis=2))
        return {'bbox': pred}


@register
class YOLOv3(object):
    __category__ = 'architecture'
    __inject__ = ['backbone', 'yolo_head']

    def __init__(self, backbone, yolo_head='YOLOv3Head'):
        self.backbone, self.yolo_head = backbone, yolo_head

    def build_inputs(self, image_shape=[3, 64, 64], fields=('image', 'gt_bbox', 'gt_class', 'gt_score'), use_dataloader=True, iterable=False):
        defs = {'image': ([None] + image_shape, 'float32', 0), 'im_size': ([None, 2], 'int32', 0), 'im_id': ([None, 1], 'int64', 0), 'gt_bbox': ([None, 6, 4], 'float32', 0), 'gt_class': ([None, 6], 'int32', 0), 'gt_score': ([None, 6], 'float32', 0)}
        feed_vars = OrderedDict([(key, fluid.data(name=key, shape=defs[key][0], dtype=defs[key][1], lod_level=defs[key][2])) for key in fields])
        loader = fluid.io.DataLoader.from_generator(feed_list=list(feed_vars.values()), capacity=16, use_double_buffer=True, iterable=iterable) if use_dataloader else None
        return feed_vars, loader

    def train(self, feed_vars):
        return self.yolo_head.get_loss(self.backbone(feed_vars['image']), feed_vars['gt_bbox'], feed_vars['gt_class'], feed_vars['gt_score'])

    def eval(self, feed_vars):
        return self.yolo_head.get_prediction(self.backbone(feed_vars['image']), feed_vars['im_size'])
    test = eval


@register
class LearningRate(object):
    def __init__(self, base_lr=0.01, schedulers=[]):
        self.base_lr, self.schedulers = base_lr, schedulers

    def __call__(self):
        lr = None
        for sched in self.schedulers:
            lr = sched(self.base_lr, lr)
        return lr


@register
class OptimizerBuilder(object):
    def __init__(self, clip_grad_by_norm=None, regularizer={'type': 'L2', 'factor': .0001}, optimizer={'type': 'Momentum', 'momentum': .9}):
        self.clip_grad_by_norm, self.regularizer, self.optimizer = clip_grad_by_norm, regularizer, optimizer

    def __call__(self, learning_rate):
        if self.clip_grad_by_norm is not None:
            fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=self.clip_grad_by_norm))
        reg = None
        if self.regularizer:
            reg = getattr(fluid.regularizer, self.regularizer['type'] + 'Decay')(self.regularizer['factor'])
        args = self.optimizer.copy()
        op = getattr(fluid.optimizer, args.pop('type'))
        return op(learning_rate=learning_rate, regularization=reg, **args)
