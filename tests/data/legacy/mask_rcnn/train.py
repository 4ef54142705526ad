"""Faster R-CNN with a mask head and a box cascade on drawn rectangles, json config as attribute dict."""
import json, os, argparse, collections, logging, sys, copy, math
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid.initializer import Normal, MSRA, Constant
from paddle.fluid.regularizer import L2Decay
import paddle.fluid.layers.learning_rate_scheduler as lr_scheduler

class AttrDict(dict):
    def __init__(self, *a, **k):
        super(AttrDict, self).__init__(*a, **k)
        for key, v in self.items():
            if isinstance(v, dict): self[key] = AttrDict(v)
    def __getattr__(self, n):
        if n in self.__dict__: return self.__dict__[n]
        if n in self: return self[n]
        raise AttributeError(n)

cfg = AttrDict(json.load(open('config.json')))
SIZE = 48

def sample(rng):
    img = rng.normal(0, .2, (3, SIZE, SIZE)).astype('float32')
    n = rng.randint(1, 4)
    boxes, cls, polys = [], [], []
    for _ in range(n):
        w, h = rng.randint(10, 24, 2); x, y = rng.randint(0, SIZE - w), rng.randint(0, SIZE - h)
        c = rng.randint(1, cfg.CLASSES)
        img[c - 1, y:y + h, x:x + w] += 1
        boxes.append([x, y, x + w - 1, y + h - 1]); cls.append([c])
        polys.append([[x, y, x + w, y, x + w, y + h, x, y + h]])
    return img, boxes, cls, polys

def exponential_with_warmup(learning_rate, boundaries, values, warmup_iter, warmup_factor):
    global_step = lr_scheduler._decay_step_counter()
    with fluid.default_main_program()._lr_schedule_guard() if hasattr(fluid.default_main_program(), '_lr_schedule_guard') else fluid.unique_name.guard():
        lr = fluid.layers.create_global_var(shape=[1], value=0.0, dtype='float32', persistable=True, name='learning_rate')
        warmup_iter_var = fluid.layers.fill_constant(shape=[1], dtype='float32', value=float(warmup_iter), force_cpu=True)
        with fluid.layers.control_flow.Switch() as switch:
            with switch.case(global_step < warmup_iter_var):
                alpha = global_step / warmup_iter_var
                factor = warmup_factor * (1 - alpha) + alpha
                fluid.layers.assign(learning_rate * factor, lr)
            for i in range(len(boundaries)):
                with switch.case(global_step < fluid.layers.fill_constant([1], 'float32', float(boundaries[i]))):
                    fluid.layers.assign(fluid.layers.fill_constant([1], 'float32', values[i]), lr)
            with switch.default():
                fluid.layers.assign(fluid.layers.fill_constant([1], 'float32', values[-1]), lr)
    return lr

