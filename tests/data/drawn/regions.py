"""Regions of feature maps, masks, suppression: pools, warps, deformable convolution."""
import numpy as np
from caselib import case

R = np.random.RandomState(18)


def f(*shape, **k):
    return R.uniform(k.get("low", -1), k.get("high", 1), shape).astype(k.get("dtype", "float32"))


def boxes(n, size=14., least=1., most=10., dtype="float32"):
    a = R.uniform(-1, size, (n, 2))
    return np.concatenate([a, a + R.uniform(least, most, (n, 2))], 1).round(2).astype(dtype)


def masks(name, gts=(2, 1), rois=(5, 4), classes=3, resolution=6, crowd=None, polys=None):
    lens, points, sizes, lab = [], [], [], []
    for n in gts:
        for _ in range(n):
            count = R.randint(1, 3)
            lens.append(count)
            for _ in range(count):
                m = R.randint(3, 7)
                angle = np.sort(R.uniform(0, 6.28, m))
                c, r = R.uniform(8, 30, 2), R.uniform(4, 14, m)
                points.append(np.stack([c[0] + r * np.cos(angle), c[1] + r * np.sin(angle)], 1))
                sizes.append(m)
    seg = (np.concatenate(points).astype("float32").round(2), list(gts), lens, sizes)
    r = np.concatenate([R.uniform(0, 20, (sum(rois), 2)), R.uniform(21, 45, (sum(rois), 2))], 1).astype("float32").round(2)
    lab = R.randint(0, classes, (sum(rois), 1)).astype("int32")
    lab[0] = 1
    c = np.zeros((sum(gts), 1), "int32") if crowd is None else np.array(crowd, "int32").reshape(-1, 1)
    feeds = dict(i=np.array([[48., 48., 1.0 + 0.5 * n] for n in range(len(gts))], "float32"), k=(R.randint(1, classes, (sum(gts), 1)).astype("int32"), list(gts)),
                 w=(c, list(gts)), g=seg, r=(r, list(rois)), l=(lab, list(rois)))
    return case(name, "outs = list(L.generate_mask_labels(i, k, w, g, r, l, num_classes=%d, resolution=%d))" % (classes, resolution), feeds, batch=["i"])


