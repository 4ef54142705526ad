from functools import partial
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as layers
from config import *


def position_encoding_init(n_position, d_pos_vec):
    channels = d_pos_vec
    position = np.arange(n_position)
    num_timescales = channels // 2
    log_timescale_increment = np.log(float(1e4) / float(1)) / (num_timescales - 1)
    inv_timescales = np.exp(np.arange(num_timescales) * -log_timescale_increment)
    scaled_time = np.expand_dims(position, 1) * np.expand_dims(inv_timescales, 0)
    signal = np.concatenate([np.sin(scaled_time), np.cos(scaled_time)], axis=1)
    signal = np.pad(signal, [[0, 0], [0, np.mod(channels, 2)]], 'constant')
    return signal.astype("float32")


def multi_head_attention(queries, keys, values, attn_bias, d_key, d_value, d_model, n_head=1, dropout_rate=0.,
                         cache=None, gather_idx=None, static_kv=False):
    keys = queries if keys is None else keys
    values = keys if values is None else values

    def __compute_qkv(queries, keys, values, n_head, d_key, d_value):
        q = layers.fc(input=queries, size=d_key * n_head, bias_attr=False, num_flatten_dims=2)
        fc_layer = wrap_layer_with_block(layers.fc, fluid.default_main_program().current_block().parent_idx) \
            if cache is not None and static_kv else layers.fc
        k = fc_layer(input=keys, size=d_key * n_head, bias_attr=False, num_flatten_dims=2)
        v = fc_layer(input=values, size=d_value * n_head, bias_attr=False, num_flatten_dims=2)
        return q, k, v

    def __split_heads_qkv(queries, keys, values, n_head, d_key, d_value):
        reshaped_q = layers.reshape(x=queries, shape=[0, 0, n_head, d_key], inplace=True)
        q = layers.transpose(x=reshaped_q, perm=[0, 2, 1, 3])
        reshape_layer = wrap_layer_with_block(layers.reshape,
                                              fluid.default_main_program().current_block().parent_idx) \
            if cache is not None and static_kv else layers.reshape
        transpose_layer = wrap_layer_with_block(layers.transpose,
                                                fluid.default_main_program().current_block().parent_idx) \
            if cache is not None and static_kv else layers.transpose
        reshaped_k = reshape_layer(x=keys, shape=[0, 0, n_head, d_key], inplace=True)
        k = transpose_layer(x=reshaped_k, perm=[0, 2, 1, 3])
        reshaped_v = reshape_layer(x=values, shape=[0, 0, n_head, d_value], inplace=True)
        v = transpose_layer(x=reshaped_v, perm=[0, 2, 1, 3])
        if cache is not None:
            if static_kv:
                assign_layer = wrap_layer_with_block(layers.assign,
                                                     fluid.default_main_program().current_block().parent_idx)
                static_k, static_v = assign_layer(k), assign_layer(v)
                k = layers.gather(static_k, index=gather_idx)
                v = layers.gather(static_v, index=gather_idx)
                layers.assign(k, static_k)
                layers.assign(v, static_v)
            else:
                cache_k, cache_v = cache["k"], cache["v"]
                select_k = layers.gather(cache_k, index=gather_idx)
                select_v = layers.gather(cache_v, index=gather_idx)
                k = layers.concat([select_k, k], axis=2)
                v = layers.concat([select_v, v], axis=2)
                layers.assign(k, cache["k"])
                layers.assign(v, cache["v"])
        return q, k, v

    def __combine_heads(x):
        trans_x = layers.transpose(x, perm=[0, 2, 1, 3])
        return layers.reshape(x=trans_x, shape=[0, 0, trans_x.shape[2] * trans_x.shape[3]], inplace=True)

    def scaled_dot_product_attention(q, k, v, attn_bias, d_key, dropout_rate):
        product = layers.matmul(x=q, y=k, transpose_y=True, alpha=d_key ** -0.5)
        if attn_bias:
            product += attn_bias
        weights = layers.softmax(product)
        if dropout_rate:
            weights = layers.dropout(weights, dropout_prob=dropout_rate, seed=5, is_test=False)
        return layers.matmul(weights, v)

    q, k, v = __compute_qkv(queries, keys, values, n_head, d_key, d_value)
    q, k, v = __split_heads_qkv(q, k, v, n_head, d_key, d_value)
    ctx_multiheads = scaled_dot_product_attention(q, k, v, attn_bias, d_model, dropout_rate)
    out = __combine_heads(ctx_multiheads)
    return layers.fc(input=out, size=d_model, bias_attr=False, num_flatten_dims=2)


