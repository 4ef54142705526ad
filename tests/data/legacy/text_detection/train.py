# EAST-like text detection: geometry maps, dice + IoU loss, perspective RoIs for a small recogniser
from __future__ import print_function
import sys, os, random, math, logging
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import layers

logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout, level=logging.INFO)
logger = logging.getLogger("east")
IMG = 64


class EASTHead:
    def __init__(self, params):
        self.params = params

    def unet_fusion(self, feats):
        f = feats[::-1]
        h = f[0]
        for i in range(1, len(f)):
            h = layers.conv2d_transpose(
                h, num_filters=h.shape[1], filter_size=4, stride=2, padding=1, act="relu"
            )
            h = layers.concat([h, f[i]], axis=1)
            h = layers.conv2d(h, self.params["ch"][i], 3, padding=1, act=None, bias_attr=False)
            h = layers.batch_norm(h, act="relu")
        return h

    def __call__(self, feats):
        h = self.unet_fusion(feats)
        score = layers.conv2d(h, 1, 1, act="sigmoid")
        geo = (layers.conv2d(h, 8, 1, act="sigmoid") - 0.5) * 2 * self.params["scope"]
        return score, geo


def backbone(x):
    feats = []
    for i, ch in enumerate((8, 16, 24)):
        x = layers.conv2d(x, ch, 3, 2, 1, bias_attr=False)
        x = layers.batch_norm(x)
        x = layers.soft_relu(x) if i == 0 else layers.swish(x)
        feats.append(x)
    return feats


def losses(score, geo, l_score, l_geo, l_mask):
    inter = layers.reduce_sum(score * l_score * l_mask)
    union = layers.reduce_sum(score * l_mask) + layers.reduce_sum(l_score * l_mask)
    dice = 1 - 2 * inter / (union + 1e-5)
    gs = layers.split(geo, num_or_sections=8, dim=1)
    ls = layers.split(l_geo, num_or_sections=8, dim=1)
    total = 0
    for a, b in zip(gs, ls):
        d = layers.abs(a - b)
        sign = layers.cast(d < 1.0, "float32")
        sign.stop_gradient = True
        in_loss = sign * d * d * 0.5 + (1 - sign) * (d - 0.5)
        total += layers.reduce_mean(in_loss * l_score)
    return dice * 0.01 + total, dice, total


