from __future__ import print_function
import argparse
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid.initializer import Constant, Normal
from paddle.fluid.regularizer import L2Decay

parser = argparse.ArgumentParser()
parser.add_argument('--steps', type=int, default=20)
args = parser.parse_args()
rng = np.random.RandomState(4)
L = fluid.layers
fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 77


def conv_bn(input, filter, ksize, stride=1, padding=0, act='relu', bias_attr=False):
    p_attr = ParamAttr(learning_rate=1., regularizer=L2Decay(0.))
    b_attr = ParamAttr(learning_rate=0., regularizer=L2Decay(0.))
    conv = L.conv2d(input=input, filter_size=ksize, num_filters=filter, stride=stride, padding=padding, act=None, bias_attr=bias_attr)
    return L.batch_norm(input=conv, act=act, epsilon=0.001, momentum=0.999, param_attr=p_attr, bias_attr=b_attr)


def run(loss, feed, fetch=(), steps=args.steps, opt=None, test=None):
    (opt or fluid.optimizer.Momentum(L.piecewise_decay([10], [.005, .001]), 0.9, regularization=L2Decay(5e-4))).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for i in range(steps):
        r = exe.run(feed=feed(), fetch_list=[loss] + list(fetch))
        print('step %d ' % i + ' '.join('%.5f' % np.mean(np.array(v).astype('float64')) for v in r))
    if test:
        prog, vars = test
        for i in range(2):
            r = exe.run(prog, feed=feed(), fetch_list=vars, return_numpy=False)
            print('test', [(np.array(v).shape, v.lod()) for v in r], ' '.join('%.5f' % np.mean(np.array(v).astype('float64')) for v in r))
    return exe


def lod(a, l):
    return fluid.create_lod_tensor(a, [l], fluid.CPUPlace())


def boxes(n=4, cls=2, norm=True, s=1.):
    l = [int(v) for v in rng.randint(1, 4, n)]
    m = sum(l)
    xy = rng.uniform(0, .5, (m, 2)); wh = rng.uniform(.2, .45, (m, 2))
    return lod((np.hstack([xy, xy + wh]) * s).astype('float32'), l), lod(rng.randint(1, cls, (m, 1)).astype('int32'), l), l


def retinanet():
    image = L.data('image', [3, 64, 64]); gb = L.data('gt_box', [4], lod_level=1); gl = L.data('gt_label', [1], lod_level=1, dtype='int32'); crowd = L.data('is_crowd', [1], lod_level=1, dtype='int32'); info = L.data('im_info', [3])
    c3 = conv_bn(conv_bn(conv_bn(image, 8, 3, 2, 1), 8, 3, 2, 1), 8, 3, 2, 1)
    c4 = conv_bn(c3, 16, 3, 2, 1)
    off = L.conv2d(c4, 27, 3, padding=1, param_attr=ParamAttr(initializer=Constant(0.0), name='off_w'), bias_attr=ParamAttr(initializer=Constant(0.1), name='off_b'))
    o1 = L.slice(off, [1], [0], [18]); o2 = L.slice(off, [1], [18], [27])
    c4 = L.deformable_conv(input=c4, offset=o1, mask=L.sigmoid(o2), num_filters=16, filter_size=3, stride=1, padding=1, groups=1, deformable_groups=1, im2col_step=1, param_attr=ParamAttr(name='dcn_w'), bias_attr=False)
    p4 = L.conv2d(c4, 8, 1, name='fpn_4'); p3 = L.conv2d(c3, 8, 1) + L.resize_nearest(p4, scale=2.)
    scores, deltas, anchors, vars_ = [], [], [], []
    for lvl, f in ((3, p3), (4, p4)):
        h = f
        for i in range(2):
            h = L.conv2d(h, 8, 3, 1, 1, act='relu', name='ret_cls%d' % i, param_attr=ParamAttr(name='retnet_cls_conv_n%d_w' % i, initializer=Normal(0., .01)), bias_attr=ParamAttr(name='retnet_cls_conv_n%d_b' % i, learning_rate=2., regularizer=L2Decay(0.)))
        cs = L.conv2d(h, 3 * 3, 3, 1, 1, param_attr=ParamAttr(name='ret_cls_pred_w', initializer=Normal(0., .01)), bias_attr=ParamAttr(name='ret_cls_pred_b', initializer=Constant(-2.2), learning_rate=2.))
        bd = L.conv2d(f, 12, 3, 1, 1, param_attr=ParamAttr(name='ret_bbox_w', initializer=Normal(0., .01)), bias_attr=ParamAttr(name='ret_bbox_b'))
        an, va = L.anchor_generator(f, anchor_sizes=[2. ** lvl * 2.], aspect_ratios=[.5, 1., 2.], variance=[1., 1., 1., 1.], stride=[2. ** lvl] * 2)
        scores.append(L.reshape(L.transpose(cs, [0, 2, 3, 1]), (0, -1, 3))); deltas.append(L.reshape(L.transpose(bd, [0, 2, 3, 1]), (0, -1, 4)))
        anchors.append(L.reshape(an, (-1, 4))); vars_.append(L.reshape(va, (-1, 4)))
    sp, lp, st, lt, biw, fg = L.retinanet_target_assign(bbox_pred=L.concat(deltas, 1), cls_logits=L.concat(scores, 1), anchor_box=L.concat(anchors), anchor_var=L.concat(vars_), gt_boxes=gb, gt_labels=gl, is_crowd=crowd, im_info=info, num_classes=3, positive_overlap=0.5, negative_overlap=0.4)
    fg = L.reduce_sum(fg, name='fg_num')
    st = L.cast(st, 'int32'); st.stop_gradient = True
    cls_loss = L.reduce_sum(L.sigmoid_focal_loss(x=sp, label=st, fg_num=fg, gamma=2.0, alpha=.25))
    bl = L.smooth_l1(x=lp, y=lt, sigma=3., inside_weight=biw, outside_weight=biw)
    bl = L.reduce_sum(bl) / L.cast(fg, 'float32')
    dets = L.retinanet_detection_output(bboxes=deltas, scores=[L.sigmoid(s) for s in scores], anchors=anchors, im_info=info, score_threshold=.05, nms_top_k=50, keep_top_k=20, nms_threshold=.3, nms_eta=1.)
    nm = L.matrix_nms(L.expand(L.unsqueeze(L.concat(anchors), [0]), [2, 1, 1]), L.transpose(L.sigmoid(L.concat(scores, 1)), [0, 2, 1]), .05, .05, 50, 10, use_gaussian=True, background_label=-1)
    test = fluid.default_main_program().clone(for_test=True)
    def feed():
        b, c, l = boxes(2, 4, s=63.)
        return {'image': rng.randn(2, 3, 64, 64).astype('float32'), 'gt_box': b, 'gt_label': c, 'is_crowd': lod(np.zeros((sum(l), 1), 'int32'), l), 'im_info': np.array([[64, 64, 1.]] * 2, 'float32')}
    run(cls_loss + bl, feed, [cls_loss, bl, fg], test=(test, [dets, nm]))


if __name__ == '__main__':
    retinanet()