def wrap_layer_with_block(layer, block_idx):
    """Run a layer in another block of the program, and come back."""
    class BlockGuard(object):
        def __init__(self, block_idx=None):
            self.block_idx = block_idx
            self.main_program = fluid.default_main_program()

        def __enter__(self):
            self.old_block_idx = self.main_program.current_block().idx
            self.main_program.current_block_idx = self.block_idx

        def __exit__(self, exc_type, exc_val, exc_tb):
            self.main_program.current_block_idx = self.old_block_idx
            if exc_type is not None:
                return False
            return True

    def layer_wrapper(*args, **kwargs):
        with BlockGuard(block_idx):
            return layer(*args, **kwargs)
    return layer_wrapper


def positionwise_feed_forward(x, d_inner_hid, d_hid, dropout_rate):
    hidden = layers.fc(input=x, size=d_inner_hid, num_flatten_dims=2, act="relu")
    if dropout_rate:
        hidden = layers.dropout(hidden, dropout_prob=dropout_rate, seed=6, is_test=False)
    return layers.fc(input=hidden, size=d_hid, num_flatten_dims=2)


def pre_post_process_layer(prev_out, out, process_cmd, dropout_rate=0.):
    for cmd in process_cmd:
        if cmd == "a":
            out = out + prev_out if prev_out else out
        elif cmd == "n":
            out = layers.layer_norm(out, begin_norm_axis=len(out.shape) - 1,
                                    param_attr=fluid.initializer.Constant(1.),
                                    bias_attr=fluid.initializer.Constant(0.))
        elif cmd == "d":
            if dropout_rate:
                out = layers.dropout(out, dropout_prob=dropout_rate, seed=7, is_test=False)
    return out


pre_process_layer = partial(pre_post_process_layer, None)
post_process_layer = pre_post_process_layer


def prepare_encoder_decoder(src_word, src_pos, src_vocab_size, src_emb_dim, src_max_len, dropout_rate=0.,
                            bos_idx=0, word_emb_param_name=None, pos_enc_param_name=None):
    src_word_emb = layers.embedding(
        src_word, size=[src_vocab_size, src_emb_dim], padding_idx=bos_idx,
        param_attr=fluid.ParamAttr(name=word_emb_param_name,
                                   initializer=fluid.initializer.Normal(0., src_emb_dim ** -0.5)))
    src_word_emb = layers.scale(x=src_word_emb, scale=src_emb_dim ** 0.5)
    src_pos_enc = layers.embedding(src_pos, size=[src_max_len, src_emb_dim],
                                   param_attr=fluid.ParamAttr(name=pos_enc_param_name, trainable=False))
    src_pos_enc.stop_gradient = True
    enc_input = src_word_emb + src_pos_enc
    return layers.dropout(enc_input, dropout_prob=dropout_rate, seed=8, is_test=False) if dropout_rate else enc_input


prepare_encoder = partial(prepare_encoder_decoder, pos_enc_param_name=pos_enc_param_names[0])
prepare_decoder = partial(prepare_encoder_decoder, pos_enc_param_name=pos_enc_param_names[1])