def sample(rng):
    img = rng.normal(0, 0.1, (3, IMG, IMG)).astype("float32")
    score = np.zeros((1, 32, 32), "float32")
    geo = np.zeros((8, 32, 32), "float32")
    x, y, w, h = rng.randint(4, 20), rng.randint(4, 40), rng.randint(20, 40), rng.randint(8, 16)
    img[:, y : y + h, x : x + w] += 0.8
    score[0, y // 2 : (y + h) // 2, x // 2 : (x + w) // 2] = 1
    quad = np.array([x, y, x + w, y, x + w, y + h, x, y + h], "float32")
    ys, xs = np.mgrid[:32, :32] * 2.0
    for i in range(8):
        geo[i] = (quad[i] - (xs if i % 2 == 0 else ys)) / 10.0
    return (
        img,
        score,
        geo * score,
        np.ones((1, 32, 32), "float32"),
        quad.reshape(1, 8),
        np.array([rng.randint(5)], "int64"),
    )


def main():
    random.seed(3)
    rng = np.random.RandomState(4)
    params = {"ch": [24, 16, 12], "scope": 4.0}
    startup, main_prog = fluid.Program(), fluid.Program()
    startup.random_seed, main_prog.random_seed = 8, 8
    with fluid.program_guard(main_prog, startup), fluid.unique_name.guard():
        image = fluid.data("image", [None, 3, IMG, IMG])
        l_score = fluid.data("score", [None, 1, 32, 32])
        l_geo = fluid.data("geo", [None, 8, 32, 32])
        l_mask = fluid.data("mask", [None, 1, 32, 32])
        quads = fluid.data("quads", [None, 8], lod_level=1)
        word = fluid.data("word", [None, 1], "int64")
        loader = fluid.io.DataLoader.from_generator(
            feed_list=[image, l_score, l_geo, l_mask, quads, word], capacity=4, iterable=False
        )
        feats = backbone(image)
        score, geo = EASTHead(params)(feats)
        det, dice, smooth = losses(score, geo, l_score, l_geo, l_mask)
        patch, mask, matrix = layers.roi_perspective_transform(feats[0], quads, 4, 12, 0.5)
        rec = layers.conv2d(patch, 8, 3, padding=1, act="relu")
        rec = layers.adaptive_pool2d(rec, [1, 3], "avg")
        logits = layers.fc(rec, 5)
        ce = layers.softmax_with_cross_entropy(logits, word)
        keep = layers.cast(layers.reduce_max(mask, dim=[1, 2, 3]), "float32")
        recloss = layers.reduce_mean(ce * layers.reshape(keep, [-1, 1]))
        loss = det + recloss * 0.1
        acc = layers.accuracy(layers.softmax(logits), word)
        restored = layers.polygon_box_transform(geo)
        test_prog = main_prog.clone(for_test=True)
        clip = fluid.clip.GradientClipByGlobalNorm(5.0)
        opt = fluid.optimizer.AdamOptimizer(
            learning_rate=fluid.layers.exponential_decay(0.003, 10, 0.9, True), grad_clip=clip
        )
        opt.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    data = [[sample(rng) for _ in range(4)] for _ in range(10)]
    loader.set_sample_list_generator(lambda: iter(data), places=fluid.CPUPlace())
    step = 0
    for epoch in range(5):
        loader.start()
        while True:
            try:
                l, d, s, r, a = exe.run(
                    main_prog, fetch_list=[loss, dice, smooth, recloss, acc], return_numpy=False
                )
                l, d, s, r, a = [np.array(v) for v in (l, d, s, r, a)]
                logger.info(
                    "epoch %d step %d loss %.6f dice %.6f smooth %.6f rec %.6f acc %.3f",
                    epoch,
                    step,
                    l[0],
                    d[0],
                    s[0],
                    r[0],
                    a[0],
                )
                step += 1
            except fluid.core.EOFException:
                loader.reset()
                break
    fluid.io.save_inference_model(
        "east_infer", [image.name, quads.name], [score, geo, restored, matrix], exe, main_program=test_prog
    )
    with fluid.scope_guard(fluid.Scope()):
        prog, feeds, fetches = fluid.io.load_inference_model("east_infer", exe)
        images = np.stack([s[0] for s in data[0]])
        qs = fluid.create_lod_tensor(np.concatenate([s[4] for s in data[0]]), [[1] * 4], fluid.CPUPlace())
        sc, ge, re, ma = exe.run(
            prog, feed={feeds[0]: images, feeds[1]: qs}, fetch_list=fetches, return_numpy=False
        )
        sc, ge, re, ma = [np.array(v) for v in (sc, ge, re, ma)]
    logger.info("%s %s %.5f %.5f", sc.shape, ma.shape, sc.mean(), np.abs(re).mean())
    # boxes of the first image with locality-aware NMS
    nms_prog = fluid.Program()
    with fluid.program_guard(nms_prog, fluid.Program()):
        b = fluid.data("b", [1, None, 8])
        s = fluid.data("s", [1, 1, None])
        out = layers.locality_aware_nms(
            b, s, score_threshold=0.3, nms_top_k=64, keep_top_k=8, nms_threshold=0.2, background_label=-1
        )
    ys, xs = np.where(sc[0, 0] > 0.3)
    if len(ys):
        off = np.stack([xs * 2.0, ys * 2.0] * 4, 1)
        boxes = (ge[0][:, ys, xs].T * 10 + off).astype("float32")[None]
        (o,) = exe.run(
            nms_prog,
            feed={"b": boxes, "s": sc[0, 0][ys, xs].astype("float32")[None, None]},
            fetch_list=[out],
            return_numpy=False,
        )
        o = np.array(o)
        logger.info("boxes %s", o.shape)
        for row in o[:4]:
            logger.info(" ".join(["%.2f"] * len(row)), *row)


if __name__ == "__main__":
    main()