def cases():
    yield masks("mask_labels")
    yield masks("mask_labels_fine", resolution=14, classes=2)
    yield masks("mask_labels_three", gts=(2, 3, 1), rois=(4, 3, 6))
    yield masks("mask_labels_crowd", crowd=[0, 1, 0], resolution=9)
    yield masks("mask_labels_one", gts=(1,), rois=(3,), resolution=20)
    m = masks("mask_labels_none")
    m["feeds"]["l"] = (m["feeds"]["l"][0] * 0,) + m["feeds"]["l"][1:]
    yield m
    yield case("polygon_box", "outs = L.polygon_box_transform(x)", dict(x=f(2, 8, 3, 4)))
    yield case("polygon_box_named", "outs = L.polygon_box_transform(x, name='pb')", dict(x=f(1, 4, 2, 5, dtype="float64")))
    for n, (shape, rois, oc, scale, ph, pw) in enumerate([((2, 8, 6, 7), (3, 2), 2, 0.5, 2, 2), ((1, 12, 5, 5), (4,), 2, 1.0, 3, 2), ((2, 3, 6, 6), (2, 3), 3, 0.25, 1, 1), ((1, 18, 9, 9), (5,), 2, 0.7, 3, 3)]):
        yield case("psroi_%d" % n, "outs = L.psroi_pool(x, r, %d, %s, %d, %d%s)" % (oc, scale, ph, pw, ", name='ps'" if n == 1 else ""),
                   dict(x=f(*shape), r=(boxes(sum(rois)), list(rois))), "x")
    yield case("psroi_double", "outs = L.psroi_pool(x, r, 2, 0.5, 2, 2)", dict(x=f(2, 8, 6, 7, dtype="float64"), r=(boxes(4, dtype="float64"), [1, 3])), "x")
    for n, (shape, rois, scale, ph, pw) in enumerate([((2, 3, 8, 9), (3, 2), 0.5, 2, 3), ((1, 2, 6, 6), (4,), 1.0, 3, 3), ((2, 1, 5, 7), (2, 1), 0.25, 1, 1), ((1, 2, 12, 12), (3,), 0.8, 4, 2)]):
        yield case("prroi_%d" % n, "outs = L.prroi_pool(x, r, %s, %d, %d%s)" % (scale, ph, pw, ", name='pr'" if n == 1 else ""),
                   dict(x=f(*shape), r=(boxes(sum(rois)), list(rois))), "x r")
    yield case("prroi_nums", "outs = L.prroi_pool(x, r, 0.5, 2, 2, batch_roi_nums=n)", dict(x=f(2, 3, 8, 9), r=boxes(5), n=np.array([2, 3], "int64")), "x r")
    yield case("prroi_out", "outs = L.prroi_pool(x, r, 1.0, 2, 2)", dict(x=f(1, 2, 5, 5), r=(np.array([[-3., -2., 2., 3.], [3., 3., 9., 8.], [1., 1., 2., 3.]], "float32"), [3])), "x r")
    for n, (c, oc, k, stride, pad, dil, g, dg, step) in enumerate([
            (4, 6, 3, 1, 1, 1, 1, 1, 1), (4, 4, 2, 2, 0, 1, 2, 2, 2), (4, 2, 3, 1, 2, 2, 1, 2, 64), (3, 3, 1, 1, 0, 1, 3, 1, 1), (2, 4, 3, 2, 1, 1, 1, 1, 3)]):
        h, w, batch = 6, 7, (2 if step != 3 else 3)
        oh, ow = [(s + 2 * pad - (dil * (k - 1) + 1)) // stride + 1 for s in (h, w)]
        args = "num_filters=%d, filter_size=%d, stride=%d, padding=%d, dilation=%d, groups=%d, deformable_groups=%d, im2col_step=1" % (oc, k, stride, pad, dil, g, dg)
        x, o, m = f(batch, c, h, w), f(batch, 2 * dg * k * k, oh, ow, low=-2, high=2), f(batch, dg * k * k, oh, ow, low=0)
        yield case("deform_v2_%d" % n, "outs = L.deformable_conv(x, o, m, %s)" % args, dict(x=x, o=o, m=m), "x o m params")
        yield case("deform_v1_%d" % n, "outs = L.deformable_conv(x, o, None, %s, modulated=False, bias_attr=%s)" % (args, bool(n % 2)), dict(x=x, o=o), "x o params")
    yield case("deform_pair", "outs = L.deformable_conv(x, o, m, 3, [3, 2], stride=[1, 2], padding=[1, 0], dilation=[1, 1], deformable_groups=1, im2col_step=1, name='dc')",
               dict(x=f(1, 2, 5, 6), o=f(1, 12, 5, 3), m=f(1, 6, 5, 3)), "x o m params")
    for n, (shape, rois, k) in enumerate([
            ((2, 8, 6, 7), (3, 2), dict(pooled_height=2, pooled_width=2, group_size=[2, 2], position_sensitive=True, sample_per_part=2, trans_std=0.1)),
            ((1, 3, 7, 6), (4,), dict(pooled_height=3, pooled_width=3, sample_per_part=4, trans_std=0.2, spatial_scale=0.5)),
            ((1, 3, 7, 6), (3,), dict(pooled_height=2, pooled_width=2, no_trans=True, spatial_scale=0.7)),
            ((2, 2, 8, 8), (2, 2), dict(pooled_height=4, pooled_width=4, part_size=[2, 2], sample_per_part=2, trans_std=0.3))]):
        part = k.get("part_size", [k["pooled_height"], k["pooled_width"]])
        args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
        code = "outs = L.deformable_roi_pooling(x, r, t%s)" % args
        if n == 0:  # the layer of 1.8.5 fails on Python 3: a number of channels with a fraction
            code = """outs, count = [main.global_block().create_var(name=v, dtype="float32") for v in ("pooled", "counted")]
main.global_block().append_op(type="deformable_psroi_pooling", inputs={"Input": x, "ROIs": r, "Trans": t}, outputs={"Output": outs, "TopCount": count},
    attrs={"output_dim": 2, "group_size": [2, 2], "pooled_height": 2, "pooled_width": 2, "part_size": [2, 2], "sample_per_part": 2, "trans_std": 0.1, "no_trans": False, "spatial_scale": 1.0})"""
        yield case("deform_roi_%d" % n, code,
                   dict(x=f(*shape), r=(boxes(sum(rois)), list(rois)), t=f(sum(rois), 2, *part)), "x t")
    for n, (shape, rois, th, tw, scale) in enumerate([((2, 3, 8, 9), (2, 1), 3, 4, 1.0), ((1, 2, 10, 10), (3,), 5, 5, 0.5), ((2, 1, 7, 6), (1, 2), 2, 6, 0.7), ((1, 2, 12, 12), (2,), 6, 3, 1.0)]):
        q = []
        for _ in range(sum(rois)):
            a, s, d = R.uniform(1, 5, 2), R.uniform(3, 8, 2), R.uniform(-1, 1, 8)
            q.append(np.array([a[0], a[1], a[0] + s[0], a[1], a[0] + s[0], a[1] + s[1], a[0], a[1] + s[1]]) + d)
        yield case("perspective_%d" % n, "outs = list(L.roi_perspective_transform(x, r, %d, %d, %s))" % (th, tw, scale),
                   dict(x=f(*shape), r=((np.array(q) / scale).astype("float32").round(2), list(rois))), "x", through=[0])
    for n, (count, classes, k) in enumerate([(8, 2, dict(score_threshold=0.1, nms_top_k=-1, keep_top_k=-1)), (12, 3, dict(score_threshold=0.05, nms_top_k=9, keep_top_k=6, nms_threshold=0.5)),
                                             (10, 1, dict(score_threshold=0.3, nms_top_k=10, keep_top_k=10, background_label=-1, normalized=False)),
                                             (10, 4, dict(score_threshold=0.01, nms_top_k=400, keep_top_k=200, nms_eta=0.9, nms_threshold=0.7, background_label=0)), (5, 2, dict(score_threshold=0.99, nms_top_k=3, keep_top_k=3))]):
        base = boxes(3, 8., 3., 6.)
        b = (base[np.sort(R.randint(0, 3, count))] + R.uniform(-0.7, 0.7, (count, 4))).astype("float32")
        s = f(1, 1, count, low=0, high=0.9)
        args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
        yield case("locality_%d" % n, "outs = L.locality_aware_nms(b, s%s)" % args, dict(b=b[None], s=s))
        many = np.stack([b, b[::-1] + 0.3, b * 1.1]).astype("float32")
        k.pop("nms_eta", None), k.pop("nms_threshold", None)
        k.update([dict(post_threshold=0.1), dict(post_threshold=0.0, use_gaussian=True, gaussian_sigma=1.5), dict(post_threshold=0.2), dict(post_threshold=0.3, use_gaussian=True), dict(post_threshold=0.1)][n])
        args = "".join(", %s=%r" % kv for kv in sorted(k.items()))
        yield case("matrix_nms_%d" % n, "outs = L.matrix_nms(b, s%s)" % args, dict(b=many, s=f(3, classes, count, low=0, high=0.95)))
        yield case("matrix_nms_index_%d" % n, "outs = list(L.matrix_nms(b, s%s, return_index=True))" % args, dict(b=many, s=f(3, classes, count, low=0, high=0.95)))
    for n in range(3):
        base = np.array([[1., 1., 6., 2., 5., 7., 0., 6.], [8., 8., 13., 8., 13., 12., 8., 13.]], "float32")
        b = (base[np.sort(R.randint(0, 2, 7))] + R.uniform(-0.8, 0.8, (7, 8))).astype("float32")
        yield case("locality_quad_%d" % n, "outs = L.locality_aware_nms(b, s, 0.1, %d, 5, nms_threshold=%s)" % ([-1, 4, 9][n], [0.2, 0.5, 0.7][n]), dict(b=b[None], s=f(1, 1, 7, low=0)))
