from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import argparse
import os
import random
import sys
import time
import numpy
import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid import core
from trainer import GTrainer, DTrainer

parser = argparse.ArgumentParser()
parser.add_argument('--batch_size', type=int, default=1)
parser.add_argument('--epoch', type=int, default=5)
parser.add_argument('--output', type=str, default="./output_0")
parser.add_argument('--init_model', type=str, default=None)
parser.add_argument('--save_checkpoints', action='store_true', default=True)
args = parser.parse_args()


class ImagePool(object):
    def __init__(self, pool_size=5):
        self.pool = []
        self.count = 0
        self.pool_size = pool_size

    def pool_image(self, image):
        if self.count < self.pool_size:
            self.pool.append(image)
            self.count += 1
            return image
        p = random.random()
        if p > 0.5:
            random_id = random.randint(0, self.pool_size - 1)
            temp = self.pool[random_id]
            self.pool[random_id] = image
            return temp
        return image


def reader_creator(seed):
    def reader():
        rng = np.random.RandomState(seed)
        for _ in range(10):
            yield rng.rand(3, 16, 16).astype('float32') * 2 - 1, 0
    return reader


def train(args):
    random.seed(5)
    data_shape = [-1, 3, 16, 16]
    input_A = fluid.layers.data(name='input_A', shape=data_shape, append_batch_size=False, dtype='float32')
    input_B = fluid.layers.data(name='input_B', shape=data_shape, append_batch_size=False, dtype='float32')
    fake_pool_A = fluid.layers.data(name='fake_pool_A', shape=data_shape, append_batch_size=False, dtype='float32')
    fake_pool_B = fluid.layers.data(name='fake_pool_B', shape=data_shape, append_batch_size=False, dtype='float32')
    fluid.default_startup_program().random_seed = 7
    g_trainer = GTrainer(input_A, input_B)
    d_A_trainer = DTrainer(input_A, fake_pool_A, "discriminatorA")
    d_B_trainer = DTrainer(input_B, fake_pool_B, "discriminatorB")
    place = core.CUDAPlace(0) if core.is_compiled_with_cuda() and False else core.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    A_pool = ImagePool()
    B_pool = ImagePool()
    A_reader = paddle.batch(reader_creator(1), args.batch_size)
    B_reader = paddle.batch(reader_creator(2), args.batch_size)

    def checkpoints(epoch):
        out_path = args.output + "/checkpoints/" + str(epoch)
        if not os.path.exists(out_path):
            os.makedirs(out_path)
        fluid.io.save_persistables(exe, out_path + "/g", main_program=g_trainer.program)
        fluid.io.save_persistables(exe, out_path + "/d_a", main_program=d_A_trainer.program)
        fluid.io.save_persistables(exe, out_path + "/d_b", main_program=d_B_trainer.program)

    def init_model():
        fluid.io.load_persistables(exe, args.init_model + "/g", main_program=g_trainer.program)
        fluid.io.load_persistables(exe, args.init_model + "/d_a", main_program=d_A_trainer.program)
        fluid.io.load_persistables(exe, args.init_model + "/d_b", main_program=d_B_trainer.program)

    if args.init_model:
        init_model()
    losses = [[], []]
    for epoch in range(args.epoch):
        batch_id = 0
        for data_A, data_B in zip(A_reader(), B_reader()):
            tensor_A = core.LoDTensor()
            tensor_B = core.LoDTensor()
            tensor_A.set(np.array([d[0] for d in data_A]).astype('float32'), place)
            tensor_B.set(np.array([d[0] for d in data_B]).astype('float32'), place)
            g_A_loss, fake_A_tmp, fake_B_tmp = exe.run(
                g_trainer.program, fetch_list=[g_trainer.G_loss, g_trainer.fake_A, g_trainer.fake_B],
                feed={"input_A": tensor_A, "input_B": tensor_B})
            fake_pool_B_v = B_pool.pool_image(fake_B_tmp)
            fake_pool_A_v = A_pool.pool_image(fake_A_tmp)
            d_A_loss = exe.run(d_A_trainer.program, fetch_list=[d_A_trainer.d_loss],
                               feed={"input_A": tensor_A, "fake_pool_A": fake_pool_A_v})[0]
            d_B_loss = exe.run(d_B_trainer.program, fetch_list=[d_B_trainer.d_loss],
                               feed={"input_B": tensor_B, "fake_pool_B": fake_pool_B_v})[0]
            losses[0].append(g_A_loss[0])
            losses[1].append(d_A_loss[0])
            print("epoch{}; batch{}; g_loss: {:.6f}; d_A_loss: {:.6f}; d_B_loss: {:.6f}".format(
                epoch, batch_id, float(g_A_loss), float(d_A_loss), float(d_B_loss)))
            batch_id += 1
        if args.save_checkpoints and epoch % 2 == 1:
            checkpoints(epoch)
    infer = g_trainer.infer_program.clone(for_test=True)
    fluid.io.save_inference_model('infer', ['input_A'], [infer.global_block().var(g_trainer.fake_B.name)], exe,
                                  main_program=infer)
    print("mean", "%.5f %.5f" % tuple(np.mean(l) for l in losses))


if __name__ == "__main__":
    train(args)
