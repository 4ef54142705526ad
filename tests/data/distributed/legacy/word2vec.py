"""Skip-gram with negative samples as the recommendation examples wrote it: sparse tables, a DataLoader, PaddleCloud."""
from __future__ import print_function

import argparse
import json
import os

import numpy as np
import paddle
import paddle.fluid as fluid

parser = argparse.ArgumentParser(description="word2vec")
parser.add_argument("--out", type=str, default="models")
parser.add_argument("--batch_size", type=int, default=20)
parser.add_argument("--embedding_size", type=int, default=8)
parser.add_argument("--dict_size", type=int, default=57)
parser.add_argument("--nce_num", type=int, default=4)
parser.add_argument("--base_lr", type=float, default=0.5)
parser.add_argument("--num_passes", type=int, default=2)
args = parser.parse_args()
trainer_id = int(os.getenv("PADDLE_TRAINER_ID", "0"))
trainers = int(os.getenv("PADDLE_TRAINERS_NUM", "1"))


def skip_gram():
    words = [
        fluid.data(name="input_word", shape=[None, 1], dtype="int64"),
        fluid.data(name="true_label", shape=[None, 1], dtype="int64"),
        fluid.data(name="neg_label", shape=[None, args.nce_num], dtype="int64"),
    ]
    loader = fluid.io.DataLoader.from_generator(capacity=64, feed_list=words, use_double_buffer=False, iterable=False)

    def table(ids, width, name):
        init = fluid.initializer.Uniform(-0.5 / width, 0.5 / width, seed=3) if name == "emb" else fluid.initializer.Constant(0.02)
        attr = fluid.ParamAttr(name=name, initializer=init)
        return fluid.layers.embedding(input=ids, is_sparse=True, size=[args.dict_size, width], param_attr=attr)

    neg = fluid.layers.reshape(words[2], shape=[-1, 1])
    neg.stop_gradient = True
    word = table(words[0], args.embedding_size, "emb")
    true_w, true_b = table(words[1], args.embedding_size, "emb_w"), table(words[1], 1, "emb_b")
    neg_w = fluid.layers.reshape(table(neg, args.embedding_size, "emb_w"), shape=[-1, args.nce_num, args.embedding_size])
    neg_b = fluid.layers.reshape(table(neg, 1, "emb_b"), shape=[-1, args.nce_num])
    dot = fluid.layers.reduce_sum(fluid.layers.elementwise_mul(word, true_w), dim=1, keep_dim=True)
    true_logits = fluid.layers.elementwise_add(dot, true_b)
    across = fluid.layers.matmul(fluid.layers.reshape(word, shape=[-1, 1, args.embedding_size]), neg_w, transpose_y=True)
    neg_logits = fluid.layers.elementwise_add(fluid.layers.reshape(across, shape=[-1, args.nce_num]), neg_b)
    ones = fluid.layers.fill_constant_batch_size_like(true_logits, shape=[-1, 1], value=1.0, dtype="float32")
    zeros = fluid.layers.fill_constant_batch_size_like(true_logits, shape=[-1, args.nce_num], value=0.0, dtype="float32")
    true_xent = fluid.layers.sigmoid_cross_entropy_with_logits(true_logits, ones)
    neg_xent = fluid.layers.sigmoid_cross_entropy_with_logits(neg_logits, zeros)
    cost = fluid.layers.elementwise_add(
        fluid.layers.reduce_sum(true_xent, dim=1), fluid.layers.reduce_sum(neg_xent, dim=1)
    )
    return fluid.layers.reduce_mean(cost), loader


def pairs():
    rng = np.random.RandomState(5)
    for number in range(160 * trainers):
        word, label = rng.randint(0, args.dict_size, 2)
        neg = rng.randint(0, args.dict_size, args.nce_num)
        if number % trainers == trainer_id:
            yield [word], [label], neg


def train_loop(program, loader, loss):
    loader.set_sample_list_generator(paddle.batch(pairs, batch_size=args.batch_size), places=fluid.CPUPlace())
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    compiled = fluid.CompiledProgram(program).with_data_parallel(loss_name=loss.name)
    losses = []
    for pass_id in range(args.num_passes):
        loader.start()
        try:
            while True:
                losses.append(float(np.mean(exe.run(compiled, fetch_list=[loss.name])[0])))
        except fluid.core.EOFException:
            loader.reset()
        if trainer_id == 0:
            folder = os.path.join(args.out, "pass-" + str(pass_id))
            fluid.io.save_persistables(executor=exe, dirname=folder, main_program=program)
    json.dump({"losses": losses, "params": {}}, open(os.path.join(args.out, "trainer-%d.json" % trainer_id), "w"))
    exe.close()


fluid.default_startup_program().random_seed = 1
avg_loss, data_loader = skip_gram()
rate = fluid.layers.exponential_decay(learning_rate=args.base_lr, decay_steps=10, decay_rate=0.8, staircase=True)
fluid.optimizer.SGD(learning_rate=rate).minimize(avg_loss)
ports = os.getenv("PADDLE_PORT", "6174").split(",")
endpoints = [":".join(pair) for pair in zip(os.getenv("PADDLE_PSERVERS", "").split(","), ports)]
current_endpoint = os.getenv("POD_IP", "localhost") + ":" + os.getenv("CUR_PORT", ports[0])
t = fluid.DistributeTranspiler()
t.transpile(trainer_id, pservers=",".join(endpoints), trainers=trainers)
if os.getenv("TRAINING_ROLE", "TRAINER") == "PSERVER":
    server = t.get_pserver_program(current_endpoint)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(t.get_startup_program(current_endpoint, pserver_program=server))
    exe.run(server)
else:
    train_loop(t.get_trainer_program(), data_loader, avg_loss)
