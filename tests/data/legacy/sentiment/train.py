from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import os
import sys
import time
import argparse
import random
import numpy as np
import paddle
import paddle.fluid as fluid
import nets
import utils
from utils import ArgumentGroup

parser = argparse.ArgumentParser(__doc__)
model_g = ArgumentGroup(parser, "model", "model configuration and paths.")
model_g.add_arg("model_type", str, "bigru_net", "Model type.")
model_g.add_arg("init_checkpoint", str, None, "Init checkpoint to resume training from.")
model_g.add_arg("checkpoints", str, "checkpoints", "Path to save checkpoints")
model_g.add_arg("save_steps", int, 25, "The steps interval to save checkpoints.")
train_g = ArgumentGroup(parser, "training", "training options.")
train_g.add_arg("epoch", int, 5, "Number of epoches for training.")
train_g.add_arg("lr", float, 0.02, "The Learning rate value for training.")
train_g.add_arg("batch_size", int, 8, "batch")
train_g.add_arg("random_seed", int, 0, "Random seed.")
run_g = ArgumentGroup(parser, "run_type", "running type options.")
run_g.add_arg("do_infer", bool, True, "")
args = parser.parse_args()
VOCAB = 60


def create_model(args, pyreader_name, num_labels, is_prediction=False):
    data = fluid.layers.data(name="src_ids", shape=[1], dtype='int64', lod_level=1)
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    reader = fluid.io.PyReader(feed_list=[data, label], capacity=4, iterable=False)
    network = getattr(nets, args.model_type)
    if is_prediction:
        return reader, network(data, None, VOCAB + 1, is_prediction=True), [data.name]
    ce_loss, acc, probs = network(data, label, VOCAB + 1)
    return reader, ce_loss, probs, label, acc


def evaluate(exe, test_program, test_pyreader, fetch_list, eval_phase):
    test_pyreader.start()
    total_cost, total_acc, total_num = [], [], []
    time_begin = time.time()
    while True:
        try:
            np_loss, np_acc, np_num = exe.run(program=test_program, fetch_list=fetch_list, return_numpy=False)
            total_cost.extend(np.array(np_loss) * len(np.array(np_num)))
            total_acc.extend(np.array(np_acc) * len(np.array(np_num)))
            total_num.append(len(np.array(np_num)))
        except fluid.core.EOFException:
            test_pyreader.reset()
            break
    print("[%s evaluation] avg loss: %f, avg acc: %f" % (
        eval_phase, np.sum(total_cost) / np.sum(total_num), np.sum(total_acc) / np.sum(total_num)))


def main(args):
    random.seed(11)
    np.random.seed(11)
    with open('vocab.txt', 'w') as f:
        f.writelines('w%d\n' % i for i in range(VOCAB))
    utils.write_corpus('train.tsv', 88, VOCAB, 1)
    utils.write_corpus('dev.tsv', 20, VOCAB, 2)
    vocab = utils.load_vocab('vocab.txt')
    exe = fluid.Executor(fluid.CPUPlace())
    startup_prog = fluid.Program()
    startup_prog.random_seed = 90
    train_program = fluid.Program()
    train_program.random_seed = 90
    with fluid.program_guard(train_program, startup_prog):
        with fluid.unique_name.guard():
            train_reader, loss, probs, label, acc = create_model(args, 'train_reader', 2)
            optimizer = fluid.optimizer.Adagrad(learning_rate=args.lr)
            optimizer.minimize(loss)
    test_prog = fluid.Program()
    with fluid.program_guard(test_prog, startup_prog):
        with fluid.unique_name.guard():
            test_reader, t_loss, t_probs, t_label, t_acc = create_model(args, 'test_reader', 2)
    test_prog = test_prog.clone(for_test=True)
    exe.run(startup_prog)
    if args.init_checkpoint:
        utils.init_checkpoint(exe, args.init_checkpoint, main_program=startup_prog)
    train_reader.decorate_sample_list_generator(
        paddle.batch(utils.data_reader('train.tsv', vocab, "train", args.epoch), args.batch_size))
    test_reader.decorate_sample_list_generator(
        paddle.batch(utils.data_reader('dev.tsv', vocab, "dev", 1), args.batch_size, drop_last=False))
    train_reader.start()
    steps = 0
    total_cost, total_acc, total_num_seqs = [], [], []
    while True:
        try:
            steps += 1
            outputs = exe.run(program=train_program, fetch_list=[loss, acc, label], return_numpy=False)
            np_loss, np_acc, np_num_seqs = [np.array(o) for o in outputs]
            total_cost.extend(np_loss * np_num_seqs.shape[0])
            total_acc.extend(np_acc * np_num_seqs.shape[0])
            total_num_seqs.append(np_num_seqs.shape[0])
            print("step: %d, ave loss: %f, ave acc: %f" % (
                steps, np.sum(total_cost) / np.sum(total_num_seqs), np.sum(total_acc) / np.sum(total_num_seqs)))
            total_cost, total_acc, total_num_seqs = [], [], []
            if steps % args.save_steps == 0:
                save_path = os.path.join(args.checkpoints, "step_" + str(steps))
                fluid.io.save_persistables(exe, save_path, train_program)
                evaluate(exe, test_prog, test_reader, [t_loss, t_acc, t_label], "dev")
        except fluid.core.EOFException:
            save_path = os.path.join(args.checkpoints, "step_" + str(steps))
            fluid.io.save_persistables(exe, save_path, train_program)
            train_reader.reset()
            break
    if args.do_infer:
        infer_prog = fluid.Program()
        with fluid.program_guard(infer_prog, fluid.Program()):
            with fluid.unique_name.guard():
                infer_reader, prop, feed_names = create_model(args, 'infer', 2, is_prediction=True)
        infer_prog = infer_prog.clone(for_test=True)
        fluid.io.save_inference_model('inference', feed_names, [prop], exe, main_program=infer_prog)
        place = fluid.CPUPlace()
        scope = fluid.core.Scope()
        with fluid.scope_guard(scope):
            prog, names, targets = fluid.io.load_inference_model('inference', exe)
            tensor = fluid.create_lod_tensor([[1, 5, 9], [30, 40]], [[3, 2]], place) if False else \
                fluid.create_lod_tensor(np.array([[1], [5], [9], [30], [40]]).astype('int64'), [[3, 2]], place)
            out, = exe.run(prog, feed={names[0]: tensor}, fetch_list=targets)
            for row in out:
                print("%d\t%f\t%f" % (np.argmax(row), row[0], row[1]))


if __name__ == "__main__":
    main(args)
