"""The n-gram model of the book, on servers and trainers that are told by the environment of the cluster."""
import json
import os
import sys

import numpy as np
import paddle
import paddle.fluid as fluid

DICT, EMBED, HIDDEN, BATCH = 37, 8, 16, 12
out = sys.argv[1]


def reader_of(trainer_id):
    def reader():
        rng = np.random.RandomState(trainer_id)
        for _ in range(60):
            first = rng.randint(DICT)
            yield tuple(int((first + k * k) % DICT) for k in range(5))
    return reader


def train(is_sparse=True, is_local=False):
    words = [fluid.layers.data(name=n, shape=[1], dtype="int64") for n in ("firstw", "secondw", "thirdw", "forthw", "nextw")]
    embeds = [fluid.layers.embedding(input=w, size=[DICT, EMBED], dtype="float32", is_sparse=is_sparse, param_attr="shared_w") for w in words[:4]]
    concat = fluid.layers.concat(input=embeds, axis=1)
    hidden1 = fluid.layers.fc(input=concat, size=HIDDEN, act="sigmoid")
    predict = fluid.layers.fc(input=hidden1, size=DICT, act="softmax")
    cost = fluid.layers.cross_entropy(input=predict, label=words[4])
    avg_cost = fluid.layers.mean(cost)
    sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.05)
    sgd_optimizer.minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)

    def train_loop(main_program, trainer_id):
        train_reader = paddle.batch(reader_of(trainer_id), BATCH)
        feeder = fluid.DataFeeder(feed_list=words, place=place)
        exe.run(fluid.default_startup_program())
        losses = []
        for pass_id in range(2):
            for data in train_reader():
                avg_cost_np = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
                losses.append(float(avg_cost_np[0]))
        if trainer_id == 0:
            fluid.io.save_inference_model(os.path.join(out, "model"), ["firstw", "secondw", "thirdw", "forthw"], [predict], exe)
        names = [p.name for p in main_program.all_parameters()]
        params = {n: np.array(fluid.global_scope().find_var(n).get_tensor()).tolist() for n in names}
        json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % trainer_id), "w"))

    if is_local:
        train_loop(fluid.default_main_program(), 0)
        return
    port = os.getenv("PADDLE_PSERVER_PORT", "6174")
    pserver_ips = os.getenv("PADDLE_PSERVER_IPS")
    eplist = []
    for ip in pserver_ips.split(","):
        eplist.append(":".join([ip, port]))
    pserver_endpoints = os.getenv("PADDLE_PSERVER_ENDPOINTS") or ",".join(eplist)
    trainers = int(os.getenv("PADDLE_TRAINERS"))
    current_endpoint = os.getenv("CURRENT_ENDPOINT") or os.getenv("POD_IP") + ":" + port
    trainer_id = int(os.getenv("PADDLE_TRAINER_ID"))
    training_role = os.getenv("PADDLE_TRAINING_ROLE", "TRAINER")
    t = fluid.DistributeTranspiler()
    t.transpile(trainer_id, pservers=pserver_endpoints, trainers=trainers)
    if training_role == "PSERVER":
        pserver_prog = t.get_pserver_program(current_endpoint)
        pserver_startup = t.get_startup_program(current_endpoint, pserver_prog)
        exe.run(pserver_startup)
        exe.run(pserver_prog)
    elif training_role == "TRAINER":
        train_loop(t.get_trainer_program(), trainer_id)
        exe.close()


fluid.default_startup_program().random_seed = 90
fluid.default_main_program().random_seed = 90
train()
