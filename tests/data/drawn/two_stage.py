"""Two-stage detectors: proposals, targets, labels, pyramids of features."""
import numpy as np
from caselib import case

R = np.random.RandomState(17)


def f(*shape, **k):
    return R.uniform(k.get("low", -1), k.get("high", 1), shape).astype(k.get("dtype", "float32"))


def boxes(n, size=60., least=4., most=40., dtype="float32"):
    a = R.uniform(0, size, (n, 2))
    return np.concatenate([a, np.minimum(a + R.uniform(least, most, (n, 2)), size)], 1).round(1).astype(dtype)


def anchors(h, w, sizes, stride=8., dtype="float32"):
    y, x, s = np.meshgrid(np.arange(h), np.arange(w), np.arange(len(sizes)), indexing="ij")
    half = np.array(sizes)[s] / 2
    cx, cy = x * stride + stride / 2, y * stride + stride / 2
    return np.stack([cx - half, cy - half, cx + half - 1, cy + half - 1], -1).astype(dtype)


def info(n, h=64., w=72., scales=(1.0, 1.5, 2.0)):
    return np.array([[h - 3 * i, w - 2 * i, scales[i % len(scales)]] for i in range(n)], "float32")


def proposals(tag, n=2, h=3, w=4, sizes=(8., 20., 33.), shift=1.0, scores=None, **k):
    a = len(sizes)
    args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
    feeds = dict(s=f(n, a, h, w, low=0) if scores is None else scores, d=f(n, 4 * a, h, w, low=-shift, high=shift), i=info(n),
                 a=anchors(h, w, sizes, 16.), v=np.tile(np.array([.1, .1, .2, .2], "float32") * 10, (h, w, a, 1)))
    return case(tag, "outs = list(L.generate_proposals(s, d, i, a, v%s))" % args, feeds, batch=["s", "d", "i"])


def ragged(*groups):
    return np.concatenate(groups), [len(g) for g in groups]


def rpn(name, gts=(3, 2), crowd=None, h=5, w=6, sizes=(8., 16., 24.), **k):
    k.setdefault("use_random", False)
    n, count = len(gts), h * w * len(sizes)
    args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
    g = ragged(*[boxes(m) for m in gts])
    c = np.zeros((sum(gts), 1), "int32") if crowd is None else np.array(crowd, "int32").reshape(-1, 1)
    code = "outs = list(L.rpn_target_assign(p, c, a, v, g, w, i%s))" % args
    box = anchors(h, w, sizes).reshape(-1, 4)
    feeds = dict(p=f(n, count, 4), c=f(n, count, 1), a=box, v=np.ones_like(box), g=g, w=(c, list(gts)), i=info(n, 44., 52.))
    return case(name, code, feeds, "p c", batch=["p", "c", "i"])


def retina(name, gts=(3, 2), crowd=None, h=5, w=6, sizes=(8., 16., 24.), classes=4, **k):
    n, count = len(gts), h * w * len(sizes)
    args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
    g = ragged(*[boxes(m) for m in gts])
    c = np.zeros((sum(gts), 1), "int32") if crowd is None else np.array(crowd, "int32").reshape(-1, 1)
    lab = R.randint(1, classes + 1, (sum(gts), 1)).astype("int32")
    code = "outs = list(L.retinanet_target_assign(p, c, a, v, g, l, w, i, num_classes=%d%s))" % (classes, args)
    box = anchors(h, w, sizes).reshape(-1, 4)
    feeds = dict(p=f(n, count, 4), c=f(n, count, classes), a=box, v=np.ones_like(box), g=g, l=(lab, list(gts)), w=(c, list(gts)), i=info(n, 44., 52.))
    return case(name, code, feeds, "p c", batch=["p", "c", "i"])


