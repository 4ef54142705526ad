"""RNN encoder-decoder with attention and beam search, after the book's machine translation chapter."""
from __future__ import print_function
import argparse
import contextlib
import os
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.framework as framework
import paddle.fluid.layers as pd
from paddle.fluid.executor import Executor

dict_size = 24
source_dict_dim = target_dict_dim = dict_size
hidden_dim = 16
word_dim = 8
batch_size = 4
max_length = 6
topk_size = 8
beam_size = 2
is_sparse = True
decoder_size = hidden_dim
model_save_dir = "machine_translation.inference.model"


def bi_lstm_encoder(input_seq, gate_size):
    input_forward_proj = pd.fc(input=input_seq, size=gate_size * 4, act='tanh', bias_attr=False)
    forward, _ = pd.dynamic_lstm(input=input_forward_proj, size=gate_size * 4, use_peepholes=False)
    input_backward_proj = pd.fc(input=input_seq, size=gate_size * 4, act='tanh', bias_attr=False)
    backward, _ = pd.dynamic_lstm(input=input_backward_proj, size=gate_size * 4, is_reverse=True,
                                  use_peepholes=False)
    return forward, backward


def encoder():
    src_word_id = pd.data(name="src_word_id", shape=[1], dtype='int64', lod_level=1)
    src_embedding = pd.embedding(input=src_word_id, size=[source_dict_dim, word_dim], dtype='float32',
                                 is_sparse=is_sparse, param_attr=fluid.ParamAttr(name='vemb'))
    forward, backward = bi_lstm_encoder(src_embedding, hidden_dim)
    encoded_vector = pd.concat(input=[forward, backward], axis=1)
    encoded_proj = pd.fc(input=encoded_vector, size=decoder_size, bias_attr=False)
    backward_first = pd.sequence_pool(input=backward, pool_type='first')
    decoder_boot = pd.fc(input=backward_first, size=decoder_size, bias_attr=False, act='tanh')
    return encoded_vector, encoded_proj, decoder_boot


def simple_attention(encoder_vec, encoder_proj, decoder_state):
    decoder_state_proj = pd.fc(input=decoder_state, size=decoder_size, bias_attr=False)
    decoder_state_expand = pd.sequence_expand(x=decoder_state_proj, y=encoder_proj)
    mixed_state = pd.elementwise_add(encoder_proj, decoder_state_expand)
    attention_weights = pd.fc(input=mixed_state, size=1, bias_attr=False)
    attention_weights = pd.sequence_softmax(input=attention_weights)
    weigths_reshape = pd.reshape(x=attention_weights, shape=[-1])
    scaled = pd.elementwise_mul(x=encoder_vec, y=weigths_reshape, axis=0)
    return pd.sequence_pool(input=scaled, pool_type='sum')


def gru_step(x_t, hidden_t_prev, size):
    def linear(inputs):
        return pd.fc(input=inputs, size=size, bias_attr=True)
    update = pd.sigmoid(linear([hidden_t_prev, x_t]))
    reset = pd.sigmoid(linear([hidden_t_prev, x_t]))
    cell = pd.tanh(linear([pd.elementwise_mul(reset, hidden_t_prev), x_t]))
    return pd.elementwise_add(pd.elementwise_mul(update, hidden_t_prev),
                              pd.elementwise_mul(pd.scale(update, scale=-1.0, bias=1.0), cell))


def train_decoder(encoded_vector, encoded_proj, decoder_boot):
    trg_language_word = pd.data(name="target_language_word", shape=[1], dtype='int64', lod_level=1)
    trg_embedding = pd.embedding(input=trg_language_word, size=[target_dict_dim, word_dim], dtype='float32',
                                 is_sparse=is_sparse, param_attr=fluid.ParamAttr(name='vemb_trg'))
    rnn = pd.DynamicRNN()
    with rnn.block():
        current_word = rnn.step_input(trg_embedding)
        encoder_vec = rnn.static_input(encoded_vector)
        encoder_proj = rnn.static_input(encoded_proj)
        hidden_mem = rnn.memory(init=decoder_boot, need_reorder=True)
        context = simple_attention(encoder_vec, encoder_proj, hidden_mem)
        decoder_inputs = pd.concat(input=[context, current_word], axis=1)
        h = gru_step(decoder_inputs, hidden_mem, decoder_size)
        rnn.update_memory(hidden_mem, h)
        out = pd.fc(input=h, size=target_dict_dim, bias_attr=True, act='softmax')
        rnn.output(out)
    return rnn()


