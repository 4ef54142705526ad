"""A click model as the recommendation examples of the era are written: roles by argparse, a py_reader, AUC."""
from __future__ import print_function

import argparse
import json
import logging
import os
import time

import numpy as np
import paddle
import paddle.fluid as fluid

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s")
logger = logging.getLogger("fluid")
logger.setLevel(logging.INFO)

FIELDS, SPACE = 4, 101


def parse_args():
    parser = argparse.ArgumentParser(description="distributed click model")
    parser.add_argument("--num_passes", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--embedding_size", type=int, default=6)
    parser.add_argument("--model_output_dir", type=str, default="models")
    parser.add_argument("--is_local", type=int, default=1)
    parser.add_argument("--cloud_train", type=int, default=0)
    parser.add_argument("--async_mode", action="store_true", default=False)
    parser.add_argument("--no_split_var", action="store_true", default=False)
    parser.add_argument("--role", type=str, default="pserver")
    parser.add_argument("--endpoints", type=str, default="127.0.0.1:6000")
    parser.add_argument("--current_endpoint", type=str, default="127.0.0.1:6000")
    parser.add_argument("--trainer_id", type=int, default=0)
    parser.add_argument("--trainers", type=int, default=1)
    return parser.parse_args()


def network(args):
    dense = fluid.layers.data(name="dense_input", shape=[5], dtype="float32")
    sparse = [fluid.layers.data(name="C" + str(i), shape=[1], lod_level=1, dtype="int64") for i in range(FIELDS)]
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    words = [dense] + sparse + [label]
    reader = fluid.layers.create_py_reader_by_data(capacity=64, feed_list=words, name="py_reader", use_double_buffer=True)
    words = fluid.layers.read_file(reader)

    def embedding(ids):
        table = fluid.layers.embedding(
            input=ids, is_sparse=True, size=[SPACE, args.embedding_size],
            param_attr=fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform()))
        return fluid.layers.sequence_pool(input=table, pool_type="average")

    concated = fluid.layers.concat(list(map(embedding, words[1:-1])) + words[0:1], axis=1)
    fc = concated
    for i, width in enumerate((16, 8)):
        fc = fluid.layers.fc(input=fc, size=width, act="relu", name="fc%d" % i, param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.Normal(scale=0.3)))
    predict = fluid.layers.fc(input=fc, size=2, act="softmax", param_attr=fluid.ParamAttr(
        name="out_w", initializer=fluid.initializer.Normal(scale=0.3)))
    cost = fluid.layers.cross_entropy(input=predict, label=words[-1])
    avg_cost = fluid.layers.reduce_sum(cost)
    auc_var, batch_auc_var, auc_states = fluid.layers.auc(input=predict, label=words[-1], num_thresholds=2 ** 10, slide_steps=20)
    return avg_cost, auc_var, batch_auc_var, reader, words, predict


def train_data(trainer_id):
    def read():
        rng = np.random.RandomState(11 + trainer_id)
        for _ in range(96):
            dense = rng.rand(5).astype("float32").tolist()
            ids = [rng.randint(0, SPACE, rng.randint(1, 4)).tolist() for _ in range(FIELDS)]
            yield [dense] + ids + [[int(dense[0] + dense[1] > 1)]]
    return read


def train_loop(args, train_program, reader, data_list, loss, auc_var, batch_auc_var, trainer_id, predict):
    py_reader = paddle.batch(train_data(trainer_id), batch_size=args.batch_size)
    reader.decorate_paddle_reader(py_reader)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    exec_strategy = fluid.ExecutionStrategy()
    build_strategy = fluid.BuildStrategy()
    build_strategy.reduce_strategy = fluid.BuildStrategy.ReduceStrategy.AllReduce
    exec_strategy.num_threads = 1
    if args.is_local == 0:
        build_strategy.async_mode = args.async_mode
    pe = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name, main_program=train_program,
                                build_strategy=build_strategy, exec_strategy=exec_strategy)
    losses = []
    for pass_id in range(args.num_passes):
        start, batch_id = time.time(), 0
        reader.start()
        try:
            while True:
                loss_val, auc_val, batch_auc_val = pe.run(fetch_list=[loss.name, auc_var.name, batch_auc_var.name])
                loss_val = np.mean(loss_val)
                auc_val = np.mean(auc_val)
                losses.append(float(loss_val))
                if batch_id % 2 == 0:
                    logger.info("TRAIN --> pass: {} batch: {} loss: {} auc: {}".format(
                        pass_id, batch_id, loss_val / args.batch_size, auc_val))
                batch_id += 1
        except fluid.core.EOFException:
            reader.reset()
        print("pass_id: %d, pass_time_cost: %f" % (pass_id, time.time() - start))
        model_dir = args.model_output_dir + "/pass-" + str(pass_id)
        if args.trainer_id == 0:
            fluid.io.save_inference_model(model_dir, [d.name for d in data_list[:-1]], [predict], exe, main_program=train_program)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    params = {n: np.array(fluid.global_scope().find_var(n).get_tensor()).tolist() for n in names}
    with open(os.path.join(args.model_output_dir, "trainer-%d.json" % trainer_id), "w") as out:
        json.dump({"losses": losses, "params": params}, out)
    return exe


def train():
    args = parse_args()
    os.environ["CPU_NUM"] = "1"
    fluid.default_startup_program().random_seed = 1
    fluid.default_main_program().random_seed = 1
    if not os.path.isdir(args.model_output_dir):
        os.mkdir(args.model_output_dir)
    loss, auc_var, batch_auc_var, reader, words, predict = network(args)
    optimizer = fluid.optimizer.Adam(learning_rate=1e-2)
    optimizer.minimize(loss)
    if args.cloud_train:
        port = os.getenv("PADDLE_PORT", "6174")
        if os.getenv("PADDLE_PSERVERS", ""):
            args.endpoints = ",".join(":".join([ip, port]) for ip in os.getenv("PADDLE_PSERVERS").split(","))
        args.trainers = int(os.getenv("PADDLE_TRAINERS_NUM", "1"))
        args.current_endpoint = os.getenv("POD_IP", "localhost") + ":" + port
        args.role = os.getenv("TRAINING_ROLE", "TRAINER").lower()
        args.trainer_id = int(os.getenv("PADDLE_TRAINER_ID", "0"))
        args.is_local = bool(int(os.getenv("PADDLE_IS_LOCAL", "0")))
    if args.is_local:
        logger.info("run local training")
        train_loop(args, fluid.default_main_program(), reader, words, loss, auc_var, batch_auc_var, 0, predict)
    else:
        logger.info("run dist training")
        config = fluid.DistributeTranspilerConfig()
        config.slice_var_up = not args.no_split_var
        t = fluid.DistributeTranspiler(config=config)
        t.transpile(args.trainer_id, pservers=args.endpoints, trainers=args.trainers, sync_mode=not args.async_mode)
        if args.role == "pserver" or args.role == "PSERVER":
            logger.info("run pserver")
            prog = t.get_pserver_program(args.current_endpoint)
            startup = t.get_startup_program(args.current_endpoint, pserver_program=prog)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            exe.run(prog)
        elif args.role == "trainer" or args.role == "TRAINER":
            logger.info("run trainer")
            train_prog = t.get_trainer_program()
            exe = train_loop(args, train_prog, reader, words, loss, auc_var, batch_auc_var, args.trainer_id, predict)
            exe.close()


if __name__ == "__main__":
    train()
