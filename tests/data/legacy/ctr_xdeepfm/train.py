#!/usr/bin/env python
"""xDeepFM with a teacher's scores, files of text read by processes, AUC, save and resume every pass."""

import argparse, logging, os, random, glob, sys
from collections import OrderedDict
import numpy as np
import paddle
import paddle.fluid as fluid
import network

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s")
logger = logging.getLogger("fluid")
logger.setLevel(logging.INFO)


def parse_args():
    parser = argparse.ArgumentParser(description="xdeepfm")
    parser.add_argument("--train_data_dir", default="data/train")
    parser.add_argument("--batch_size", type=int, default=20)
    parser.add_argument("--num_epoch", type=int, default=3)
    parser.add_argument("--model_output_dir", default="models")
    parser.add_argument("--layer_sizes_cin", type=lambda s: [int(v) for v in s.split(",")], default=[6, 4])
    parser.add_argument("--num_thread", type=int, default=2)
    return parser.parse_args()


F, D, V = 6, 4, 120


def generate(path, parts, rows):
    if not os.path.isdir(path):
        os.makedirs(path)
    rnd = random.Random(11)
    for p in range(parts):
        with open(os.path.join(path, "part-%05d" % p), "w") as f:
            for _ in range(rows):
                ids = [rnd.randrange(k * 20, k * 20 + 20) for k in range(F)]
                s = sum((i * 7 % 11) - 5 for i in ids) / 10.0
                y = int(rnd.random() < 1 / (1 + np.exp(-s)))
                f.write(
                    "%d\t%.4f\t%s\t%s\n"
                    % (
                        y,
                        1 / (1 + np.exp(-s)),
                        " ".join("%d:%.2f" % (i, rnd.uniform(0.5, 1.5)) for i in ids),
                        ",".join("%.3f" % rnd.gauss(0, 1) for _ in range(3)),
                    )
                )


class Reader(object):
    def file_reader(self, path):
        def reader():
            with open(path, "r") as f:
                for line in f:
                    y, s, sparse, dense = line.rstrip("\n").split("\t")
                    pairs = [p.split(":") for p in sparse.split()]
                    y = float(y)
                    # teacher's label: z = 2*? see teacher_student_sigmoid_loss
                    teacher = float(s) if int(pairs[0][0]) % 3 else (-1.0 if y else -2.0)
                    yield (
                        [int(a) for a, _ in pairs],
                        [float(b) for _, b in pairs],
                        [float(v) for v in dense.split(",")],
                        [teacher],
                        [int(y)],
                    )

        return reader

    def train(self, folder):
        return paddle.reader.chain(
            *[self.file_reader(p) for p in sorted(glob.glob(os.path.join(folder, "part-*")))]
        )


def build():
    idx = fluid.layers.data("feat_idx", shape=[F], dtype="int64")
    val = fluid.layers.data("feat_value", shape=[F], dtype="float32")
    dense = fluid.layers.data("dense", shape=[3], dtype="float32")
    teacher = fluid.layers.data("teacher", shape=[1], dtype="float32")
    label = fluid.layers.data("label", shape=[1], dtype="int64")
    logit = network.xdeepfm(idx, val, dense, F, D, [6, 4], [16, 8], V)
    cost = fluid.layers.teacher_student_sigmoid_loss(logit, teacher)
    prob = fluid.layers.sigmoid(logit)
    two = fluid.layers.concat([1 - prob, prob], 1)
    auc, batch_auc, states = fluid.layers.auc(input=two, label=label, num_thresholds=2**10, slide_steps=5)
    return (
        [idx, val, dense, teacher, label],
        fluid.layers.mean(cost),
        auc,
        batch_auc,
        states,
        fluid.layers.mean(fluid.layers.log_loss(prob, fluid.layers.cast(label, "float32"))),
    )


def main():
    args = parse_args()
    generate(args.train_data_dir, 3, 120)
    fluid.default_startup_program().random_seed = 2019
    fluid.default_main_program().random_seed = 2019
    inputs, loss, auc, bauc, states, ll = build()
    test = fluid.default_main_program().clone(for_test=True)
    optimizer = fluid.optimizer.AdamOptimizer(
        0.01, regularization=fluid.regularizer.L2DecayRegularizer(1e-4), lazy_mode=True
    )
    optimizer.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    names = [v.name for v in inputs]
    feeder = fluid.DataFeeder(names, fluid.CPUPlace())
    reader = paddle.reader.multiprocess_reader(
        [Reader().file_reader(p) for p in sorted(glob.glob(args.train_data_dir + "/part-*"))[:1]],
        use_pipe=True,
    )
    reader = paddle.reader.buffered(
        paddle.reader.chain(
            reader, *[Reader().file_reader(p) for p in sorted(glob.glob(args.train_data_dir + "/part-*"))[1:]]
        ),
        50,
    )
    for epoch in range(args.num_epoch):
        for st in states:
            t = fluid.global_scope().find_var(st.name).get_tensor()
            t.set(np.zeros(np.array(t).shape, "int64"), fluid.CPUPlace())
        for i, rows in enumerate(paddle.batch(reader, args.batch_size)()):
            l, a, b, k = exe.run(feed=feeder.feed(rows), fetch_list=[loss, auc, bauc, ll])
            print(
                "epoch %d batch %d loss %.6f auc %.6f batch_auc %.6f logloss %.6f"
                % (epoch, i, l[0], a[0], b[0], k[0])
            )
        fluid.io.save_persistables(
            exe,
            os.path.join(args.model_output_dir, "epoch_%d" % epoch),
            main_program=fluid.default_main_program(),
        )
        n = len(os.listdir(os.path.join(args.model_output_dir, "epoch_%d" % epoch)))
        print("saved %d files %.1f" % (n, n))
    # an old epoch again
    with fluid.scope_guard(fluid.Scope()):
        fluid.io.load_persistables(
            exe, os.path.join(args.model_output_dir, "epoch_0"), fluid.default_main_program()
        )
        rows = list(Reader().train(args.train_data_dir)())[:60]
        l, k = exe.run(test, feed=feeder.feed(rows), fetch_list=[loss, ll])
        print("epoch_0 loss %.6f logloss %.6f" % (l, k))


if __name__ == "__main__":
    main()