def encoder(enc_input, attn_bias, p):
    for i in range(p.n_layer):
        attn_output = multi_head_attention(pre_process_layer(enc_input, p.preprocess_cmd, p.prepostprocess_dropout),
                                           None, None, attn_bias, p.d_key, p.d_value, p.d_model, p.n_head,
                                           p.attention_dropout)
        attn_output = post_process_layer(enc_input, attn_output, p.postprocess_cmd, p.prepostprocess_dropout)
        ffd_output = positionwise_feed_forward(
            pre_process_layer(attn_output, p.preprocess_cmd, p.prepostprocess_dropout), p.d_inner_hid, p.d_model,
            p.relu_dropout)
        enc_input = post_process_layer(attn_output, ffd_output, p.postprocess_cmd, p.prepostprocess_dropout)
    return pre_process_layer(enc_input, p.preprocess_cmd, p.prepostprocess_dropout)


def decoder(dec_input, enc_output, slf_bias, src_bias, p, caches=None, gather_idx=None):
    for i in range(p.n_layer):
        slf = multi_head_attention(pre_process_layer(dec_input, p.preprocess_cmd, p.prepostprocess_dropout), None,
                                   None, slf_bias, p.d_key, p.d_value, p.d_model, p.n_head, p.attention_dropout,
                                   cache=None if caches is None else caches[i], gather_idx=gather_idx)
        slf = post_process_layer(dec_input, slf, p.postprocess_cmd, p.prepostprocess_dropout)
        enc = multi_head_attention(pre_process_layer(slf, p.preprocess_cmd, p.prepostprocess_dropout), enc_output,
                                   enc_output, src_bias, p.d_key, p.d_value, p.d_model, p.n_head,
                                   p.attention_dropout, cache=None if caches is None else caches[i],
                                   gather_idx=gather_idx, static_kv=True)
        enc = post_process_layer(slf, enc, p.postprocess_cmd, p.prepostprocess_dropout)
        ffd = positionwise_feed_forward(pre_process_layer(enc, p.preprocess_cmd, p.prepostprocess_dropout),
                                        p.d_inner_hid, p.d_model, p.relu_dropout)
        dec_input = post_process_layer(enc, ffd, p.postprocess_cmd, p.prepostprocess_dropout)
    return pre_process_layer(dec_input, p.preprocess_cmd, p.prepostprocess_dropout)


def make_all_inputs(input_fields):
    return [layers.data(name=f, shape=input_descs[f][0], dtype=input_descs[f][1],
                        lod_level=input_descs[f][2] if len(input_descs[f]) == 3 else 0, append_batch_size=False)
            for f in input_fields]


def wrap_encoder(p, enc_inputs):
    src_word, src_pos, src_slf_attn_bias = enc_inputs
    enc_input = prepare_encoder(src_word, src_pos, p.src_vocab_size, p.d_model, p.max_length,
                                p.prepostprocess_dropout, bos_idx=p.bos_idx,
                                word_emb_param_name=word_emb_param_names[0])
    return encoder(enc_input, src_slf_attn_bias, p)


def wrap_decoder(p, dec_inputs, enc_output, caches=None, gather_idx=None):
    trg_word, trg_pos, trg_slf_attn_bias, trg_src_attn_bias = dec_inputs
    dec_input = prepare_decoder(trg_word, trg_pos, p.trg_vocab_size, p.d_model, p.max_length,
                                p.prepostprocess_dropout, bos_idx=p.bos_idx,
                                word_emb_param_name=word_emb_param_names[0] if p.weight_sharing
                                else word_emb_param_names[1])
    dec_output = decoder(dec_input, enc_output, trg_slf_attn_bias, trg_src_attn_bias, p, caches, gather_idx)
    dec_output = layers.reshape(dec_output, shape=[-1, dec_output.shape[-1]], inplace=True)
    if p.weight_sharing:
        return layers.matmul(x=dec_output, y=fluid.framework._get_var(word_emb_param_names[0]) if False else
                             fluid.default_main_program().global_block().var(word_emb_param_names[0]),
                             transpose_y=True)
    return layers.fc(input=dec_output, size=p.trg_vocab_size, bias_attr=False)


