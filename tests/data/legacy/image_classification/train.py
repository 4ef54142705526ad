from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import argparse
import functools
import math
import os
import sys
import time

import numpy as np
import paddle
import paddle.fluid as fluid

import models
import reader
from utility import add_arguments, print_arguments

parser = argparse.ArgumentParser(description=__doc__)
add_arg = functools.partial(add_arguments, argparser=parser)
add_arg('batch_size', int, 8, "Minibatch size.")
add_arg('use_gpu', bool, False, "Whether to use GPU or not.")
add_arg('total_images', int, 72, "Training image number.")
add_arg('num_epochs', int, 6, "number of epochs.")
add_arg('class_dim', int, 5, "Class number.")
add_arg('image_shape', str, "3,16,16", "input image size")
add_arg('model_save_dir', str, "output", "model save directory")
add_arg('pretrained_model', str, None, "Whether to use pretrained model.")
add_arg('checkpoint', str, None, "Whether to resume checkpoint.")
add_arg('lr', float, 0.05, "set learning rate.")
add_arg('lr_strategy', str, "piecewise_decay", "Set the learning rate decay strategy.")
add_arg('l2_decay', float, 1e-4, "L2_decay parameter.")
add_arg('model', str, "ResNet18", "Set the network to use.", choices=["ResNet18", "MobileNet"])


def optimizer_setting(params):
    ls = params["learning_strategy"]
    l2_decay = params["l2_decay"]
    if ls["name"] == "piecewise_decay":
        step = int(math.ceil(float(params["total_images"]) / ls["batch_size"]))
        bd = [step * e for e in ls["epochs"]]
        lr = [params["lr"] * (0.1 ** i) for i in range(len(bd) + 1)]
        return fluid.optimizer.Momentum(
            learning_rate=fluid.layers.piecewise_decay(boundaries=bd, values=lr), momentum=0.9,
            regularization=fluid.regularizer.L2Decay(l2_decay))
    elif ls["name"] == "cosine_decay":
        step = int(math.ceil(float(params["total_images"]) / ls["batch_size"]))
        return fluid.optimizer.Momentum(
            learning_rate=fluid.layers.cosine_decay(learning_rate=params["lr"], step_each_epoch=step,
                                                    epochs=params["num_epochs"]),
            momentum=0.9, regularization=fluid.regularizer.L2Decay(l2_decay))
    return fluid.optimizer.SGD(learning_rate=params["lr"])


def build_program(is_train, main_prog, startup_prog, args):
    image_shape = [int(m) for m in args.image_shape.split(",")]
    model = models.__dict__[args.model]()
    with fluid.program_guard(main_prog, startup_prog):
        py_reader = fluid.layers.py_reader(
            capacity=16, shapes=[[-1] + image_shape, [-1, 1]], lod_levels=[0, 0], dtypes=["float32", "int64"],
            use_double_buffer=True)
        with fluid.unique_name.guard():
            image, label = fluid.layers.read_file(py_reader)
            out = model.net(input=image, class_dim=args.class_dim)
            cost = fluid.layers.softmax_with_cross_entropy(out, label)
            pred = fluid.layers.softmax(out)
            avg_cost = fluid.layers.mean(x=cost)
            acc_top1 = fluid.layers.accuracy(input=pred, label=label, k=1)
            acc_top5 = fluid.layers.accuracy(input=pred, label=label, k=3)
            if is_train:
                params = model.params
                params["total_images"] = args.total_images
                params["lr"] = args.lr
                params["num_epochs"] = args.num_epochs
                params["learning_strategy"]["batch_size"] = args.batch_size
                params["learning_strategy"]["name"] = args.lr_strategy
                params["l2_decay"] = args.l2_decay
                optimizer = optimizer_setting(params)
                optimizer.minimize(avg_cost)
                global_lr = optimizer._global_learning_rate()
                return py_reader, avg_cost, acc_top1, acc_top5, global_lr
            return py_reader, avg_cost, acc_top1, acc_top5, image, pred


