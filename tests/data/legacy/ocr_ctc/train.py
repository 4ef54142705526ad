"""Trainer for OCR CTC or attention model."""
from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import argparse
import os
import sys
import time
import numpy as np
import paddle.fluid as fluid
from data_reader import DataGenerator, DATA_SHAPE, NUM_CLASSES, get_attention_or_ctc_feeder_data
from crnn_ctc_model import ctc_train_net

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--batch_size', type=int, default=4)
parser.add_argument('--total_step', type=int, default=54)
parser.add_argument('--log_period', type=int, default=1)
parser.add_argument('--save_model_period', type=int, default=25)
parser.add_argument('--eval_period', type=int, default=18)
parser.add_argument('--save_model_dir', type=str, default="./models")
parser.add_argument('--init_model', type=str, default=None)
parser.add_argument('--lr', type=float, default=0.003)
parser.add_argument('--average_window', type=float, default=0.15)


def train(args):
    fluid.default_startup_program().random_seed = 90
    gen = DataGenerator()
    sum_cost, error_evaluator, inference_program, model_average, decoded = ctc_train_net(args, DATA_SHAPE, NUM_CLASSES)
    train_reader = gen.train_reader(16, args.batch_size, cycle=True)
    test_reader = gen.train_reader(8, args.batch_size, cycle=False, seed=8)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    if args.init_model is not None:
        model_dir, model_file_name = os.path.split(args.init_model)
        fluid.io.load_params(exe, dirname=model_dir, filename=model_file_name)
        print("Init model from: %s." % args.init_model)
    error_evaluator.reset(exe)

    def test(iter_num):
        error_evaluator.reset(exe)
        for data in test_reader():
            exe.run(inference_program, feed=get_attention_or_ctc_feeder_data(data, place))
        _, test_seq_error = error_evaluator.eval(exe)
        print("Iter[%d]; Test seq error: %s.\n" % (iter_num, str(test_seq_error[0])))

    def save_model(args, exe, iter_num):
        filename = "model_%05d" % iter_num
        fluid.io.save_params(exe, dirname=args.save_model_dir, filename=filename)
        print("Saved model to: %s/%s." % (args.save_model_dir, filename))

    iter_num = 0
    total_loss = 0.0
    total_seq_error = 0.0
    for data in train_reader():
        if iter_num >= args.total_step:
            break
        results = exe.run(fluid.default_main_program(), feed=get_attention_or_ctc_feeder_data(data, place),
                          fetch_list=[sum_cost] + error_evaluator.metrics, return_numpy=False)
        results = [np.array(result).sum() for result in results]
        total_loss += results[0]
        total_seq_error += results[2]
        iter_num += 1
        if iter_num % args.log_period == 0:
            print("Iter[%d]; Avg loss: %.4f; seq err: %.4f" % (
                iter_num, total_loss / (args.log_period * args.batch_size),
                total_seq_error / (args.log_period * args.batch_size)))
            sys.stdout.flush()
            total_loss = 0.0
            total_seq_error = 0.0
        if iter_num % args.eval_period == 0:
            if model_average:
                with model_average.apply(exe):
                    test(iter_num)
            else:
                test(iter_num)
            error_evaluator.reset(exe)
        if iter_num % args.save_model_period == 0:
            if model_average:
                with model_average.apply(exe):
                    save_model(args, exe, iter_num)
            else:
                save_model(args, exe, iter_num)
    fluid.io.save_inference_model('infer', ['pixel'], [decoded], exe, main_program=inference_program)


def main():
    args = parser.parse_args()
    train(args)


if __name__ == "__main__":
    main()