def conv_affine(x, ch, k, stride, name, act='relu', trainable=True):
    conv = fluid.layers.conv2d(x, ch, k, stride, (k - 1) // 2, bias_attr=False, param_attr=ParamAttr(name=name + '_weights', trainable=trainable), name=name + '.conv2d.output.1')
    scale = fluid.layers.create_parameter([ch], 'float32', attr=ParamAttr(name=name + '_scale', learning_rate=0.), default_initializer=Constant(1.))
    scale.stop_gradient = True; nobias = True
    bias = fluid.layers.create_parameter([ch], 'float32', attr=ParamAttr(name + '_offset', learning_rate=0.), default_initializer=Constant(0.))
    bias.stop_gradient = True
    return fluid.layers.affine_channel(conv, scale=scale, bias=bias, act=act)

class RCNN(object):
    def __init__(self, mode): self.mode = mode
    def build(self):
        L = fluid.layers
        self.image = fluid.data('image', [None, 3, SIZE, SIZE]); self.gt_box = fluid.data('gt_box', [None, 4], lod_level=1); self.gt_cls = fluid.data('gt_class', [None, 1], dtype='int32', lod_level=1)
        self.crowd = fluid.data('is_crowd', [None, 1], dtype='int32', lod_level=1); self.info = fluid.data('im_info', [None, 3]); self.mask = fluid.data('gt_masks', [None, 2], lod_level=3)
        x = conv_affine(self.image, 8, 3, 2, 'res1', trainable=False)
        x = conv_affine(x, 12, 3, 2, 'res2'); body = conv_affine(x, 16, 3, 2, 'res3')
        body = body + conv_affine(body, 16, 3, 1, 'res3b', act=None)
        rpn = L.conv2d(body, 16, 3, padding=1, act='relu', name='conv_rpn', param_attr=ParamAttr('conv_rpn_w', initializer=Normal(0., .01)), bias_attr=ParamAttr('conv_rpn_b', learning_rate=2., regularizer=L2Decay(0.)))
        A = cfg.ANCHOR
        anchor, var = L.anchor_generator(rpn, anchor_sizes=A.sizes, aspect_ratios=A.ratios, variance=A['var'], stride=[8.0, 8.0])
        na = len(A.sizes) * len(A.ratios)
        score = L.conv2d(rpn, na, 1, name='rpn_cls', param_attr=ParamAttr(initializer=Normal(0., .01)))
        delta = L.conv2d(rpn, 4 * na, 1, name='rpn_box', param_attr=ParamAttr(initializer=Normal(0., .01)))
        prob = L.sigmoid(score)
        n_pre, n_post = (60, 20) if self.mode == 'train' else (30, 10)
        rois, roi_probs = L.generate_proposals(prob, delta, self.info, anchor, var, n_pre, n_post, .7, 0., 1.)
        losses = []
        if self.mode == 'train':
            R = cfg.TRAIN.rpn
            s_pred, l_pred, s_tgt, l_tgt, w = L.rpn_target_assign(L.reshape(L.transpose(delta, [0, 2, 3, 1]), [0, -1, 4]), L.reshape(L.transpose(score, [0, 2, 3, 1]), [0, -1, 1]), L.reshape(anchor, [-1, 4]), L.reshape(var, [-1, 4]), self.gt_box, self.crowd, self.info, R.num, 0., R.pos * 0 + .5, R.pos, R.neg, use_random=False)
            losses.append(L.reduce_mean(L.sigmoid_cross_entropy_with_logits(s_pred, L.cast(s_tgt, 'float32'))))
            l1 = L.smooth_l1(l_pred, l_tgt, w, w, sigma=3.0)
            norm = L.cast(L.reduce_prod(L.cast(L.shape(s_tgt), 'float32')), 'float32'); norm.stop_gradient = True
            losses.append(L.reduce_sum(l1) / norm)
            rois, labels, tgt, in_w, out_w = L.generate_proposal_labels(rois, self.gt_cls, self.crowd, self.gt_box, self.info, cfg.TRAIN.roi.batch, cfg.TRAIN.roi.fg, .5, .5, 0., [.1, .1, .2, .2], cfg.CLASSES, use_random=False)
        feat = L.roi_align(body, rois, 4, 4, 1. / 8, 2)
        h = L.fc(feat, 32, act='relu', name='fc6'); h = L.fc(h, 32, act='relu', name='fc7')
        cls_score = L.fc(h, cfg.CLASSES, name='cls_score', param_attr=ParamAttr(initializer=Normal(0., .01)))
        bbox = L.fc(h, 4 * cfg.CLASSES, name='bbox_pred', param_attr=ParamAttr(initializer=Normal(0., .001)))
        if self.mode == 'train':
            labels64 = L.cast(labels, 'int64'); labels64.stop_gradient = True
            losses.append(L.reduce_mean(L.softmax_with_cross_entropy(cls_score, labels64, numeric_stable_mode=True)))
            losses.append(L.reduce_mean(L.smooth_l1(bbox, tgt, in_w, out_w, sigma=1.0)))
            m_rois, has, m_int = L.generate_mask_labels(self.info, self.gt_cls, self.crowd, self.mask, rois, labels, cfg.CLASSES, cfg.MASK.resolution)
            mf = L.roi_align(body, m_rois, cfg.MASK.resolution // 2, cfg.MASK.resolution // 2, 1. / 8, 2)
            mf = L.conv2d_transpose(mf, 12, filter_size=2, stride=2, act='relu', param_attr=ParamAttr(initializer=MSRA(uniform=False)))
            mf = L.reshape(L.conv2d(mf, cfg.CLASSES, 1), [-1, cfg.CLASSES * cfg.MASK.resolution ** 2])
            mt = L.cast(m_int, 'float32'); mt.stop_gradient = True
            losses.append(L.reduce_sum(L.sigmoid_cross_entropy_with_logits(mf, mt, ignore_index=-1, normalize=True)))
            return losses
        prob = L.softmax(cls_score)
        decoded = L.box_coder(rois, [.1, .1, .2, .2], L.reshape(bbox, [-1, cfg.CLASSES, 4]), 'decode_center_size', box_normalized=False, axis=1)
        im_scale = L.slice(self.info, [1], [2], [3])
        boxes = L.box_clip(decoded, self.info)
        return [L.multiclass_nms(boxes, prob, .05, 20, 5, .5, False)], rois, prob

def feed_of(items):
    f = {'image': np.stack([i[0] for i in items]), 'im_info': np.array([[SIZE, SIZE, 1.]] * len(items), 'float32')}
    p = fluid.CPUPlace(); lens = [[len(i[1]) for i in items]]
    f['gt_box'] = fluid.create_lod_tensor(np.concatenate([i[1] for i in items]).astype('float32'), lens, p)
    f['gt_class'] = fluid.create_lod_tensor(np.concatenate([i[2] for i in items]).astype('int32'), lens, p)
    f['is_crowd'] = fluid.create_lod_tensor(np.zeros((sum(lens[0]), 1), 'int32'), lens, p)
    pts = np.concatenate([np.array(q, 'float32').reshape(-1, 2) for i in items for poly in i[3] for q in poly])
    f['gt_masks'] = fluid.create_lod_tensor(pts, [lens[0], [len(poly) for i in items for poly in i[3]], [len(q) // 2 for i in items for poly in i[3] for q in poly]], p)
    return f

def main():
    main_p, start, test = fluid.Program(), fluid.Program(), fluid.Program(); start.random_seed = main_p.random_seed = 2020
    T = cfg.TRAIN
    with fluid.program_guard(main_p, start), fluid.unique_name.guard():
        losses = RCNN('train').build(); total = fluid.layers.sum(losses)
        lr = exponential_with_warmup(T.lr, T.steps, [T.lr * .3 ** i for i in range(len(T.steps) + 1)], T.warmup.iters, T.warmup.factor)
        fluid.optimizer.Momentum(lr, .9, regularization=L2Decay(1e-4), grad_clip=fluid.clip.GradientClipByGlobalNorm(5.)).minimize(total)
    with fluid.program_guard(test, fluid.Program()), fluid.unique_name.guard():
        nms, rois, prob = RCNN('test').build()
    test = test.clone(for_test=True)
    exe = fluid.Executor(fluid.CPUPlace()); exe.run(start)
    rng = np.random.RandomState(3); data = [sample(rng) for _ in range(12)]
    for it in range(50):
        items = [data[(it * T.batch + k) % 12] for k in range(T.batch)]
        out = exe.run(main_p, feed=feed_of(items), fetch_list=[total] + losses + [lr])
        print('iter %d lr %.5f total %.5f | %s' % (it, out[-1][0], out[0], ' '.join('%.5f' % v for v in np.array(out[1:-1]).ravel())))
    f = feed_of(data[:2]); f = {k: f[k] for k in ('image', 'im_info')}
    o, r, p = exe.run(test, feed=f, fetch_list=[nms[0], rois, prob], return_numpy=False)
    print('rois', r.recursive_sequence_lengths(), np.array(r).sum(), np.array(p).sum(0).tolist())
    print('nms', o.recursive_sequence_lengths(), o.shape(), np.array(o).sum())
    fluid.io.save_inference_model('rcnn', ['image', 'im_info'], nms, exe, test)
    print(sorted(os.listdir('rcnn'))[:5])
main()
