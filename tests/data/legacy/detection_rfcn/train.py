"""R-FCN and Fast R-CNN heads on one tiny backbone, with RPN."""

import argparse
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as L
from paddle.fluid.initializer import Normal, MSRA
from paddle.fluid.param_attr import ParamAttr

parser = argparse.ArgumentParser()
parser.add_argument("--head", default="both", choices=["rfcn", "fast", "both"])
parser.add_argument("--iters", type=int, default=50)
args = parser.parse_args()
CLS = 4


def conv(x, n, k, s=1, act="relu", name=None):
    return L.conv2d(
        x,
        n,
        k,
        s,
        (k - 1) // 2,
        act=act,
        param_attr=ParamAttr(name=name + "_w", initializer=Normal(0.0, 0.05)),
        bias_attr=ParamAttr(name=name + "_b", learning_rate=2.0, regularizer=fluid.regularizer.L2Decay(0.0)),
        name=name,
    )


def build():
    image = L.data("image", [3, 64, 64], dtype="float32")
    gt_box = L.data("gt_box", [4], dtype="float32", lod_level=1)
    gt_label = L.data("gt_label", [1], dtype="int32", lod_level=1)
    is_crowd = L.data("is_crowd", [1], dtype="int32", lod_level=1)
    im_info = L.data("im_info", [3], dtype="float32")
    x = conv(image, 8, 3, 2, name="c1")
    x = L.lrn(x, n=5, k=1.0, alpha=1e-4)
    x = conv(x, 16, 3, 2, name="c2")
    body = conv(x, 16, 3, 2, name="c3")
    anchor, var = L.anchor_generator(
        body,
        anchor_sizes=[16, 32],
        aspect_ratios=[0.5, 1.0, 2.0],
        variance=[1.0, 1.0, 1.0, 1.0],
        stride=[8.0, 8.0],
    )
    rpn = conv(body, 16, 3, name="conv_rpn")
    score = L.conv2d(rpn, 6, 1, param_attr=ParamAttr(name="rpn_cls_w", initializer=Normal(0.0, 0.01)))
    bbox = L.conv2d(rpn, 24, 1, param_attr=ParamAttr(name="rpn_box_w", initializer=Normal(0.0, 0.01)))
    prob = L.sigmoid(score)
    rois, rois_prob = L.generate_proposals(
        prob,
        bbox,
        im_info,
        anchor,
        var,
        pre_nms_top_n=60,
        post_nms_top_n=20,
        nms_thresh=0.7,
        min_size=2.0,
        eta=1.0,
    )
    s_t = L.reshape(L.transpose(score, [0, 2, 3, 1]), [0, -1, 1])
    b_t = L.reshape(L.transpose(bbox, [0, 2, 3, 1]), [0, -1, 4])
    a, v = L.reshape(anchor, [-1, 4]), L.reshape(var, [-1, 4])
    sp, lp, st, lt, w = L.rpn_target_assign(
        bbox_pred=b_t,
        cls_logits=s_t,
        anchor_box=a,
        anchor_var=v,
        gt_boxes=gt_box,
        is_crowd=is_crowd,
        im_info=im_info,
        rpn_batch_size_per_im=32,
        rpn_straddle_thresh=-1.0,
        rpn_fg_fraction=0.5,
        rpn_positive_overlap=0.6,
        rpn_negative_overlap=0.3,
        use_random=False,
    )
    rpn_cls = L.reduce_mean(L.sigmoid_cross_entropy_with_logits(x=sp, label=L.cast(st, "float32")))
    rpn_reg = L.smooth_l1(lp, lt, sigma=3.0, inside_weight=w, outside_weight=w)
    rpn_reg = L.reduce_sum(rpn_reg) / (L.reduce_sum(L.ones_like(L.cast(st, "float32"))) + 1.0)
    rois, labels, targets, inw, outw = L.generate_proposal_labels(
        rpn_rois=rois,
        gt_classes=gt_label,
        is_crowd=is_crowd,
        gt_boxes=gt_box,
        im_info=im_info,
        batch_size_per_im=16,
        fg_fraction=0.25,
        fg_thresh=0.5,
        bg_thresh_hi=0.5,
        bg_thresh_lo=0.0,
        bbox_reg_weights=[0.1, 0.1, 0.2, 0.2],
        class_nums=CLS,
        use_random=False,
    )
    losses = [rpn_cls, rpn_reg]
    if args.head in ("rfcn", "both"):
        maps = conv(body, CLS * 9, 1, act=None, name="rfcn_cls")
        boxes = conv(body, 4 * CLS * 9, 1, act=None, name="rfcn_box")
        cls = L.psroi_pool(maps, rois, CLS, 1.0 / 8, 3, 3)
        reg = L.psroi_pool(boxes, rois, 4 * CLS, 1.0 / 8, 3, 3)
        cls = L.reshape(L.pool2d(cls, pool_type="avg", global_pooling=True), [-1, CLS])
        reg = L.reshape(L.pool2d(reg, pool_type="avg", global_pooling=True), [-1, 4 * CLS])
        losses += heads(cls, reg, labels, targets, inw, outw)
        last = (L.softmax(cls), reg)
    if args.head in ("fast", "both"):
        f = L.roi_pool(body, rois, pooled_height=4, pooled_width=4, spatial_scale=1.0 / 8)
        f = L.fc(f, 32, act="relu", param_attr=ParamAttr(initializer=MSRA(False)))
        cls = L.fc(f, CLS, param_attr=Normal(0.0, 0.01))
        reg = L.fc(f, 4 * CLS, param_attr=Normal(0.0, 0.001))
        losses += heads(cls, reg, labels, targets, inw, outw)
        last = (L.softmax(cls), reg)
    rois.stop_gradient = True
    prior_var = L.fill_constant([4], "float32", 0.1)
    decoded, assigned = L.box_decoder_and_assign(rois, prior_var, last[1], last[0], 4.135)
    for x in losses:
        x.persistable = True
    return losses, assigned, decoded


