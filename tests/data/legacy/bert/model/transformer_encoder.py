from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
from functools import partial
import paddle.fluid as fluid
import paddle.fluid.layers as layers


def multi_head_attention(queries, keys, values, attn_bias, d_key, d_value, d_model, n_head=1, dropout_rate=0.,
                         param_initializer=None, name='multi_head_att'):
    keys = queries if keys is None else keys
    values = keys if values is None else values
    q, k, v = [layers.fc(input=x, size=d_key * n_head, num_flatten_dims=2,
                         param_attr=fluid.ParamAttr(name=name + '_%s_fc.w_0' % n, initializer=param_initializer),
                         bias_attr=name + '_%s_fc.b_0' % n)
               for x, n in ((queries, 'query'), (keys, 'key'), (values, 'value'))]

    def split_heads(x):
        hidden_size = x.shape[-1]
        reshaped = layers.reshape(x=x, shape=[0, 0, n_head, hidden_size // n_head], inplace=True)
        return layers.transpose(x=reshaped, perm=[0, 2, 1, 3])

    q, k, v = [split_heads(x) for x in (q, k, v)]
    scaled_q = layers.scale(x=q, scale=d_key ** -0.5)
    product = layers.matmul(x=scaled_q, y=k, transpose_y=True)
    if attn_bias:
        product += attn_bias
    weights = layers.softmax(product)
    if dropout_rate:
        weights = layers.dropout(weights, dropout_prob=dropout_rate, dropout_implementation="upscale_in_train",
                                 is_test=False)
    out = layers.matmul(weights, v)
    trans_x = layers.transpose(out, perm=[0, 2, 1, 3])
    out = layers.reshape(x=trans_x, shape=[0, 0, trans_x.shape[2] * trans_x.shape[3]], inplace=True)
    return layers.fc(input=out, size=d_model, num_flatten_dims=2,
                     param_attr=fluid.ParamAttr(name=name + '_output_fc.w_0', initializer=param_initializer),
                     bias_attr=name + '_output_fc.b_0')


def positionwise_feed_forward(x, d_inner_hid, d_hid, dropout_rate, hidden_act, param_initializer=None, name='ffn'):
    hidden = layers.fc(input=x, size=d_inner_hid, num_flatten_dims=2, act=hidden_act,
                       param_attr=fluid.ParamAttr(name=name + '_fc_0.w_0', initializer=param_initializer),
                       bias_attr=name + '_fc_0.b_0')
    if dropout_rate:
        hidden = layers.dropout(hidden, dropout_prob=dropout_rate, dropout_implementation="upscale_in_train")
    return layers.fc(input=hidden, size=d_hid, num_flatten_dims=2,
                     param_attr=fluid.ParamAttr(name=name + '_fc_1.w_0', initializer=param_initializer),
                     bias_attr=name + '_fc_1.b_0')


def pre_post_process_layer(prev_out, out, process_cmd, dropout_rate=0., name=''):
    for cmd in process_cmd:
        if cmd == "a":
            out = out + prev_out if prev_out else out
        elif cmd == "n":
            out_dtype = out.dtype
            if out_dtype == fluid.core.VarDesc.VarType.FP16:
                out = layers.cast(x=out, dtype="float32")
            out = layers.layer_norm(out, begin_norm_axis=len(out.shape) - 1,
                                    param_attr=fluid.ParamAttr(name=name + '_layer_norm_scale',
                                                               initializer=fluid.initializer.Constant(1.)),
                                    bias_attr=fluid.ParamAttr(name=name + '_layer_norm_bias',
                                                              initializer=fluid.initializer.Constant(0.)))
        elif cmd == "d":
            if dropout_rate:
                out = layers.dropout(out, dropout_prob=dropout_rate, dropout_implementation="upscale_in_train")
    return out


pre_process_layer = partial(pre_post_process_layer, None)
post_process_layer = pre_post_process_layer


def encoder(enc_input, attn_bias, n_layer, n_head, d_key, d_value, d_model, d_inner_hid, dropout, hidden_act,
            param_initializer=None, name='encoder'):
    for i in range(n_layer):
        n = name + '_layer_' + str(i)
        attn_output = multi_head_attention(enc_input, None, None, attn_bias, d_key, d_value, d_model, n_head, dropout,
                                           param_initializer, n + '_multi_head_att')
        attn_output = post_process_layer(enc_input, attn_output, "dan", dropout, n + '_post_att')
        ffd_output = positionwise_feed_forward(attn_output, d_inner_hid, d_model, 0., hidden_act, param_initializer,
                                               n + '_ffn')
        enc_input = post_process_layer(attn_output, ffd_output, "dan", dropout, n + '_post_ffn')
    return enc_input
