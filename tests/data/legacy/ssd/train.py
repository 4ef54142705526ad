import argparse
import ast
import functools
import os
import shutil
import time
import numpy as np
import paddle
import paddle.fluid as fluid
import reader
from mobilenet_ssd import build_mobilenet_ssd

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--learning_rate', type=float, default=0.001)
parser.add_argument('--batch_size', type=int, default=4)
parser.add_argument('--epoc_num', type=int, default=9)
parser.add_argument('--ap_version', type=str, default='11point')
parser.add_argument('--model_save_dir', type=str, default='model')
parser.add_argument('--pretrained_model', type=str, default='')
parser.add_argument('--nms_threshold', type=float, default=0.45)
parser.add_argument('--use_gpu', type=ast.literal_eval, default=False)

train_parameters = {
    "train_images": 24,
    "image_shape": [3, 32, 32],
    "class_num": 4,
    "batch_size": 4,
    "lr": 0.01,
    "lr_epochs": [4, 6, 8],
    "lr_decay": [1, 0.5, 0.25, 0.1],
    "ap_version": '11point',
}


def optimizer_setting(train_params):
    batch_size = train_params["batch_size"]
    iters = train_params["train_images"] // batch_size
    lr = train_params["lr"]
    boundaries = [i * iters for i in train_params["lr_epochs"]]
    values = [i * lr for i in train_params["lr_decay"]]
    return fluid.optimizer.RMSProp(
        learning_rate=fluid.layers.piecewise_decay(boundaries, values),
        regularization=fluid.regularizer.L2Decay(0.00005))


def build_program(main_prog, startup_prog, train_params, is_train, args):
    image_shape = train_params['image_shape']
    class_num = train_params['class_num']
    with fluid.program_guard(main_prog, startup_prog):
        py_reader = fluid.layers.py_reader(
            capacity=16, shapes=[[-1] + image_shape, [-1, 4], [-1, 1], [-1, 1]], lod_levels=[0, 1, 1, 1],
            dtypes=["float32", "float32", "int32", "int32"], use_double_buffer=True)
        with fluid.unique_name.guard():
            image, gt_box, gt_label, difficult = fluid.layers.read_file(py_reader)
            locs, confs, box, box_var = build_mobilenet_ssd(image, class_num, image_shape)
            if is_train:
                with fluid.unique_name.guard("train"):
                    loss = fluid.layers.ssd_loss(locs, confs, gt_box, gt_label, box, box_var)
                    loss = fluid.layers.reduce_sum(loss)
                    optimizer = optimizer_setting(train_params)
                    optimizer.minimize(loss)
                return py_reader, loss
            nmsed_out = fluid.layers.detection_output(locs, confs, box, box_var, nms_threshold=args.nms_threshold)
            with fluid.unique_name.guard("inference"):
                gt_label = fluid.layers.cast(x=gt_label, dtype=gt_box.dtype)
                difficult = fluid.layers.cast(x=difficult, dtype=gt_box.dtype)
                map_eval = fluid.metrics.DetectionMAP(
                    nmsed_out, gt_label, gt_box, difficult, class_num, overlap_threshold=0.5,
                    evaluate_difficult=False, ap_version=args.ap_version)
            return py_reader, map_eval, nmsed_out, image


def train(args, data_args, train_params):
    startup_prog = fluid.Program()
    train_prog = fluid.Program()
    test_prog = fluid.Program()
    startup_prog.random_seed = 111
    train_prog.random_seed = 111
    test_prog.random_seed = 111
    train_py_reader, loss = build_program(train_prog, startup_prog, train_params, True, args)
    test_py_reader, map_eval, nmsed_out, image = build_program(test_prog, startup_prog, train_params, False, args)
    test_prog = test_prog.clone(for_test=True)
    place = fluid.CUDAPlace(0) if args.use_gpu else fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_prog)
    if args.pretrained_model:
        def if_exist(var):
            return os.path.exists(os.path.join(args.pretrained_model, var.name))
        fluid.io.load_vars(exe, args.pretrained_model, main_program=train_prog, predicate=if_exist)
    train_py_reader.decorate_paddle_reader(reader.train(data_args, 24, args.batch_size))
    test_py_reader.decorate_paddle_reader(reader.train(data_args, 8, 4, seed=6))
    build_strategy = fluid.BuildStrategy()
    build_strategy.memory_optimize = True
    compiled = fluid.CompiledProgram(train_prog).with_data_parallel(loss_name=loss.name,
                                                                    build_strategy=build_strategy)

    def save_model(postfix, main_prog):
        model_path = os.path.join(args.model_save_dir, postfix)
        if os.path.isdir(model_path):
            shutil.rmtree(model_path)
        print('save models to %s' % (model_path))
        fluid.io.save_persistables(exe, model_path, main_program=main_prog)

    best_map = 0.

    def test(epoc_id, best_map):
        _, accum_map = map_eval.get_map_var()
        map_eval.reset(exe)
        every_epoc_map = []
        test_py_reader.start()
        try:
            batch_id = 0
            while True:
                test_map, = exe.run(test_prog, fetch_list=[accum_map])
                every_epoc_map.append(test_map)
                batch_id += 1
        except fluid.core.EOFException:
            test_py_reader.reset()
        mean_map = np.mean(every_epoc_map)
        print("Epoc {0}, test map {1}".format(epoc_id, '%.5f' % test_map[0]))
        return (best_map, False) if test_map[0] <= best_map else (test_map[0], True)

    for epoc_id in range(args.epoc_num):
        every_epoc_loss = []
        train_py_reader.start()
        try:
            batch_id = 0
            while True:
                prev_start_time = time.time()
                loss_v, = exe.run(compiled, fetch_list=[loss.name])
                loss_v = np.mean(np.array(loss_v))
                every_epoc_loss.append(loss_v)
                print("Epoc {:d}, batch {:d}, loss {:.6f}".format(epoc_id, batch_id, loss_v))
                batch_id += 1
        except fluid.core.EOFException:
            train_py_reader.reset()
        if epoc_id % 4 == 3:
            best_map, is_best = test(epoc_id, best_map)
            save_model(str(epoc_id), train_prog)
    fluid.io.save_inference_model(os.path.join(args.model_save_dir, 'infer'), [image.name], [nmsed_out], exe,
                                  main_program=test_prog)
    print("best", '%.4f' % best_map)


def main():
    args = parser.parse_args()
    data_args = reader.Settings()
    train_parameters['batch_size'] = args.batch_size
    train_parameters['lr'] = args.learning_rate
    train(args, data_args, train_parameters)


if __name__ == '__main__':
    main()
