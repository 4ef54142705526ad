from __future__ import print_function
import argparse
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid.initializer import Normal
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


def cascade():
    image = L.data('image', [3, 64, 64]); gb = L.data('gt_box', [4], lod_level=1); gl = L.data('gt_label', [1], lod_level=1, dtype='int32'); crowd = L.data('is_crowd', [1], lod_level=1, dtype='int32'); info = L.data('im_info', [3])
    c2 = conv_bn(conv_bn(image, 8, 3, 2, 1), 8, 3, 2, 1); c3 = conv_bn(c2, 8, 3, 2, 1)
    feats = {'p2': c2, 'p3': c3}
    rois, probs = [], []
    cl, bx, an_, va_ = [], [], [], []
    for i, (n, st) in enumerate((('p2', 4.), ('p3', 8.))):
        h = L.conv2d(feats[n], 8, 3, 1, 1, act='relu', param_attr='rpn_w', bias_attr='rpn_b')
        an, va = L.anchor_generator(h, anchor_sizes=[st * 3], aspect_ratios=[.5, 1, 2], variance=[1.] * 4, stride=[st, st])
        s = L.conv2d(h, 3, 1, param_attr='rpn_s_w', bias_attr='rpn_s_b'); d = L.conv2d(h, 12, 1, param_attr=ParamAttr(name='rpn_d_w', initializer=Normal(0., .01)), bias_attr='rpn_d_b')
        r, p = L.generate_proposals(L.sigmoid(s), d, info, an, va, pre_nms_top_n=60, post_nms_top_n=20, nms_thresh=.7, min_size=0., eta=1.)
        rois.append(r); probs.append(p)
        cl.append(L.reshape(L.transpose(s, [0, 2, 3, 1]), (0, -1, 1))); bx.append(L.reshape(L.transpose(d, [0, 2, 3, 1]), (0, -1, 4))); an_.append(L.reshape(an, (-1, 4))); va_.append(L.reshape(va, (-1, 4)))
    props = L.collect_fpn_proposals(rois, probs, 2, 3, 30, name='collect')
    sp, lp, st, lt, w = L.rpn_target_assign(L.concat(bx, 1), L.concat(cl, 1), L.concat(an_), L.concat(va_), gb, crowd, info, rpn_batch_size_per_im=24, rpn_straddle_thresh=-1, use_random=False)
    rpn = L.reduce_mean(L.sigmoid_cross_entropy_with_logits(sp, L.cast(st, 'float32'))) + L.reduce_sum(L.smooth_l1(lp, lt, sigma=3., inside_weight=w, outside_weight=w)) / 24.
    total = rpn
    outs = [rpn]
    bbox = props
    for stage, (ov, reg) in enumerate(((.4, [.1, .1, .2, .2]), (.5, [.05, .05, .1, .1]))):
        o = L.generate_proposal_labels(rpn_rois=bbox, gt_classes=gl, is_crowd=crowd, gt_boxes=gb, im_info=info, batch_size_per_im=16, fg_fraction=.25, fg_thresh=ov, bg_thresh_hi=ov, bg_thresh_lo=0., bbox_reg_weights=reg, class_nums=2, use_random=False, is_cls_agnostic=True, is_cascade_rcnn=stage > 0)
        ro, lab, bt, biw, bow = o[:5]
        rl, restore = L.distribute_fpn_proposals(ro, 2, 3, 3, 16)
        pooled = [L.roi_align(feats['p%d' % (k + 2)], r, 5, 5, 1. / (4 * 2 ** k), 2) for k, r in enumerate(rl)]
        x = L.gather(L.concat(pooled), restore)
        x.stop_gradient = False
        h = L.fc(x, 16, act='relu', name='fc6_%d' % stage)
        s = L.fc(h, 4, param_attr=ParamAttr(name='cs_%d' % stage)); d = L.fc(h, 8, param_attr=ParamAttr(name='bp_%d' % stage, initializer=Normal(0., .001)))
        lc = L.reduce_mean(L.softmax_with_cross_entropy(s, L.cast(lab, 'int64'), numeric_stable_mode=True))
        lb = L.reduce_mean(L.smooth_l1(d, bt, inside_weight=biw, outside_weight=bow, sigma=1.))
        total = total + (lc + lb) * (1. if stage == 0 else .5)
        outs += [lc, lb]
        pr = L.reshape(d, (-1, 2, 4)); pr = L.slice(pr, [1], [1], [2]); pr = L.expand(pr, [1, 2, 1])
        box = L.box_coder(prior_box=ro, prior_box_var=reg, target_box=pr, code_type='decode_center_size', box_normalized=False, axis=1)
        bbox = L.reshape(L.slice(box, [1], [1], [2]), [-1, 4])
    def feed():
        b, c, l = boxes(2, 4, s=63.)
        return {'image': rng.randn(2, 3, 64, 64).astype('float32'), 'gt_box': b, 'gt_label': c, 'is_crowd': lod(np.zeros((sum(l), 1), 'int32'), l), 'im_info': np.array([[64, 64, 1.]] * 2, 'float32')}
    run(total, feed, outs)


if __name__ == '__main__':
    cascade()
