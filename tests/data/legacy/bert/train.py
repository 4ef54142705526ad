"""BERT pretraining."""
from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import os
import sys
import time
import argparse
import multiprocessing
import numpy as np
import paddle.fluid as fluid
from model.bert import BertConfig, BertModel
from optimization import optimization
from utils.args import ArgumentGroup, print_arguments
from utils.init import init_checkpoint, init_pretraining_params

parser = argparse.ArgumentParser(__doc__)
model_g = ArgumentGroup(parser, "model", "model configuration and paths.")
model_g.add_arg("bert_config_path", str, "./bert_config.json", "")
model_g.add_arg("init_checkpoint", str, None, "")
model_g.add_arg("checkpoints", str, "checkpoints", "")
model_g.add_arg("weight_sharing", bool, True, "")
train_g = ArgumentGroup(parser, "training", "")
train_g.add_arg("learning_rate", float, 0.005, "")
train_g.add_arg("lr_scheduler", str, "linear_warmup_decay", "", choices=['linear_warmup_decay', 'noam_decay'])
train_g.add_arg("weight_decay", float, 0.01, "")
train_g.add_arg("num_train_steps", int, 52, "")
train_g.add_arg("warmup_steps", int, 8, "")
train_g.add_arg("save_steps", int, 26, "")
train_g.add_arg("use_fp16", bool, False, "")
args = parser.parse_args()
SEQ = 12


def make_batch(rng, batch_size=4, vocab=40):
    src = rng.randint(4, vocab, (batch_size, SEQ, 1)).astype('int64')
    src[:, 0, 0] = 1
    lens = rng.randint(6, SEQ + 1, batch_size)
    pos = np.tile(np.arange(SEQ).reshape([1, SEQ, 1]), [batch_size, 1, 1]).astype('int64')
    sent = (pos >= 6).astype('int64')
    mask = np.array([[1.0] * n + [0.0] * (SEQ - n) for n in lens]).astype('float32').reshape([batch_size, SEQ, 1])
    mask_pos, mask_label = [], []
    for i, n in enumerate(lens):
        for p in sorted(rng.choice(np.arange(1, n), 2, replace=False)):
            mask_pos.append(i * SEQ + p)
            mask_label.append(src[i, p, 0])
            src[i, p, 0] = 3
    labels = rng.randint(0, 2, (batch_size, 1)).astype('int64')
    return [src, pos, sent, mask, np.array(mask_label).astype('int64').reshape([-1, 1]),
            np.array(mask_pos).astype('int64').reshape([-1, 1]), labels]


def create_model(bert_config):
    input_fields = {
        'names': ['src_ids', 'pos_ids', 'sent_ids', 'input_mask', 'mask_label', 'mask_pos', 'labels'],
        'shapes': [[None, SEQ, 1], [None, SEQ, 1], [None, SEQ, 1], [None, SEQ, 1], [None, 1], [None, 1], [None, 1]],
        'dtypes': ['int64', 'int64', 'int64', 'float32', 'int64', 'int64', 'int64'],
        'lod_levels': [0, 0, 0, 0, 0, 0, 0],
    }
    inputs = [fluid.data(name=input_fields['names'][i], shape=input_fields['shapes'][i],
                         dtype=input_fields['dtypes'][i], lod_level=input_fields['lod_levels'][i])
              for i in range(len(input_fields['names']))]
    (src_ids, pos_ids, sent_ids, input_mask, mask_label, mask_pos, labels) = inputs
    data_loader = fluid.io.DataLoader.from_generator(feed_list=inputs, capacity=8, iterable=False)
    bert = BertModel(src_ids=src_ids, position_ids=pos_ids, sentence_ids=sent_ids, input_mask=input_mask,
                     config=bert_config, weight_sharing=args.weight_sharing, use_fp16=args.use_fp16)
    next_sent_acc, mask_lm_loss, total_loss = bert.get_pretraining_output(mask_label, mask_pos, labels)
    return data_loader, next_sent_acc, mask_lm_loss, total_loss, bert


