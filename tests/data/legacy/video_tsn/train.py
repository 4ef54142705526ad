import os
import sys
import time
import argparse
import ast
import logging
import tempfile
import numpy as np
import paddle.fluid as fluid
try:
    import cPickle as pickle
    from cStringIO import StringIO
except ImportError:
    import pickle
    from io import BytesIO
import models
from config import parse_config, merge_configs

logging.root.handlers = []
FORMAT = '[%(levelname)s: %(filename)s]: %(message)s'
logging.basicConfig(level=logging.INFO, format=FORMAT, stream=sys.stdout)
logger = logging.getLogger(__name__)


def parse_args():
    parser = argparse.ArgumentParser("Paddle Video train script")
    parser.add_argument('--model_name', type=str, default='TSN')
    parser.add_argument('--config', type=str, default='tsn.txt')
    parser.add_argument('--batch_size', type=int, default=None)
    parser.add_argument('--learning_rate', type=float, default=None)
    parser.add_argument('--epoch', type=int, default=None)
    parser.add_argument('--resume', type=str, default=None)
    parser.add_argument('--use_gpu', type=ast.literal_eval, default=False)
    parser.add_argument('--save_dir', type=str, default=os.path.join('data', 'checkpoints'))
    return parser.parse_args()


def make_pkls(folder, count, cfg):
    """Write one pickle for each video: name, label, frames."""
    rng = np.random.RandomState(12)
    size = cfg.TRAIN.target_size
    paths = []
    for i in range(count):
        label = i % cfg.MODEL.num_classes
        frames = [rng.randint(0, 255 - 20 * label, (size, size, 3)).astype('uint8') for _ in range(5)]
        path = os.path.join(folder, 'v%03d.pkl' % i)
        with open(path, 'wb') as f:
            pickle.dump(('v%03d' % i, label, frames), f, protocol=2)
        paths.append(path)
    return paths


def make_reader(paths, cfg, batch_size):
    mean = np.array(cfg.MODEL.image_mean).reshape((3, 1, 1)).astype(np.float32)
    std = np.array(cfg.MODEL.image_std).reshape((3, 1, 1)).astype(np.float32)

    def decode(path):
        try:
            with open(path, 'rb') as f:
                vid, label, frames = pickle.load(f)
        except UnicodeDecodeError:
            with open(path, 'rb') as f:
                vid, label, frames = pickle.load(f, encoding='bytes')
        average_dur = int(len(frames) / cfg.MODEL.seg_num)
        imgs = []
        for i in range(cfg.MODEL.seg_num):
            img = frames[i * average_dur].transpose((2, 0, 1)).astype('float32') / 255.
            imgs.append((img - mean) / std)
        return np.array(imgs).reshape((cfg.MODEL.seg_num, 3) + imgs[0].shape[1:]), label

    def batch_reader():
        batch = []
        for path in paths:
            batch.append(decode(path))
            if len(batch) == batch_size:
                yield batch
                batch = []
    return batch_reader


def train(args):
    config = parse_config(args.config)
    train_config = merge_configs(config, 'train', vars(args))
    valid_config = merge_configs(config, 'valid', vars(args))
    logger.info("epoch %d lr %.4f", train_config.TRAIN.epoch, train_config.TRAIN.learning_rate)
    train_model = models.get_model(args.model_name, train_config, mode='train')
    valid_model = models.get_model(args.model_name, valid_config, mode='valid')
    startup = fluid.Program()
    train_prog = fluid.Program()
    startup.random_seed = 1000
    train_prog.random_seed = 1000
    with fluid.program_guard(train_prog, startup):
        with fluid.unique_name.guard():
            train_model.build_input(True)
            train_model.build_model()
            train_fetch_list = train_model.fetches()
            train_loss = train_fetch_list[0]
            optimizer = train_model.optimizer()
            optimizer.minimize(train_loss)
            for item in train_fetch_list:
                item.persistable = True
    valid_prog = fluid.Program()
    with fluid.program_guard(valid_prog, startup):
        with fluid.unique_name.guard():
            valid_model.build_input(True)
            valid_model.build_model()
            valid_fetch_list = valid_model.fetches()
    valid_prog = valid_prog.clone(for_test=True)
    place = fluid.CUDAPlace(0) if args.use_gpu else fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup)
    if args.resume:
        assert os.path.exists(args.resume), "Given resume weight dir {} not exist.".format(args.resume)
        fluid.io.load_persistables(exe, args.resume, main_program=train_prog)
    build_strategy = fluid.BuildStrategy()
    build_strategy.enable_inplace = True
    exec_strategy = fluid.ExecutionStrategy()
    exec_strategy.num_threads = 1
    compiled_train_prog = fluid.compiler.CompiledProgram(train_prog).with_data_parallel(
        loss_name=train_loss.name, build_strategy=build_strategy, exec_strategy=exec_strategy)
    compiled_valid_prog = fluid.compiler.CompiledProgram(valid_prog).with_data_parallel(
        share_vars_from=compiled_train_prog, build_strategy=build_strategy, exec_strategy=exec_strategy)
    folder = tempfile.mkdtemp()
    paths = make_pkls(folder, train_config.TRAIN.total_videos, train_config)
    train_model.py_reader.decorate_sample_list_generator(
        make_reader(paths, train_config, train_config.TRAIN.batch_size), places=fluid.cpu_places(1))
    valid_model.py_reader.decorate_sample_list_generator(
        make_reader(paths[::5], valid_config, valid_config.VALID.batch_size), places=fluid.cpu_places(1))
    for epoch in range(train_config.TRAIN.epoch):
        for train_iter, data in enumerate(train_model.py_reader()):
            cur_time = time.time()
            train_outs = exe.run(compiled_train_prog, fetch_list=train_fetch_list, feed=data)
            period = time.time() - cur_time
            loss = np.array(train_outs[0])
            pred = np.array(train_outs[1])
            logger.info('[TRAIN] Epoch %d, iter %d, loss: %s, top1: %s, top3: %s', epoch, train_iter,
                        '%.6f' % np.mean(loss), '%.2f' % np.mean(train_outs[3]), '%.2f' % np.mean(train_outs[4]))
        scores = []
        for data in valid_model.py_reader():
            outs = exe.run(compiled_valid_prog, fetch_list=valid_fetch_list, feed=data)
            scores.append([np.mean(outs[0]), np.mean(outs[3])])
        logger.info('[TEST] Epoch %d, loss %.5f, top1 %.3f' % ((epoch,) + tuple(np.mean(scores, axis=0))))
        save_dir = os.path.join(args.save_dir, "_epoch" + str(epoch))
        if not os.path.isdir(save_dir):
            os.makedirs(save_dir)
        fluid.io.save_persistables(exe, save_dir, main_program=train_prog,
                                   filename=args.model_name + "_all" if epoch == 4 else None)


if __name__ == "__main__":
    args = parse_args()
    logger.info(sorted(vars(args).items()))
    train(args)