def train(args):
    startup_prog = fluid.Program()
    train_prog = fluid.Program()
    test_prog = fluid.Program()
    startup_prog.random_seed = 1000
    train_prog.random_seed = 1000
    train_py_reader, train_cost, train_acc1, train_acc5, global_lr = build_program(
        is_train=True, main_prog=train_prog, startup_prog=startup_prog, args=args)
    test_py_reader, test_cost, test_acc1, test_acc5, image, pred = build_program(
        is_train=False, main_prog=test_prog, startup_prog=startup_prog, args=args)
    test_prog = test_prog.clone(for_test=True)
    train_fetch_list = [train_cost.name, train_acc1.name, train_acc5.name, global_lr.name]
    train_cost.persistable = True

    place = fluid.CUDAPlace(0) if args.use_gpu else fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_prog)
    if args.checkpoint is not None:
        fluid.io.load_persistables(exe, args.checkpoint, main_program=train_prog)
    if args.pretrained_model:
        def if_exist(var):
            return os.path.exists(os.path.join(args.pretrained_model, var.name))
        fluid.io.load_vars(exe, args.pretrained_model, main_program=train_prog, predicate=if_exist)

    train_py_reader.decorate_paddle_reader(paddle.batch(reader.train(args.total_images), batch_size=args.batch_size))
    test_py_reader.decorate_paddle_reader(paddle.batch(reader.val(24), batch_size=8))
    train_exe = fluid.ParallelExecutor(main_program=train_prog, use_cuda=bool(args.use_gpu),
                                       loss_name=train_cost.name)
    for pass_id in range(args.num_epochs):
        train_py_reader.start()
        train_info = [[], [], []]
        test_info = [[], [], []]
        train_time = []
        batch_id = 0
        try:
            while True:
                t1 = time.time()
                loss, acc1, acc5, lr = train_exe.run(fetch_list=train_fetch_list)
                t2 = time.time()
                acc1 = np.mean(np.array(acc1))
                acc5 = np.mean(np.array(acc5))
                train_info[0].append(np.mean(np.array(loss)))
                train_info[1].append(acc1)
                train_info[2].append(acc5)
                lr = np.mean(np.array(lr))
                train_time.append(t2 - t1)
                print("Pass {0}, trainbatch {1}, loss {2}, acc1 {3}, acc5 {4}, lr {5}".format(
                    pass_id, batch_id, "%.6f" % np.mean(loss), "%.5f" % acc1, "%.5f" % acc5, "%.5f" % lr))
                sys.stdout.flush()
                batch_id += 1
        except fluid.core.EOFException:
            train_py_reader.reset()
        train_loss = np.array(train_info[0]).mean()
        test_py_reader.start()
        try:
            while True:
                loss, acc1, acc5 = exe.run(program=test_prog, fetch_list=[test_cost.name, test_acc1.name,
                                                                          test_acc5.name])
                test_info[0].append(np.mean(loss))
                test_info[1].append(np.mean(acc1))
                test_info[2].append(np.mean(acc5))
        except fluid.core.EOFException:
            test_py_reader.reset()
        test_loss, test_acc1_v, test_acc5_v = [np.array(v).mean() for v in test_info]
        print("End pass {0}, train_loss {1}, test_loss {2}, test_acc1 {3}, test_acc5 {4}".format(
            pass_id, "%.5f" % train_loss, "%.5f" % test_loss, "%.5f" % test_acc1_v, "%.5f" % test_acc5_v))
        model_path = os.path.join(args.model_save_dir + '/' + args.model, str(pass_id))
        if not os.path.isdir(model_path):
            os.makedirs(model_path)
        fluid.io.save_persistables(exe, model_path, main_program=train_prog)
    fluid.io.save_inference_model(os.path.join(args.model_save_dir, 'inference'), [image.name], [pred], exe,
                                  main_program=test_prog, model_filename='model', params_filename='params')
    program, feeds, fetches = fluid.io.load_inference_model(os.path.join(args.model_save_dir, 'inference'), exe,
                                                            model_filename='model', params_filename='params')
    batch = np.array([reader.process_image(s, 'val', False)[0] for s in reader.make_samples(4, 9)]).astype('float32')
    result = exe.run(program, feed={feeds[0]: batch}, fetch_list=fetches)
    print("infer", ' '.join('%.5f' % v for v in result[0].flatten()))


def main():
    args = parser.parse_args()
    print_arguments(args)
    train(args)


if __name__ == '__main__':
    main()