def labels(name, rois=(12, 9), gts=(3, 2), crowd=None, classes=4, near=True, **k):
    k.setdefault("use_random", False)
    n = len(gts)
    g = [boxes(m) for m in gts]
    i = info(n)
    r = []
    for m, t, s in zip(rois, g, i[:, 2]):
        around = t[R.randint(0, len(t), m)] + R.uniform(-9, 9, (m, 4)).astype("float32")
        around[:, 2:] = np.maximum(around[:, 2:], around[:, :2] + 1)
        r.append((around * s if near else boxes(m) * s).astype("float32"))
    c = np.zeros((sum(gts), 1), "int32") if crowd is None else np.array(crowd, "int32").reshape(-1, 1)
    k["class_nums"] = classes
    args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
    feeds = dict(r=ragged(*r), k=(R.randint(1, classes, (sum(gts), 1)).astype("int32"), list(gts)), w=(c, list(gts)), g=ragged(*g), i=i)
    return case(name, "outs = list(L.generate_proposal_labels(r, k, w, g, i%s))" % args, feeds, batch=["i"])


def cases():
    yield proposals("proposals")
    yield proposals("proposals_top", pre_nms_top_n=12, post_nms_top_n=5, nms_thresh=0.7)
    yield proposals("proposals_small", shift=3.0, min_size=9.0, eta=0.9, nms_thresh=0.8)
    yield proposals("proposals_one", n=1, h=1, w=1, sizes=(8.,), post_nms_top_n=3)
    yield proposals("proposals_three", n=3, shift=0.3, min_size=30.0)
    yield proposals("proposals_none", n=2, shift=0.1, min_size=500.0)
    yield proposals("proposals_no_nms", n=1, nms_thresh=0.0)
    yield proposals("proposals_num", n=2, return_rois_num=True, post_nms_top_n=4)
    yield proposals("proposals_named", n=2, name="prop", pre_nms_top_n=-1, post_nms_top_n=-1)
    yield rpn("rpn")
    yield rpn("rpn_few", rpn_batch_size_per_im=8, rpn_fg_fraction=0.25)
    yield rpn("rpn_overlap", rpn_positive_overlap=0.3, rpn_negative_overlap=0.5, rpn_batch_size_per_im=20)
    yield rpn("rpn_straddle", rpn_straddle_thresh=-1.0, rpn_batch_size_per_im=16)
    yield rpn("rpn_straddle_wide", rpn_straddle_thresh=6.0)
    yield rpn("rpn_crowd", crowd=[0, 1, 0, 0, 1])
    yield rpn("rpn_one", gts=(1,), rpn_batch_size_per_im=300)
    yield rpn("rpn_three", gts=(2, 4, 1), rpn_batch_size_per_im=30, rpn_positive_overlap=0.5)
    yield rpn("rpn_fake", gts=(2, 4), rpn_batch_size_per_im=40, rpn_positive_overlap=0.1, rpn_negative_overlap=0.9)
    yield retina("retina")
    yield retina("retina_overlap", positive_overlap=0.3, negative_overlap=0.2)
    yield retina("retina_crowd", crowd=[0, 1, 0, 0, 0])
    yield retina("retina_one", gts=(1,), classes=1)
    yield retina("retina_three", gts=(2, 1, 3), classes=7, positive_overlap=0.4, negative_overlap=0.4)
    yield labels("labels")
    yield labels("labels_few", batch_size_per_im=6, fg_fraction=0.5, fg_thresh=0.5)
    yield labels("labels_crowd", crowd=[1, 0, 0, 0, 1], bg_thresh_lo=0.1)
    yield labels("labels_agnostic", is_cls_agnostic=True, classes=2, bbox_reg_weights=[0.5, 0.25, 1.0, 2.0])
    yield labels("labels_cascade", is_cascade_rcnn=True, fg_thresh=0.5, bg_thresh_hi=0.5)
    yield labels("labels_cascade_three", gts=(2, 3, 1), rois=(7, 9, 5), is_cascade_rcnn=True, fg_thresh=0.6, bg_thresh_hi=0.6, is_cls_agnostic=True, classes=2)
    yield labels("labels_cascade_crowd", gts=(2, 3, 1), rois=(7, 9, 5), crowd=[0, 1, 1, 0, 0, 0], is_cascade_rcnn=True, fg_thresh=0.3, bg_thresh_lo=0.05)
    yield labels("labels_far", near=False, rois=(5, 7, 4), gts=(1, 2, 2), bg_thresh_hi=0.3, fg_thresh=0.4)
    yield labels("labels_one", rois=(20,), gts=(4,), batch_size_per_im=10, fg_fraction=0.9, classes=6)
    sides = np.array([[0, 0, 10, 10], [5, 5, 120, 90], [2, 3, 300, 400], [0, 0, 31, 31], [1, 1, 60, 70], [0, 0, 223, 223], [9, 9, 9, 9]], "float32")
    for n, (rois, low, high, refer, scale) in enumerate([
            ((sides, [3, 4]), 2, 5, 4, 224), ((sides, [7]), 3, 4, 3, 60), ((boxes(9, 500., 2., 400.), [4, 5]), 2, 6, 4, 100),
            ((boxes(5, 500., 2., 400.), [2, 3]), 4, 4, 4, 224), ((boxes(12, 900., 2., 700.), [5, 3, 4]), 1, 5, 3, 150)]):
        code = "m, r = L.distribute_fpn_proposals(r, %d, %d, %d, %d%s)\nouts = m + [r]" % (low, high, refer, scale, ", name='fpn'" if n == 2 else "")
        yield case("distribute_%d" % n, code, dict(r=rois))
    for n, (counts, top) in enumerate([([[3, 2], [2, 4]], 5), ([[3, 2], [2, 4]], 100), ([[1, 1, 2], [2, 1, 1], [1, 3, 1]], 8), ([[4]], 2), ([[4, 4], [3, 1]], 9)]):
        feeds, rois, scores = {}, [], []
        for m, c in enumerate(counts):
            feeds["r%d" % m], feeds["s%d" % m] = (boxes(sum(c)), c), (f(sum(c), 1, low=0), c)
            rois.append("r%d" % m), scores.append("s%d" % m)
        code = "outs = L.collect_fpn_proposals([%s], [%s], 2, %d, %d%s)" % (", ".join(rois), ", ".join(scores), 1 + len(counts), top, ", name='col'" if n == 1 else "")
        yield case("collect_%d" % n, code, feeds)
    for n, (m, c, clip) in enumerate([(3, 2, 4.135), (5, 4, 0.5), (1, 3, 4.135), (6, 1, 2.0)]):
        feeds = dict(p=(boxes(m), [m]), v=np.array([.1, .1, .2, .2], "float32"), t=(f(m, 4 * c, low=-4, high=4), [m]), s=(f(m, c, low=0), [m]))
        yield case("decode_assign_%d" % n, "outs = list(L.box_decoder_and_assign(p, v, t, s, %s%s))" % (clip, ", name='d'" if n else ""), feeds)
    for n, (levels, images, classes, k) in enumerate([(2, 2, 3, {}), (1, 1, 2, dict(score_threshold=0.5, keep_top_k=3)), (3, 2, 4, dict(nms_top_k=7, nms_threshold=0.1)), (2, 3, 1, dict(keep_top_k=5, nms_eta=0.8, nms_threshold=0.7)), (2, 2, 2, dict(score_threshold=0.99))]):
        feeds, names = dict(i=info(images)), []
        for m in range(levels):
            a = anchors(3 - m, 4 - m, (8. * 2 ** m, 14. * 2 ** m), 16.).reshape(-1, 4)
            feeds.update({"b%d" % m: f(images, len(a), 4), "c%d" % m: f(images, len(a), classes, low=0), "a%d" % m: a})
            names.append(m)
        args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
        code = "outs = L.retinanet_detection_output([%s], [%s], [%s], i%s)" % (tuple(", ".join(s + str(m) for m in names) for s in "bca") + (args,))
        yield case("retina_output_%d" % n, code, feeds)
