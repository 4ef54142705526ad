"""
Wrappers for fluid.layers so that the layers can share parameters conveniently.
"""
import inspect
import six
import sys
from copy import deepcopy
from paddle.fluid.executor import _fetch_var
from paddle.fluid.framework import Variable
from paddle.fluid.layers import *
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid import layers, unique_name
from paddle.fluid.layer_helper import LayerHelper
from parl.core.fluid.layers.attr_holder import AttrHolder


def update_attr_name(name, default_name, attr, is_bias):
    def check_or_replace_name(name, attr):
        if attr.name is None:
            attr.name = name
    assert (name or default_name)
    # ``is_bias`` is ignored: attr False means no bias
    if attr == False:
        return None
    name = unique_name.generate(default_name if name is None else name)
    if name and attr is None:
        return ParamAttr(name=name)
    attr = ParamAttr._to_attr(attr)
    check_or_replace_name(name, attr)
    return attr


class LayerFunc(object):
    def __init__(self, attr_holder):
        self.attr_holder = attr_holder

    def sync_paras_to(self, target_layer):
        assert isinstance(target_layer, LayerFunc)

    @property
    def parameter_names(self):
        ret = []
        for attr in self.attr_holder.tolist():
            if attr:
                ret.append(attr.name)
        return ret


def check_caller_name():
    stack = inspect.stack()
    # stack[0]: check_caller_name; 1: the layer; 2: the caller
    return stack[2][3]


def fc(size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None):
    default_name = "fc"
    param_attr = update_attr_name(name, default_name + '.w', param_attr, False)
    bias_attr = update_attr_name(name, default_name + '.b', bias_attr, True)

    class FC_(LayerFunc):
        def __init__(self):
            super(FC_, self).__init__(AttrHolder(param_attr=param_attr, bias_attr=bias_attr))

        def __call__(self, input, is_test=False):
            return layers.fc(input=input, size=size, num_flatten_dims=num_flatten_dims,
                             param_attr=self.attr_holder.param_attr,
                             bias_attr=self.attr_holder.bias_attr if self.attr_holder.bias_attr else False, act=act)
    return FC_()


def embedding(size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32", name=None):
    param_attr = update_attr_name(name, "embedding", param_attr, False)

    class Embedding_(LayerFunc):
        def __init__(self):
            super(Embedding_, self).__init__(AttrHolder(param_attr=param_attr))

        def __call__(self, input):
            return layers.embedding(input=input, size=size, is_sparse=is_sparse, is_distributed=is_distributed,
                                    padding_idx=padding_idx, param_attr=self.attr_holder.param_attr, dtype=dtype)
    return Embedding_()


def conv2d(num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None,
           use_cudnn=True, act=None, name=None):
    param_attr = update_attr_name(name, "conv2d.w", param_attr, False)
    bias_attr = update_attr_name(name, "conv2d.b", bias_attr, True)

    class Conv2D_(LayerFunc):
        def __init__(self):
            super(Conv2D_, self).__init__(AttrHolder(param_attr=param_attr, bias_attr=bias_attr))

        def __call__(self, input):
            return layers.conv2d(input=input, num_filters=num_filters, filter_size=filter_size, stride=stride,
                                 padding=padding, dilation=dilation, groups=groups,
                                 param_attr=self.attr_holder.param_attr, bias_attr=self.attr_holder.bias_attr,
                                 use_cudnn=use_cudnn, act=act)
    return Conv2D_()


# All layers in fluid that create no parameters are re-exported; those that do must be wrapped above.
_param_layers = []
for _name in layers.__all__:
    _f = getattr(layers, _name)
    if not inspect.isfunction(_f):
        continue
    try:
        _args = inspect.getargspec(_f).args
    except (TypeError, ValueError):
        continue
    if 'param_attr' in _args:
        _param_layers.append(_name)
