# coding:utf-8
from __future__ import absolute_import, division, print_function
import copy
import functools
import inspect
import os
import sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.dygraph.base import to_variable
_runnable = {}


def runnable(func):
    _runnable[func.__module__ + '.' + inspect.stack()[1][3]] = func.__name__

    @functools.wraps(func)
    def _wrapper(*args, **kwargs):
        return func(*args, **kwargs)
    return _wrapper


def moduleinfo(name, version):
    def _wrapper(cls):
        cls._name, cls._version = name, version
        return cls
    return _wrapper


def add_vars_prefix(program, prefix, exclude=()):
    for block in program.blocks:
        for var in list(block.vars.values()):
            if var.name not in exclude and not var.name.startswith(prefix):
                block._rename_var(var.name, prefix + var.name)


def connect_program(pre_program, next_program, input_dict):
    """Append the ops of one program to another; `input_dict` says which inputs are there already."""
    out = pre_program.clone()
    block = out.global_block()
    for var in next_program.global_block().vars.values():
        if var.name not in input_dict and not block.has_var(var.name):
            block._clone_variable(var, force_persistable=False)
    for op in next_program.global_block().ops:
        if op.type in ('feed', 'fetch'):
            continue
        ins = {k: [block.var(input_dict.get(n, n)) for n in op.input(k)] for k in op.input_names}
        outs = {k: [block.var(n) for n in op.output(k)] for k in op.output_names}
        block.append_op(type=op.type, inputs=ins, outputs=outs, attrs={a: op.attr(a) for a in op.attr_names})
    return out


class Module(fluid.dygraph.Layer):
    def __new__(cls, directory=None, **kwargs):
        if cls.__name__ == 'Module':
            return Classifier(directory=directory, **kwargs)
        return fluid.dygraph.Layer.__new__(cls)

    def __init__(self, directory=None, **kwargs):
        if '_is_initialize' in self.__dict__ and self._is_initialize:
            return
        super(Module, self).__init__()
        self._directory = directory
        self._run_func = getattr(self, _runnable.get(self.__class__.__module__ + '.' + self.__class__.__name__, 'context'))
        self._initialize(**kwargs)
        self._is_initialize = True

    @property
    def name(self):
        return self.__class__._name


@moduleinfo(name='tiny_net', version='1.1.0')
class Classifier(Module):
    def _initialize(self, width=8):
        self.width = width

    def conv_bn(self, x, n, s, name, groups=1, k=3):
        x = fluid.layers.conv2d(x, n, k, s, (k - 1) // 2, groups=groups, param_attr=fluid.ParamAttr(name=name + '_weights'), bias_attr=False)
        return fluid.layers.batch_norm(x, act='relu', param_attr=fluid.ParamAttr(name=name + '_bn_scale'), bias_attr=fluid.ParamAttr(name=name + '_bn_offset'), moving_mean_name=name + '_bn_mean', moving_variance_name=name + '_bn_variance')

    def net(self, image):
        x = self.conv_bn(image, self.width, 2, 'conv1')
        x = self.conv_bn(x, self.width, 1, 'conv2_dw', groups=self.width)
        x = self.conv_bn(x, self.width * 2, 2, 'conv2_sep', k=1)
        pool = fluid.layers.pool2d(x, pool_type='avg', global_pooling=True)
        return pool, fluid.layers.fc(pool, 4, act='softmax', param_attr=fluid.ParamAttr(name='fc_weights'), bias_attr=fluid.ParamAttr(name='fc_offset'))

    @runnable
    def run_cmd(self, argvs):
        return to_variable(argvs)

    def context(self, exe, trainable=True, pretrained=True):
        context_prog, startup = fluid.Program(), fluid.Program()
        startup.random_seed = 3
        with fluid.program_guard(context_prog, startup):
            with fluid.unique_name.guard():
                image = fluid.layers.data(name='image', shape=[3, 16, 16], dtype='float32')
                feature, output = self.net(image)
                prefix = '@HUB_{}@'.format(self.name)
                names = {'image': prefix + image.name, 'feature_map': prefix + feature.name, 'classification': prefix + output.name}
                add_vars_prefix(context_prog, prefix)
                add_vars_prefix(startup, prefix)
                found = context_prog.global_block().vars
                exe.run(startup)
                if pretrained and self._directory:
                    def _if_exist(var):
                        return os.path.exists(os.path.join(self._directory, var.name))
                    fluid.io.load_vars(exe, self._directory, context_prog, predicate=_if_exist)
                for param in context_prog.global_block().iter_parameters():
                    param.trainable = trainable
        return {k: found[n] for k, n in names.items()}, context_prog


def merge(teacher, student, data_map, place, scope=None, prefix='teacher_'):
    """Bring a teacher into a student's program under new names, with its values."""
    scope = scope or fluid.global_scope()
    teacher = teacher.clone(for_test=True)
    for var in teacher.list_vars():
        if var.name in ('feed', 'fetch') or data_map.get(var.name) == var.name:
            continue
        new = data_map.get(var.name, prefix + var.name)
        old = scope.var(var.name).get_tensor()
        scope.var(new).get_tensor().set(np.array(old), place)
        teacher.global_block()._rename_var(var.name, new)
    for var in teacher.list_vars():
        if var.name not in ('feed', 'fetch'):
            student.global_block()._clone_variable(var, force_persistable=False).stop_gradient = True
    for op in teacher.global_block().ops:
        if op.type not in ('feed', 'fetch'):
            block = teacher.global_block()
            student.global_block().append_op(type=op.type, inputs={k: [block.var(n) for n in op.input(k)] for k in op.input_names}, outputs={k: [block.var(n) for n in op.output(k)] for k in op.output_names}, attrs={a: op.attr(a) for a in op.attr_names})
