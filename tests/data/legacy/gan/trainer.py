from __future__ import absolute_import, division, print_function
import numpy as np
import paddle.fluid as fluid
from network import build_generator, build_discriminator

step_per_epoch = 10
cycle_loss_factor = 10.0


class GTrainer():
    def __init__(self, input_A, input_B):
        self.program = fluid.default_main_program().clone()
        with fluid.program_guard(self.program):
            self.fake_B = build_generator(input_A, name="generatorA")
            self.fake_A = build_generator(input_B, name="generatorB")
            self.cyc_A = build_generator(self.fake_B, "generatorB")
            self.cyc_B = build_generator(self.fake_A, "generatorA")
            self.infer_program = self.program.clone()
            diff_A = fluid.layers.abs(fluid.layers.elementwise_sub(x=input_A, y=self.cyc_A))
            diff_B = fluid.layers.abs(fluid.layers.elementwise_sub(x=input_B, y=self.cyc_B))
            self.cyc_loss = (fluid.layers.reduce_mean(diff_A) + fluid.layers.reduce_mean(diff_B)) * cycle_loss_factor
            self.fake_rec_B = build_discriminator(self.fake_B, "discriminatorB")
            self.disc_loss_B = fluid.layers.reduce_mean(fluid.layers.square(self.fake_rec_B - 1))
            self.fake_rec_A = build_discriminator(self.fake_A, "discriminatorA")
            self.disc_loss_A = fluid.layers.reduce_mean(fluid.layers.square(self.fake_rec_A - 1))
            self.G_loss = fluid.layers.elementwise_add(self.cyc_loss, self.disc_loss_A + self.disc_loss_B)
            vars = []
            for var in self.program.list_vars():
                if fluid.io.is_parameter(var) and var.name.startswith("generator"):
                    vars.append(var.name)
            self.param = vars
            lr = 0.0002
            optimizer = fluid.optimizer.Adam(
                learning_rate=fluid.layers.piecewise_decay(
                    boundaries=[2 * step_per_epoch, 4 * step_per_epoch], values=[lr, lr * 0.8, lr * 0.5]),
                beta1=0.5, name="g")
            optimizer.minimize(self.G_loss, parameter_list=vars)


class DTrainer():
    def __init__(self, input, fake_pool, name):
        self.program = fluid.default_main_program().clone()
        with fluid.program_guard(self.program):
            self.rec = build_discriminator(input, name)
            self.fake_pool_rec = build_discriminator(fake_pool, name)
            self.d_loss = (fluid.layers.square(self.fake_pool_rec) + fluid.layers.square(self.rec - 1)) / 2.0
            self.d_loss = fluid.layers.reduce_mean(self.d_loss)
            optimizer = fluid.optimizer.Adam(
                learning_rate=fluid.layers.piecewise_decay(boundaries=[20, 40], values=[2e-4, 1.6e-4, 1e-4]),
                beta1=0.5, name=name)
            vars = []
            for var in self.program.list_vars():
                if fluid.io.is_parameter(var) and var.name.startswith(name):
                    vars.append(var.name)
            self.param = vars
            optimizer.minimize(self.d_loss, parameter_list=vars)
