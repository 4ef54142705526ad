"""Digits as in the first distributed examples: TRAINING_ROLE, PSERVERS, TRAINERS, SERVER_ENDPOINT."""
from __future__ import print_function
import json, os, sys
import numpy as np
import paddle
import paddle.fluid as fluid

out = sys.argv[1]
BATCH_SIZE, PASS_NUM = 10, 2
fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 7
images = fluid.layers.data(name="pixel", shape=[1, 12, 12], dtype="float32")
label = fluid.layers.data(name="label", shape=[1], dtype="int64")
conv_pool_1 = fluid.nets.simple_img_conv_pool(input=images, filter_size=3, num_filters=4, pool_size=2, pool_stride=2, act="relu")
conv_pool_2 = fluid.nets.simple_img_conv_pool(input=conv_pool_1, filter_size=3, num_filters=6, pool_size=2, pool_stride=2, act="relu")
predict = fluid.layers.fc(input=conv_pool_2, size=10, act="softmax")
cost = fluid.layers.cross_entropy(input=predict, label=label)
avg_cost = fluid.layers.mean(cost)
optimizer = fluid.optimizer.Adam(learning_rate=0.01)
optimize_ops, params_grads = optimizer.minimize(avg_cost)
batch_acc = fluid.layers.accuracy(input=predict, label=label)
inference_program = fluid.default_main_program().clone(for_test=True)
place = fluid.CPUPlace()
exe = fluid.Executor(place)

pserver_endpoints = os.getenv("PSERVERS")
trainers = int(os.getenv("TRAINERS"))
current_endpoint = os.getenv("SERVER_ENDPOINT")
training_role = os.getenv("TRAINING_ROLE", "TRAINER")
trainer_id = int(os.getenv("PADDLE_INIT_TRAINER_ID", "0"))
if not current_endpoint and training_role == "PSERVER":
    print("need env SERVER_ENDPOINT")
    exit(1)
print("build distributed transpiler with", pserver_endpoints, trainers)
t = fluid.DistributeTranspiler()
t.transpile(trainer_id, pservers=pserver_endpoints, trainers=trainers)


def digits(seed, count):
    def reader():
        rng = np.random.RandomState(seed)
        for _ in range(count):
            k = rng.randint(10)
            picture = rng.rand(144).astype("float32") * 0.2
            picture[k * 14:k * 14 + 14] += 1
            yield picture, k
    return reader


if training_role == "PSERVER":
    pserver_prog = t.get_pserver_program(current_endpoint)
    pserver_startup = t.get_startup_program(current_endpoint, pserver_prog)
    exe.run(pserver_startup)
    exe.run(pserver_prog)
elif training_role == "TRAINER":
    trainer_prog = t.get_trainer_program()
    feeder = fluid.DataFeeder(feed_list=[images, label], place=place)
    exe.run(fluid.default_startup_program())
    train_reader = paddle.batch(paddle.reader.buffered(digits(trainer_id, 50), 50), batch_size=BATCH_SIZE)
    test_reader = paddle.batch(digits(99, 40), batch_size=20)
    losses = []
    for pass_id in range(PASS_NUM):
        for batch_id, data in enumerate(train_reader()):
            acc_np, loss = exe.run(trainer_prog, feed=feeder.feed(data), fetch_list=[batch_acc, avg_cost])
            losses.append(float(np.array(loss)))
        tests = []
        for data in test_reader():
            tests.append(exe.run(inference_program, feed=feeder.feed(data), fetch_list=[avg_cost, batch_acc]))
        losses.append(float(np.mean([np.mean(v[0]) for v in tests])))
        print("pass %d test loss %f" % (pass_id, losses[-1]))
    params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in trainer_prog.global_block().all_parameters()}
    json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % trainer_id), "w"))
    exe.close()
else:
    print("environment var TRAINING_ROLE should be TRAINER or PSERVER")