def plain_decode(context):
    """The beam-search decoder without attention, as the chapter's first version."""
    init_state = context
    array_len = pd.fill_constant(shape=[1], dtype='int64', value=max_length)
    counter = pd.zeros(shape=[1], dtype='int64', force_cpu=True)
    state_array = pd.create_array('float32')
    pd.array_write(init_state, array=state_array, i=counter)
    ids_array = pd.create_array('int64')
    scores_array = pd.create_array('float32')
    init_ids = pd.data(name="init_ids", shape=[1], dtype="int64", lod_level=2)
    init_scores = pd.data(name="init_scores", shape=[1], dtype="float32", lod_level=2)
    pd.array_write(init_ids, array=ids_array, i=counter)
    pd.array_write(init_scores, array=scores_array, i=counter)
    cond = pd.less_than(x=counter, y=array_len)
    while_op = pd.While(cond=cond)
    with while_op.block():
        pre_ids = pd.array_read(array=ids_array, i=counter)
        pre_state = pd.array_read(array=state_array, i=counter)
        pre_score = pd.array_read(array=scores_array, i=counter)
        pre_state_expanded = pd.sequence_expand(pre_state, pre_score)
        pre_ids_emb = pd.embedding(input=pre_ids, size=[dict_size, word_dim], dtype='float32', is_sparse=is_sparse,
                                   param_attr=fluid.ParamAttr(name='vemb_trg'))
        current_state = pd.fc(input=[pre_state_expanded, pre_ids_emb], size=decoder_size, act='tanh',
                              param_attr=[fluid.ParamAttr(name='dec_s'), fluid.ParamAttr(name='dec_w')],
                              bias_attr=fluid.ParamAttr(name='dec_b'))
        current_state_with_lod = pd.lod_reset(x=current_state, y=pre_score)
        current_score = pd.fc(input=current_state_with_lod, size=target_dict_dim, act='softmax',
                              param_attr=fluid.ParamAttr(name='out_w'), bias_attr=fluid.ParamAttr(name='out_b'))
        topk_scores, topk_indices = pd.topk(current_score, k=topk_size)
        accu_scores = pd.elementwise_add(x=pd.log(topk_scores), y=pd.reshape(pre_score, shape=[-1]), axis=0)
        selected_ids, selected_scores = pd.beam_search(pre_ids, pre_score, topk_indices, accu_scores, beam_size,
                                                       end_id=10, level=0)
        with pd.Switch() as switch:
            with switch.case(pd.is_empty(selected_ids)):
                pd.fill_constant(shape=[1], value=0, dtype='bool', force_cpu=True, out=cond)
            with switch.default():
                pd.increment(x=counter, value=1, in_place=True)
                pd.array_write(current_state, array=state_array, i=counter)
                pd.array_write(selected_ids, array=ids_array, i=counter)
                pd.array_write(selected_scores, array=scores_array, i=counter)
                length_cond = pd.less_than(x=counter, y=array_len)
                finish_cond = pd.logical_not(pd.is_empty(x=selected_ids))
                pd.logical_and(x=length_cond, y=finish_cond, out=cond)
    return pd.beam_search_decode(ids=ids_array, scores=scores_array, beam_size=beam_size, end_id=10)


def reader():
    rng = np.random.RandomState(8)
    for _ in range(44):
        src = rng.randint(2, dict_size, rng.randint(2, 7)).tolist()
        trg = [0] + [(w * 3) % 20 + 2 for w in src]
        yield src, trg, trg[1:] + [1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--init', default=None)
    parser.add_argument('--passes', type=int, default=5)
    args = parser.parse_args()
    framework.default_startup_program().random_seed = 111
    framework.default_main_program().random_seed = 111
    rnn_out = train_decoder(*encoder())
    label = pd.data(name="target_language_next_word", shape=[1], dtype='int64', lod_level=1)
    cost = pd.cross_entropy(input=rnn_out, label=label)
    avg_cost = pd.mean(cost)
    optimizer = fluid.optimizer.Adagrad(learning_rate=pd.exponential_decay(learning_rate=0.1, decay_steps=20,
                                                                           decay_rate=0.8, staircase=True),
                                        regularization=fluid.regularizer.L2DecayRegularizer(
                                            regularization_coeff=0.001))
    optimizer.minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = Executor(place)
    exe.run(framework.default_startup_program())
    if args.init:
        fluid.io.load_persistables(exe, args.init)
    feed_order = ['src_word_id', 'target_language_word', 'target_language_next_word']
    feed_list = [framework.default_main_program().global_block().var(name) for name in feed_order]
    feeder = fluid.DataFeeder(feed_list, place)
    train_data = paddle.batch(paddle.reader.buffered(reader, size=10), batch_size=batch_size)
    for pass_id in range(args.passes):
        for batch_id, data in enumerate(train_data()):
            outs = exe.run(framework.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost])
            avg_cost_val = np.array(outs[0])
            print('pass_id=' + str(pass_id) + ' batch=' + str(batch_id) + " avg_cost=" + "%.6f" % avg_cost_val)
        fluid.io.save_persistables(exe, os.path.join('ckpt', str(pass_id)))
    decode_prog, decode_startup = fluid.Program(), fluid.Program()
    decode_startup.random_seed = 5
    with fluid.program_guard(decode_prog, decode_startup):
        with fluid.unique_name.guard():
            _, _, boot = encoder()
            translation_ids, translation_scores = plain_decode(boot)
    with fluid.scope_guard(fluid.Scope()):
        exe.run(decode_startup)
        n = 3
        init_ids = fluid.create_lod_tensor(np.zeros((n, 1), 'int64'), [[1] * n, [1] * n], place)
        init_scores = fluid.create_lod_tensor(np.ones((n, 1), 'float32'), [[1] * n, [1] * n], place)
        src = fluid.create_lod_tensor(np.array([[3], [4], [5], [6], [7], [8]], 'int64'), [[1, 2, 3]], place)
        ids, scores = exe.run(decode_prog, feed={'src_word_id': src, 'init_ids': init_ids,
                                                 'init_scores': init_scores},
                              fetch_list=[translation_ids, translation_scores], return_numpy=False)
        print(ids.recursive_sequence_lengths(), np.array(ids).flatten().tolist())
        print(' '.join('%.5f' % s for s in np.array(scores).flatten()))


if __name__ == '__main__':
    main()
