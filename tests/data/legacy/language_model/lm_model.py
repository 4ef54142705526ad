import paddle.fluid as fluid
import paddle.fluid.layers as layers
from paddle.fluid.contrib.layers import basic_lstm
import numpy as np


def lm_model(hidden_size, vocab_size, batch_size, num_layers=2, num_steps=10, init_scale=0.1, dropout=None,
             rnn_model='static'):
    def padding_rnn(input_embedding, len=3, init_hidden=None, init_cell=None):
        weight_1_arr, weight_2_arr, bias_arr, hidden_array, cell_array = [], [], [], [], []
        for i in range(num_layers):
            weight_1 = layers.create_parameter(
                [hidden_size * 2, hidden_size * 4], dtype="float32", name="fc_weight1_" + str(i),
                default_initializer=fluid.initializer.UniformInitializer(low=-init_scale, high=init_scale))
            weight_1_arr.append(weight_1)
            bias_1 = layers.create_parameter([hidden_size * 4], dtype="float32", name="fc_bias1_" + str(i),
                                             default_initializer=fluid.initializer.Constant(0.0))
            bias_arr.append(bias_1)
            pre_hidden = layers.slice(init_hidden, axes=[0], starts=[i], ends=[i + 1])
            pre_cell = layers.slice(init_cell, axes=[0], starts=[i], ends=[i + 1])
            hidden_array.append(layers.reshape(pre_hidden, shape=[-1, hidden_size]))
            cell_array.append(layers.reshape(pre_cell, shape=[-1, hidden_size]))
        input_embedding = layers.transpose(input_embedding, perm=[1, 0, 2])
        rnn = fluid.layers.StaticRNN() if rnn_model == 'static' else None
        with rnn.step():
            input = rnn.step_input(input_embedding)
            for k in range(num_layers):
                pre_hidden = rnn.memory(init=hidden_array[k])
                pre_cell = rnn.memory(init=cell_array[k])
                nn = layers.concat([input, pre_hidden], 1)
                gate_input = layers.matmul(x=nn, y=weight_1_arr[k])
                gate_input = layers.elementwise_add(gate_input, bias_arr[k])
                i, j, f, o = layers.split(gate_input, num_or_sections=4, dim=-1)
                c = pre_cell * layers.sigmoid(f) + layers.sigmoid(i) * layers.tanh(j)
                m = layers.tanh(c) * layers.sigmoid(o)
                rnn.update_memory(pre_hidden, m)
                rnn.update_memory(pre_cell, c)
                rnn.step_output(m)
                rnn.step_output(c)
                input = m
                if dropout is not None and dropout > 0.0:
                    input = layers.dropout(input, dropout_prob=dropout, dropout_implementation='upscale_in_train')
            rnn.step_output(input)
        rnnout = rnn()
        last_hidden_array, last_cell_array = [], []
        real_res = rnnout[-1]
        for i in range(num_layers):
            m = rnnout[i * 2]
            c = rnnout[i * 2 + 1]
            m.stop_gradient = True
            c.stop_gradient = True
            last_hidden_array.append(layers.slice(m, axes=[0], starts=[num_steps - 1], ends=[num_steps]))
            last_cell_array.append(layers.slice(c, axes=[0], starts=[num_steps - 1], ends=[num_steps]))
        real_res = layers.transpose(x=real_res, perm=[1, 0, 2])
        return real_res, layers.concat(last_hidden_array, 0), layers.concat(last_cell_array, 0)

    x = layers.data(name="x", shape=[batch_size, num_steps, 1], dtype='int64', append_batch_size=False)
    y = layers.data(name="y", shape=[batch_size * num_steps, 1], dtype='int64', append_batch_size=False)
    init_hidden = layers.data(name="init_hidden", shape=[num_layers, batch_size, hidden_size], dtype='float32',
                              append_batch_size=False)
    init_cell = layers.data(name="init_cell", shape=[num_layers, batch_size, hidden_size], dtype='float32',
                            append_batch_size=False)
    x_emb = layers.embedding(
        input=x, size=[vocab_size, hidden_size], dtype='float32', is_sparse=False,
        param_attr=fluid.ParamAttr(name='embedding_para',
                                   initializer=fluid.initializer.UniformInitializer(low=-init_scale, high=init_scale)))
    x_emb = layers.reshape(x_emb, shape=[-1, num_steps, hidden_size])
    if rnn_model == 'static':
        rnn_out, last_hidden, last_cell = padding_rnn(x_emb, len=num_steps, init_hidden=init_hidden,
                                                      init_cell=init_cell)
    else:
        rnn_out, last_hidden, last_cell = basic_lstm(x_emb, init_hidden, init_cell, hidden_size,
                                                     num_layers=num_layers, batch_first=True,
                                                     dropout_prob=dropout or 0.0,
                                                     param_attr=fluid.ParamAttr(
                                                         initializer=fluid.initializer.UniformInitializer(
                                                             low=-init_scale, high=init_scale)),
                                                     bias_attr=fluid.ParamAttr(
                                                         initializer=fluid.initializer.Constant(0.0)),
                                                     forget_bias=0.0)
    rnn_out = layers.reshape(rnn_out, shape=[-1, num_steps, hidden_size])
    softmax_weight = layers.create_parameter(
        [hidden_size, vocab_size], dtype="float32", name="softmax_weight",
        default_initializer=fluid.initializer.UniformInitializer(low=-init_scale, high=init_scale))
    softmax_bias = layers.create_parameter([vocab_size], dtype="float32", name='softmax_bias',
                                           default_initializer=fluid.initializer.UniformInitializer(
                                               low=-init_scale, high=init_scale))
    projection = layers.matmul(rnn_out, softmax_weight)
    projection = layers.elementwise_add(projection, softmax_bias)
    projection = layers.reshape(projection, shape=[-1, vocab_size])
    loss = layers.softmax_with_cross_entropy(logits=projection, label=y, soft_label=False)
    loss = layers.reshape(loss, shape=[-1, num_steps])
    loss = layers.reduce_mean(loss, dim=[0])
    loss = layers.reduce_sum(loss)
    loss.persistable = True
    last_cell.persistable = True
    last_hidden.persistable = True
    layers.assign(input=last_cell, output=init_cell)
    layers.assign(input=last_hidden, output=init_hidden)
    feeding_list = ['x', 'y', 'init_hidden', 'init_cell']
    return loss, last_hidden, last_cell, feeding_list
