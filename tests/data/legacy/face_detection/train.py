from __future__ import print_function
import argparse
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid.initializer import Xavier, Constant, Bilinear
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


def pyramidbox():
    image = L.data('image', [3, 64, 64]); fb = L.data('face_box', [4], lod_level=1); hb = L.data('head_box', [4], lod_level=1); gl = L.data('gt_label', [1], lod_level=1, dtype='int32')
    w_attr = ParamAttr(learning_rate=0.1, regularizer=L2Decay(5e-4), initializer=Xavier())
    c = image
    feats = []
    for i, ch in enumerate([8, 16, 16]):
        c = L.conv2d(c, ch, 3, 1, 1, act='relu', param_attr=w_attr, bias_attr=ParamAttr(learning_rate=.2, regularizer=L2Decay(0.)))
        c = L.pool2d(c, 2, 'max', 2, ceil_mode=True)
        feats.append(c)
    def _l2_norm_scale(input, init_scale=1.0, channel_shared=False):
        helper = fluid.layer_helper.LayerHelper("Scale")
        l2_norm = L.l2_normalize(input, axis=1)
        shape = [1] if channel_shared else [input.shape[1]]
        scale = helper.create_parameter(attr=helper.param_attr, shape=shape, dtype=input.dtype, default_initializer=Constant(init_scale))
        return L.elementwise_mul(x=l2_norm, y=scale, axis=-1 if channel_shared else 1)
    up = L.conv2d_transpose(L.conv2d(feats[2], 16, 1), 16, filter_size=4, stride=2, padding=1, groups=16, param_attr=ParamAttr(learning_rate=0., regularizer=L2Decay(0.), initializer=Bilinear()), bias_attr=False)
    fused = L.elementwise_mul(up, L.conv2d(feats[1], 16, 1, act='relu'))
    locs, confs, boxes_, vars_ = [], [], [], []
    for i, (f, ms) in enumerate([(_l2_norm_scale(feats[1], 10.), 8.), (fused, 12.), (_l2_norm_scale(feats[2], 8., True), 24.)]):
        loc = L.transpose(L.conv2d(f, 4, 3, 1, 1, bias_attr=None), [0, 2, 3, 1])
        if i == 0:
            conf = L.conv2d(f, 4, 3, 1, 1)
            c1, c2 = L.split(conf, num_or_sections=[3, 1], dim=1)
            mx = L.reduce_max(c1, dim=1, keep_dim=True)
            conf = L.concat([mx, c2], axis=1)
        else:
            conf = L.maxout(L.conv2d(f, 4, 3, 1, 1), groups=2) if i == 1 else L.conv2d(f, 2, 3, 1, 1)
        conf = L.transpose(conf, [0, 2, 3, 1])
        b, v = L.prior_box(f, image, min_sizes=[ms], steps=[64. / f.shape[3]] * 2, aspect_ratios=[1.], clip=False, flip=True, offset=0.5)
        locs.append(L.reshape(L.flatten(loc, axis=1), [0, -1, 4])); confs.append(L.reshape(L.flatten(conf, axis=1), [0, -1, 2]))
        boxes_.append(L.reshape(b, [-1, 4])); vars_.append(L.reshape(v, [-1, 4]))
    db, dv = L.density_prior_box(feats[2], image, densities=[2, 1], fixed_sizes=[8., 16.], fixed_ratios=[1.], clip=True, flatten_to_2d=True)
    locs.append(L.reshape(L.transpose(L.conv2d(feats[2], 20, 1), [0, 2, 3, 1]), [0, -1, 4])); confs.append(L.reshape(L.transpose(L.conv2d(feats[2], 10, 1), [0, 2, 3, 1]), [0, -1, 2]))
    boxes_.append(db); vars_.append(dv)
    ml, mc, mb, mv = L.concat(locs, 1), L.concat(confs, 1), L.concat(boxes_), L.concat(vars_)
    mb.stop_gradient = True
    loss = L.reduce_sum(L.ssd_loss(ml, mc, fb, gl, mb, mv, background_label=0, overlap_threshold=0.35, neg_pos_ratio=3.0, neg_overlap=0.35, loc_loss_weight=0.3, match_type='per_prediction', normalize=True))
    head = L.reduce_sum(L.ssd_loss(ml, mc, hb, gl, mb, mv, overlap_threshold=0.5, neg_overlap=0.35, match_type='bipartite'))
    total = loss + head
    test = fluid.default_main_program().clone(for_test=True)
    with fluid.program_guard(test):
        g = test.global_block()
        out = L.detection_output(g.var(ml.name), g.var(mc.name), g.var(mb.name), g.var(mv.name), nms_threshold=0.3, nms_top_k=100, keep_top_k=20, score_threshold=0.01)
    def feed():
        b, c, l = boxes()
        h = lod(np.clip(np.array(b) + .02, 0, 1), l)
        return {'image': rng.randn(4, 3, 64, 64).astype('float32'), 'face_box': b, 'head_box': h, 'gt_label': c}
    run(total, feed, [loss, head], test=(test, [out]))


if __name__ == '__main__':
    pyramidbox()
