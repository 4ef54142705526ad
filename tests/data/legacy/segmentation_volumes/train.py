"""Volumetric segmentation (3-D U-Net, dice loss), resume in the middle."""

import argparse, os, shutil, six
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as nn


def parse():
    p = argparse.ArgumentParser(__doc__)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--out", default="snap")
    p.add_argument("--classes", type=int, default=3)
    a = p.parse_args()
    for k, v in sorted(six.iteritems(vars(a))):
        print("%s: %s" % (k, v))
    return a


def block(x, ch, is_test=False):
    for i in range(2):
        x = nn.conv3d(x, ch, 3, padding=1, bias_attr=False)
        pass
        x = nn.leaky_relu(x, 0.01) if i else nn.selu(x)
    return x


def unet(x, classes, dropout=0.1):
    skips = []
    for ch in (4, 8):
        x = block(x, ch)
        skips.append(x)
        x = nn.pool3d(x, 2, "max", 2)
    x = nn.dropout(block(x, 12), dropout, dropout_implementation="upscale_in_train", seed=17)
    pooled = nn.adaptive_pool3d(x, 1, "avg")
    x = x * nn.sigmoid(nn.conv3d(pooled, 12, 1))
    aux = nn.resize_trilinear(nn.conv3d(x, classes, 1), out_shape=[8, 16, 16], align_corners=False)
    for ch, s in zip((8, 4), skips[::-1]):
        x = nn.conv3d_transpose(x, ch, filter_size=2, stride=2)
        x = block(nn.concat([s, x], 1), ch)
    return nn.conv3d(x, classes, 1), aux


def net(args):
    vol = fluid.data("vol", [None, 1, 8, 16, 16])
    seg = fluid.data("seg", [None, 8, 16, 16, 1], "int64")
    logits, aux = unet(vol, args.classes)
    out = []
    for l in (logits, aux):
        l = nn.transpose(l, [0, 2, 3, 4, 1])
        p = nn.softmax(l)
        out.append(
            (
                nn.dice_loss(nn.reshape(p, [-1, 8 * 256, args.classes]), nn.reshape(seg, [-1, 8 * 256, 1])),
                nn.mean(nn.softmax_with_cross_entropy(l, seg)),
                p,
            )
        )
    loss = out[0][0] + out[0][1] + 0.4 * out[1][1]
    miou, wrong, right = nn.mean_iou(nn.argmax(out[0][2], -1), nn.squeeze(seg, [-1]), args.classes)
    return loss, out[0][0], out[0][1], miou


def reader(n, seed):
    def gen():
        r = np.random.RandomState(seed)
        for _ in range(n):
            v = r.randn(1, 8, 16, 16).astype("float32") * 0.3
            s = np.zeros((8, 16, 16, 1), "int64")
            for c in (1, 2):
                z, y, x = r.randint(0, 4), r.randint(0, 10), r.randint(0, 10)
                v[0, z : z + 4, y : y + 5, x : x + 5] += c
                s[z : z + 4, y : y + 5, x : x + 5] = c
            yield v, s

    return gen


def main():
    args = parse()
    fluid.default_main_program().random_seed = 11
    fluid.default_startup_program().random_seed = 11
    loss, dice, ce, miou = net(args)
    test = fluid.default_main_program().clone(for_test=True)
    opt = fluid.optimizer.Adamax(
        nn.polynomial_decay(args.lr, 40, 1e-4, 0.9), regularization=fluid.regularizer.L1Decay(1e-5)
    )
    opt.minimize(loss)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    gen = fluid.io.PyReader(
        feed_list=[fluid.default_main_program().global_block().var(n) for n in ("vol", "seg")],
        capacity=3,
        iterable=True,
        return_list=False,
    )
    gen.decorate_sample_list_generator(fluid.io.batch(reader(18, 1), 2), places=place)
    feeder = fluid.DataFeeder(["vol", "seg"], place)
    it = 0
    best = (0, -1)
    for ep in range(args.epochs):
        for data in gen():
            l, d, c, m = exe.run(feed=data, fetch_list=[loss.name, dice.name, ce.name, miou.name])
            print(
                "ep {} it {} loss {:.6f} dice {:.6f} ce {:.6f} miou {:.4f}".format(
                    ep, it, l.item(), d.item(), c.item(), float(m)
                )
            )
            it += 1
        ms = [
            exe.run(test, feed=feeder.feed(b), fetch_list=[loss, miou])
            for b in fluid.io.batch(reader(4, 2), 2)()
        ]
        ms = np.array(ms).reshape(len(ms), -1).mean(0)
        print("eval", ep, "%.6f %.4f" % tuple(ms))
        best = max(best, (ms[1], ep))
        path = os.path.join(args.out, str(ep))
        fluid.save(fluid.default_main_program(), os.path.join(path, "seg"))
        if ep == 3:  # go back to an older epoch
            fluid.load(fluid.default_main_program(), os.path.join(args.out, "2", "seg"), exe)
    print("best epoch %d %.4f" % (best[1], best[0]))
    state = fluid.io.load_program_state(os.path.join(args.out, "5", "seg"))
    print(len(state), "%.5f" % sum(float(np.abs(v).sum()) for v in state.values()))
    shutil.rmtree(args.out)


main()
