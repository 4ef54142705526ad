from __future__ import absolute_import, division, print_function
import paddle.fluid as fluid
from paddle.fluid.initializer import Normal


def conv2d(input, num_filters=8, filter_size=3, stride=1, stddev=0.02, padding=0, name="conv2d", norm=True, relu=True,
           relufactor=0.0):
    conv = fluid.layers.conv2d(
        input, num_filters, filter_size, name=name, stride=stride, padding=padding, use_cudnn=False,
        param_attr=fluid.ParamAttr(name=name + "_w", initializer=fluid.initializer.TruncatedNormal(scale=stddev)),
        bias_attr=fluid.ParamAttr(name=name + "_b", initializer=fluid.initializer.Constant(0.0)))
    if norm:
        conv = instance_norm(conv, name=name + '_norm')
    if relu:
        conv = fluid.layers.leaky_relu(conv, alpha=relufactor) if relufactor else fluid.layers.relu(conv)
    return conv


def instance_norm(input, name=None):
    helper = fluid.layer_helper.LayerHelper("instance_norm", **locals())
    dtype = helper.input_dtype()
    epsilon = 1e-5
    mean = fluid.layers.reduce_mean(input, dim=[2, 3], keep_dim=True)
    var = fluid.layers.reduce_mean(fluid.layers.square(input - mean), dim=[2, 3], keep_dim=True)
    if name is not None:
        scale_name = name + "_scale"
        offset_name = name + "_offset"
    scale_param = fluid.ParamAttr(name=scale_name, initializer=fluid.initializer.TruncatedNormal(1.0, 0.02),
                                  trainable=True)
    offset_param = fluid.ParamAttr(name=offset_name, initializer=fluid.initializer.Constant(0.0), trainable=True)
    scale = helper.create_parameter(attr=scale_param, shape=input.shape[1:2], dtype=dtype)
    offset = helper.create_parameter(attr=offset_param, shape=input.shape[1:2], dtype=dtype)
    tmp = fluid.layers.elementwise_mul(x=(input - mean), y=scale, axis=1)
    tmp = tmp / fluid.layers.sqrt(var + epsilon)
    tmp = fluid.layers.elementwise_add(tmp, offset, axis=1)
    return tmp


def deconv2d(input, num_filters, filter_size=4, stride=2, padding=[1, 1], name="deconv2d"):
    deconv = fluid.layers.conv2d_transpose(
        input, num_filters, filter_size=filter_size, stride=stride, padding=padding, name=name,
        param_attr=fluid.ParamAttr(name=name + "_w", initializer=Normal(scale=0.02)),
        bias_attr=fluid.ParamAttr(name=name + "_b"))
    return fluid.layers.relu(instance_norm(deconv, name=name + "_norm"))


def build_resnet_block(inputres, dim, name):
    out = fluid.layers.pad2d(inputres, [1, 1, 1, 1], mode="reflect")
    out = conv2d(out, dim, 3, 1, name=name + "_c1")
    out = fluid.layers.pad2d(out, [1, 1, 1, 1], mode="reflect")
    out = conv2d(out, dim, 3, 1, name=name + "_c2", relu=False)
    return fluid.layers.relu(out + inputres)


def build_generator(inputgen, name="generator"):
    pad_input = fluid.layers.pad2d(inputgen, [1, 1, 1, 1], mode="reflect")
    o_c1 = conv2d(pad_input, 8, 3, 1, name=name + "_c1")
    o_c2 = conv2d(o_c1, 16, 3, 2, padding=1, name=name + "_c2")
    o_r1 = build_resnet_block(o_c2, 16, name + "_r1")
    o_c4 = deconv2d(o_r1, 8, name=name + "_c4")
    o_c5 = conv2d(o_c4, 3, 3, 1, padding=1, name=name + "_c5", norm=False, relu=False)
    return fluid.layers.tanh(o_c5, name + "_t1")


def build_discriminator(inputdisc, name="discriminator"):
    o_c1 = conv2d(inputdisc, 8, 4, 2, 0.02, 1, name=name + "_c1", norm=False, relufactor=0.2)
    o_c2 = conv2d(o_c1, 16, 4, 2, 0.02, 1, name=name + "_c2", relufactor=0.2)
    return conv2d(o_c2, 1, 3, 1, 0.02, 1, name=name + "_c5", norm=False, relu=False)