def heads(cls, reg, labels, targets, inw, outw):
    labels = L.cast(labels, "int64")
    labels.stop_gradient = True
    lc = L.reduce_mean(L.softmax_with_cross_entropy(logits=cls, label=labels, numeric_stable_mode=True))
    lr = L.reduce_mean(L.smooth_l1(x=reg, y=targets, inside_weight=inw, outside_weight=outw, sigma=1.0))
    return [lc, lr]


def roidb(n):
    out = []
    r = np.random.RandomState(7)
    for i in range(n):
        img = r.rand(3, 64, 64).astype("float32") - 0.5
        k = r.randint(1, 4)
        xy = r.randint(0, 30, (k, 2))
        wh = r.randint(12, 32, (k, 2))
        b = np.concatenate([xy, xy + wh], 1).astype("float32")
        c = r.randint(1, CLS, (k, 1)).astype("int32")
        for (x0, y0, x1, y1), l in zip(b.astype(int), c[:, 0]):
            img[l - 1, y0:y1, x0:x1] += 1.0
        out.append((img, b, c, np.zeros((k, 1), "int32"), np.array([64, 64, 1.0], "float32")))
    return out


def main():
    prog, startup = fluid.Program(), fluid.Program()
    prog.random_seed = startup.random_seed = 90
    with fluid.program_guard(prog, startup):
        losses, assigned, decoded = build()
        total = L.sums(losses)
        infer = prog.clone(for_test=True)
        lr = fluid.layers.cosine_decay(0.01, step_each_epoch=10, epochs=5)
        fluid.optimizer.MomentumOptimizer(lr, 0.9, regularization=fluid.regularizer.L2Decay(1e-4)).minimize(
            total
        )
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup)
    feeder = fluid.DataFeeder(["image", "gt_box", "gt_label", "is_crowd", "im_info"], place, program=prog)
    db = roidb(12)
    for it in range(args.iters):
        batch = [db[(2 * it + k) % len(db)] for k in range(2)]
        vals = exe.run(prog, feed=feeder.feed(batch), fetch_list=losses + [total])
        print("iter %d: " % it + ", ".join("%.6f" % float(v) for v in vals))
    t, a, d = exe.run(
        infer, feed=feeder.feed(db[:2]), fetch_list=[total, assigned, decoded], return_numpy=False
    )
    a, d = np.array(a), np.array(d)
    print("test", np.array(t), a.shape, d.shape, "%.4f %.4f" % (np.abs(a).mean(), np.abs(d).mean()))


if __name__ == "__main__":
    main()