def train(args):
    bert_config = BertConfig(args.bert_config_path)
    bert_config.print_config()
    train_program = fluid.Program()
    startup_prog = fluid.Program()
    train_program.random_seed = startup_prog.random_seed = 12
    with fluid.program_guard(train_program, startup_prog):
        with fluid.unique_name.guard():
            train_data_loader, next_sent_acc, mask_lm_loss, total_loss, bert = create_model(bert_config)
            scheduled_lr = optimization(
                loss=total_loss, warmup_steps=args.warmup_steps, num_train_steps=args.num_train_steps,
                learning_rate=args.learning_rate, train_program=train_program, startup_prog=startup_prog,
                weight_decay=args.weight_decay, scheduler=args.lr_scheduler, use_fp16=args.use_fp16)
    test_prog = fluid.Program()
    with fluid.program_guard(test_prog, startup_prog):
        with fluid.unique_name.guard():
            test_data_loader, t_acc, t_lm, t_loss, t_bert = create_model(bert_config)
            pooled = t_bert.get_pooled_output()
    test_prog = test_prog.clone(for_test=True)
    place = fluid.CPUPlace()
    dev_count = int(os.environ.get('CPU_NUM', 1))
    exe = fluid.Executor(place)
    exe.run(startup_prog)
    if args.init_checkpoint and args.init_checkpoint != "":
        init_checkpoint(exe, args.init_checkpoint, train_program, args.use_fp16)
    exec_strategy = fluid.ExecutionStrategy()
    exec_strategy.num_iteration_per_drop_scope = 100
    train_compiled_program = fluid.CompiledProgram(train_program).with_data_parallel(
        loss_name=total_loss.name, exec_strategy=exec_strategy)

    def generator(seed, count):
        def reader():
            rng = np.random.RandomState(seed)
            for _ in range(count):
                yield make_batch(rng)
        return reader

    train_data_loader.set_batch_generator(generator(1, 1000), places=place)
    test_data_loader.set_batch_generator(generator(2, 3), places=place)
    train_data_loader.start()
    steps = 0
    cost, lm_cost, acc = [], [], []
    while steps < args.num_train_steps:
        try:
            steps += 1
            fetch = exe.run(fetch_list=[next_sent_acc.name, mask_lm_loss.name, total_loss.name, scheduled_lr.name],
                            program=train_compiled_program)
            each_next_acc, each_mask_lm_cost, each_total_cost, np_lr = fetch
            acc.extend(each_next_acc)
            lm_cost.extend(each_mask_lm_cost)
            cost.extend(each_total_cost)
            print("current learning_rate:%f" % np_lr[0])
            print("step: %d, loss: %f, ppl: %f, next_sent_acc: %f" % (
                steps, np.mean(np.array(cost)), np.mean(np.exp(np.array(lm_cost))), np.mean(np.array(acc))))
            cost, lm_cost, acc = [], [], []
            if steps % args.save_steps == 0:
                fluid.io.save_persistables(exe, os.path.join(args.checkpoints, "step_" + str(steps)), train_program)
                test_data_loader.start()
                vals = []
                try:
                    while True:
                        vals.append(exe.run(test_prog, fetch_list=[t_acc.name, t_lm.name, t_loss.name]))
                except fluid.core.EOFException:
                    test_data_loader.reset()
                print("[validation_set] " + ", ".join("%.5f" % v for v in np.mean(vals, axis=(0, 2))))
        except fluid.core.EOFException:
            train_data_loader.reset()
            break
    train_data_loader.reset()
    fluid.io.save_inference_model('infer', ['src_ids', 'pos_ids', 'sent_ids', 'input_mask'], [pooled], exe,
                                  main_program=test_prog)


if __name__ == '__main__':
    print_arguments(args)
    train(args)
