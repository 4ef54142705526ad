from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import paddle.fluid as fluid
from paddle.fluid import ParamAttr
from paddle.fluid.layers.learning_rate_scheduler import _decay_step_counter


def conv_bn_pool(input, group, out_ch, act="relu", param=None, bias=None, param_0=None, is_test=False, pooling=True):
    tmp = input
    for i in range(group):
        tmp = fluid.layers.conv2d(
            input=tmp, num_filters=out_ch[i], filter_size=3, padding=1,
            param_attr=param if param_0 is None else param_0, act=None, use_cudnn=True)
        tmp = fluid.layers.batch_norm(input=tmp, act=act, param_attr=param, bias_attr=bias, is_test=is_test)
    if pooling:
        tmp = fluid.layers.pool2d(input=tmp, pool_size=2, pool_type='max', pool_stride=2, use_cudnn=True,
                                  ceil_mode=True)
    return tmp


def ocr_convs(input, regularizer=None, gradient_clip=None, is_test=False):
    b = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.0))
    w0 = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.05))
    w1 = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.01))
    tmp = conv_bn_pool(input, 2, [8, 8], param=w1, bias=b, param_0=w0, is_test=is_test)
    tmp = conv_bn_pool(tmp, 1, [16], param=w1, bias=b, is_test=is_test, pooling=False)
    return tmp


def encoder_net(images, num_classes, rnn_hidden_size=12, regularizer=None, is_test=False):
    conv_features = ocr_convs(images, regularizer=regularizer, is_test=is_test)
    sliced_feature = fluid.layers.im2sequence(
        input=conv_features, stride=[1, 1], filter_size=[conv_features.shape[2], 1])
    para_attr = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.05))
    bias_attr = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.05), learning_rate=2.0)
    bias_attr_nobias = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.05))
    fc_1 = fluid.layers.fc(input=sliced_feature, size=rnn_hidden_size * 3, param_attr=para_attr,
                           bias_attr=bias_attr_nobias)
    fc_2 = fluid.layers.fc(input=sliced_feature, size=rnn_hidden_size * 3, param_attr=para_attr,
                           bias_attr=bias_attr_nobias)
    gru_forward = fluid.layers.dynamic_gru(input=fc_1, size=rnn_hidden_size, param_attr=para_attr,
                                           bias_attr=bias_attr, candidate_activation='relu')
    gru_backward = fluid.layers.dynamic_gru(input=fc_2, size=rnn_hidden_size, is_reverse=True, param_attr=para_attr,
                                            bias_attr=bias_attr, candidate_activation='relu')
    w_attr = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.05))
    b_attr = ParamAttr(regularizer=regularizer, initializer=fluid.initializer.Normal(0.0, 0.0))
    return fluid.layers.fc(input=[gru_forward, gru_backward], size=num_classes + 1, param_attr=w_attr,
                           bias_attr=b_attr)


def ctc_train_net(args, data_shape, num_classes):
    L2_RATE = 0.0004
    images = fluid.layers.data(name='pixel', shape=data_shape, dtype='float32')
    label = fluid.layers.data(name='label', shape=[1], dtype='int32', lod_level=1)
    fc_out = encoder_net(images, num_classes, regularizer=fluid.regularizer.L2Decay(L2_RATE))
    cost = fluid.layers.warpctc(input=fc_out, label=label, blank=num_classes, norm_by_times=True)
    sum_cost = fluid.layers.reduce_sum(cost)
    decoded_out = fluid.layers.ctc_greedy_decoder(input=fc_out, blank=num_classes)
    casted_label = fluid.layers.cast(x=label, dtype='int64')
    error_evaluator = fluid.evaluator.EditDistance(input=decoded_out, label=casted_label)
    inference_program = fluid.default_main_program().clone(for_test=True)
    learning_rate = fluid.layers.piecewise_decay([24, 40], [args.lr, args.lr * 0.1, args.lr * 0.01])
    optimizer = fluid.optimizer.Momentum(learning_rate=learning_rate, momentum=0.9)
    _, params_grads = optimizer.minimize(sum_cost)
    model_average = None
    if args.average_window > 0:
        model_average = fluid.optimizer.ModelAverage(args.average_window, min_average_window=10, max_average_window=20)
    return sum_cost, error_evaluator, inference_program, model_average, decoded_out