def transformer(p, label_smooth_eps):
    enc_inputs = make_all_inputs(encoder_data_input_fields)
    enc_output = wrap_encoder(p, enc_inputs)
    dec_inputs = make_all_inputs(decoder_data_input_fields)
    predict = wrap_decoder(p, dec_inputs, enc_output)
    label, weights = make_all_inputs(label_data_input_fields)
    if label_smooth_eps:
        label = layers.label_smooth(label=layers.one_hot(input=label, depth=p.trg_vocab_size),
                                    epsilon=label_smooth_eps)
    cost = layers.softmax_with_cross_entropy(logits=predict, label=label, soft_label=bool(label_smooth_eps))
    weighted_cost = layers.elementwise_mul(x=cost, y=weights, axis=0)
    sum_cost = layers.reduce_sum(weighted_cost)
    token_num = layers.reduce_sum(weights)
    token_num.stop_gradient = True
    avg_cost = sum_cost / token_num
    return sum_cost, avg_cost, predict, token_num


def fast_decode(p, max_out_len, beam_size, eos_idx):
    enc_output = wrap_encoder(p, make_all_inputs(encoder_data_input_fields))
    start_tokens, init_scores, parent_idx, trg_src_attn_bias = make_all_inputs(fast_decoder_data_input_fields)
    max_len = layers.fill_constant(shape=[1], dtype=start_tokens.dtype, value=max_out_len, force_cpu=True)
    step_idx = layers.fill_constant(shape=[1], dtype=start_tokens.dtype, value=0, force_cpu=True)
    cond = layers.less_than(x=step_idx, y=max_len)
    while_op = layers.While(cond)
    ids = layers.array_write(layers.reshape(start_tokens, (-1, 1)), step_idx)
    scores = layers.array_write(init_scores, step_idx)
    caches = [{
        "k": layers.fill_constant_batch_size_like(input=start_tokens, shape=[-1, p.n_head, 0, p.d_key],
                                                  dtype=enc_output.dtype, value=0),
        "v": layers.fill_constant_batch_size_like(input=start_tokens, shape=[-1, p.n_head, 0, p.d_value],
                                                  dtype=enc_output.dtype, value=0),
    } for i in range(p.n_layer)]
    with while_op.block():
        pre_ids = layers.array_read(array=ids, i=step_idx)
        pre_ids = layers.reshape(pre_ids, (-1, 1, 1), inplace=True)
        pre_scores = layers.array_read(array=scores, i=step_idx)
        pre_src_attn_bias = layers.gather(trg_src_attn_bias, index=parent_idx)
        pre_pos = layers.elementwise_mul(
            x=layers.fill_constant_batch_size_like(input=pre_src_attn_bias, value=1, shape=[-1, 1, 1],
                                                   dtype=pre_ids.dtype),
            y=step_idx, axis=0)
        logits = wrap_decoder(p, (pre_ids, pre_pos, None, pre_src_attn_bias), enc_output, caches=caches,
                              gather_idx=parent_idx)
        topk_scores, topk_indices = layers.topk(input=layers.softmax(logits), k=beam_size)
        accu_scores = layers.elementwise_add(x=layers.log(topk_scores), y=pre_scores, axis=0)
        accu_scores = layers.lod_reset(accu_scores, pre_ids)
        selected_ids, selected_scores, gather_idx = layers.beam_search(
            pre_ids=pre_ids, pre_scores=pre_scores, ids=topk_indices, scores=accu_scores, beam_size=beam_size,
            end_id=eos_idx, return_parent_idx=True)
        layers.increment(x=step_idx, value=1.0, in_place=True)
        layers.array_write(selected_ids, i=step_idx, array=ids)
        layers.array_write(selected_scores, i=step_idx, array=scores)
        layers.assign(gather_idx, parent_idx)
        layers.assign(pre_src_attn_bias, trg_src_attn_bias)
        length_cond = layers.less_than(x=step_idx, y=max_len)
        finish_cond = layers.logical_not(layers.is_empty(x=selected_ids))
        layers.logical_and(x=length_cond, y=finish_cond, out=cond)
    finished_ids, finished_scores = layers.beam_search_decode(ids, scores, beam_size=beam_size, end_id=eos_idx)
    return finished_ids, finished_scores
